// Package asset is the aggregate of stored files: an asset is an account's reference to a blob, with a name, a media
// type and a deadline. Folding is pure and total. Package blob stores the bytes; the Store of a Service runs the
// transactions.
package asset

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// ID identifies an asset among all assets of all accounts. It is a lower-case UUID made by the server. Clients know the
// asset by its PublicID.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

// ParseID accepts the canonical lower-case form only.
func ParseID(s string) (ID, error) { return eventlog.ParseID[ID](s) }

// namespace of derived ids. It must never change: an id must be the same on every attempt.
var namespace = uuid.MustParse("0d9a3f52-98c1-5c55-8f0b-6f6d0c1fd4a7")

// OutputID returns the id of the index-th file that a node saved in one run of a job, which is the same on every
// attempt.
func OutputID(job string, run int, node string, index int) ID {
	return ID(derive(job, run, node, index).String())
}

// EventID returns the id of an event that can happen to an asset only once, or once per key, so that a repeated
// append is harmless.
func EventID(id ID, eventType string, key ...any) uuid.UUID {
	return derive(append([]any{id, eventType}, key...)...)
}

func derive(parts ...any) uuid.UUID { return eventlog.DeriveID(namespace, parts...) }

const streamPrefix = "asset-"

// Stream returns the name of the asset's event stream.
func (id ID) Stream() string { return streamPrefix + string(id) }

// IDOfStream returns the asset whose stream that is.
func IDOfStream(stream string) (ID, bool) { return eventlog.IDOfStream[ID](streamPrefix, stream) }

// WorkflowID returns the Temporal workflow id of the asset's ingestion.
func (id ID) WorkflowID() string { return "ingest-" + string(id) }

// BatchWorkflowID returns the Temporal workflow id of the ingestion of several assets.
func BatchWorkflowID(batch string) string { return "ingest-batch-" + batch }

// IngestRef identifies a new asset. It is the payload of a start intent.
type IngestRef struct {
	Asset   ID     `json:"asset"`
	Account string `json:"account"`
	Size    int64  `json:"size"` // bytes, from which the work is estimated
}

// Ingested is the result of verifying and scanning the bytes of a new asset. Damaged bytes have no scan.
type Ingested struct {
	Asset    ID
	Verified VerifiedV1
}

// State is the state of an asset.
type State string

// The states. A rejected asset keeps its record, but its bytes cannot be read.
const (
	Live     State = "live"
	Rejected State = "rejected"
	Deleted  State = "deleted"
	Expired  State = "expired"
)

// Gone reports whether an asset in this state is answered as NotFound.
func (s State) Gone() bool { return s == Deleted || s == Expired }

// Origin is how an asset was made.
type Origin string

// The origins.
const (
	Uploaded   Origin = "upload"
	Referenced Origin = "reference" // made from the hash of stored bytes
	Produced   Origin = "job"
	Hosted     Origin = "call"   // copied from the answer of a model call
	Archived   Origin = "export" // made of other files of the account
)

// Place is the name under which graphs and /view find an asset. An asset with the zero Place has no such name.
type Place struct {
	Folder    string `json:"folder"` // "input", "output" or "temp"
	Subfolder string `json:"subfolder"`
	Filename  string `json:"filename"`
}

// Producer names the node that saved an asset. The zero Producer means that no node did.
type Producer struct {
	Job string `json:"job"`
	// Chosen is the public id of the job if its client chose one.
	Chosen string `json:"public_job,omitempty"`
	Run    int    `json:"run"`
	Node   string `json:"node"`
	Index  int    `json:"index"`
}

// PublicJob returns the public id of the job.
func (p Producer) PublicJob() string { return cmp.Or(p.Chosen, p.Job) }

// Asset is the folded state of one asset. Views store its JSON encoding.
type Asset struct {
	ID          ID         `json:"id"`
	Chosen      PublicID   `json:"public_id,omitempty"` // public id that the client chose
	Account     string     `json:"account"`
	State       State      `json:"state"`
	Version     int64      `json:"version"`  // of the stream, folded so far
	Position    int64      `json:"position"` // of the last folded event
	Origin      Origin     `json:"origin"`
	Hash        blob.Ref   `json:"hash"`
	Size        int64      `json:"size"`
	ContentType string     `json:"content_type"`
	FilePath    *string    `json:"file_path,omitempty"`
	Place       *Place     `json:"place,omitempty"`
	Producer    *Producer  `json:"producer,omitempty"`
	Tags        []string   `json:"tags,omitempty"`
	Width       int        `json:"width,omitempty"` // pixels of the first frame, 0 = not an image or not known
	Height      int        `json:"height,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"` // nil = never
	VerifiedAt  *time.Time `json:"verified_at,omitempty"`
	Damaged     bool       `json:"damaged,omitempty"`     // the stored bytes did not match when verified
	VerifiedBy  string     `json:"verified_by,omitempty"` // workflow that verified it together with others, "" = its own
	Scan        *Scan      `json:"scan,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`

	Name      string          `json:"name,omitempty"`       // the owner's name for it, or ""; see Title
	Metadata  json.RawMessage `json:"metadata,omitempty"`   // a JSON object of the owner, or nil
	Preview   PublicID        `json:"preview,omitempty"`    // the asset that is its preview, or ""
	UpdatedAt *time.Time      `json:"updated_at,omitempty"` // of the owner's last change, nil = none since it was made
	Changed   int64           `json:"changed,omitempty"`    // position of that change
}

// Scan is the result of a scan of the content.
type Scan struct {
	Verdict     Verdict  `json:"verdict"`
	Reason      string   `json:"reason,omitempty"` // public
	SniffedType string   `json:"sniffed_type,omitempty"`
	Width       int      `json:"width,omitempty"`
	Height      int      `json:"height,omitempty"`
	Thumbnail   blob.Ref `json:"thumbnail,omitzero"`
}

// Verdict is the result of a scan.
type Verdict string

// The verdicts.
const (
	Clean    Verdict = "clean"
	Rejects  Verdict = "rejected"
	NotKnown Verdict = "unknown" // the scanner returned no verdict; the content stays usable
)

// PublicID is the id under which clients know an asset. It is a lower-case UUID, unique within its account. A client may
// choose it, so that two accounts may have the same one. The public id of an asset whose client chose none is its ID.
type PublicID string

// ParsePublicID accepts the canonical lower-case form only.
func ParsePublicID(s string) (PublicID, error) {
	id, err := ParseID(s)
	return PublicID(id), err
}

// IDOfChoice returns the id of the asset for which the account chose a public id. It differs between accounts, so
// that an account can neither block a public id for another account nor find out whether another account uses it.
func IDOfChoice(account string, chosen PublicID) ID {
	return ID(derive("chosen", account, chosen).String())
}

// PublicID returns the public id of the asset.
func (a Asset) PublicID() PublicID {
	return cmp.Or(a.Chosen, PublicID(a.ID))
}
