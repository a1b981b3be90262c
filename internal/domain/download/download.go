// Package download is the aggregate of downloads: a download makes an asset of the content of a URL in the
// background. It promises that every download ends, with an asset or with a reason, and that a repeated attempt makes
// no second asset. The activity fetches the content; the Store runs the transactions.
package download

import (
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// ID identifies a download: a lower-case UUID made by the server. Clients know it as the id of a task.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

const streamPrefix = "download-"

// Stream returns the name of the download's event stream.
func (id ID) Stream() string { return streamPrefix + string(id) }

// IDOfStream returns the download whose stream that is.
func IDOfStream(stream string) (ID, bool) { return eventlog.IDOfStream[ID](streamPrefix, stream) }

// WorkflowID returns the Temporal workflow id of the download.
func (id ID) WorkflowID() string { return "download-" + string(id) }

// eventID returns the id of an event that happens to a download once, so that a repeated append is harmless.
func (id ID) eventID(eventType string) uuid.UUID { return asset.EventID(asset.ID(id), eventType) }

// Ref identifies an accepted download. It is the payload of a start intent.
type Ref struct {
	Download ID     `json:"download"`
	Account  string `json:"account"`
}

// Request describes the source of a download and the asset to make. It is stored.
type Request struct {
	Source   string          `json:"source_url"`             // recorded without its query, which may contain a credential
	Asset    asset.PublicID  `json:"asset"`                  // the id of the asset, unless an equal asset exists
	Name     string          `json:"name,omitempty"`         // as clients see it
	Title    string          `json:"title,omitempty"`        // the owner's name for the asset; "" = its path
	Type     string          `json:"content_type,omitempty"` // as the client declares it
	Guess    string          `json:"guess,omitempty"`        // the type of the name's extension, used if the source declares none
	FilePath *string         `json:"file_path,omitempty"`
	Place    *asset.Place    `json:"place,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Preview  asset.PublicID  `json:"preview,omitempty"`
}

// Recorded returns the request in the form of events: its URL has no query, no fragment and no user.
func (r Request) Recorded() Request {
	u, err := url.Parse(r.Source)
	if err != nil {
		r.Source = ""
		return r
	}
	r.Source = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	return r
}

// Fingerprint returns equal bytes for equal requests of an account.
func (r Request) Fingerprint() []byte {
	r.Asset = "" // each request has its own id
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// Spec returns the asset of the content; declared is the media type that the source declares, or "".
func (r Request) Spec(account, declared, requestID string) asset.Spec {
	kind := r.Guess
	switch {
	case r.Type != "":
		kind = r.Type
	case declared != "":
		kind = declared
	}
	return asset.Spec{
		Account: account, ContentType: kind, FilePath: r.FilePath, Place: r.Place, Tags: r.Tags, RequestID: requestID, Chosen: r.Asset,
		About: asset.About{Name: r.Title, Metadata: asset.Metadata(r.Metadata), Preview: r.Preview, Strict: true},
	}
}

// State is the state of a download, in the terms of the hosted service.
type State string

// The states. Completed and Failed are final.
const (
	Created   State = "created"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
)

// Final reports whether the download has ended.
func (s State) Final() bool { return s == Completed || s == Failed }

// Download is the folded state of one download.
type Download struct {
	ID        ID
	Account   string
	Request   Request
	RequestID string // of the request that made it
	State     State
	Version   int64 // of the stream, folded so far
	CreatedAt time.Time
	UpdatedAt time.Time
	StartedAt *time.Time
	EndedAt   *time.Time

	Done    *CompletedV1 // of a completed one
	Failure *FailedV1    // of a failed one
}

// Ref returns the reference of the download.
func (d Download) Ref() Ref { return Ref{Download: d.ID, Account: d.Account} }

// Progress is the progress of a download for its watchers.
type Progress struct {
	Download ID     `json:"download"`
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"` // total size, 0 = the source does not send it
	Fetched  int64  `json:"fetched"`
}

// Fraction returns the fetched fraction, 0 to 1. It is 0 while the size is unknown.
func (p Progress) Fraction() float64 {
	if p.Bytes <= 0 {
		return 0
	}
	return min(1, float64(p.Fetched)/float64(p.Bytes))
}
