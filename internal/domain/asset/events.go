package asset

import (
	"encoding/json"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeCreated           = "asset.created.v1"
	TypeVerified          = "asset.verified.v1"
	TypeScanned           = "asset.scanned.v1"
	TypeRequeued          = "asset.requeued.v1"
	TypeRetentionExtended = "asset.retention_extended.v1"
	TypeRenamed           = "asset.renamed.v1"
	TypeRetyped           = "asset.retyped.v1"
	TypeTagsAdded         = "asset.tags_added.v1"
	TypeTagsRemoved       = "asset.tags_removed.v1"
	TypeDescribed         = "asset.described.v1"
	TypePreviewChosen     = "asset.preview_chosen.v1"
	TypeDeleted           = "asset.deleted.v1"
	TypeExpired           = "asset.expired.v1"
)

// CreatedV1 records a new asset. The account is the event's own.
type CreatedV1 struct {
	Origin      Origin     `json:"origin"`
	Hash        blob.Ref   `json:"hash"`
	Size        int64      `json:"size"`
	ContentType string     `json:"content_type"`
	FilePath    *string    `json:"file_path,omitempty"` // as the client sent it
	Place       *Place     `json:"place,omitempty"`
	Producer    *Producer  `json:"producer,omitempty"`
	Tags        []string   `json:"tags,omitempty"`
	Width       int        `json:"width,omitempty"`
	Height      int        `json:"height,omitempty"`
	CreatedAt   *time.Time `json:"created_at,omitempty"` // by the clock that ExpiresAt was computed with; nil = when it was recorded
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`

	Name     string          `json:"name,omitempty"`     // the owner's name for it
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object
	Preview  PublicID        `json:"preview,omitempty"`

	PublicID PublicID `json:"public_id,omitempty"` // chosen by the client; absent = the asset's own id
}

// VerifiedV1 records that the stored bytes were read again and hashed. OK reports whether the hash matches.
type VerifiedV1 struct {
	OK       bool   `json:"ok"`
	Size     int64  `json:"size"`
	Workflow string `json:"workflow,omitempty"` // that looked into several assets; absent = the asset's own
	Scan     *Scan  `json:"scan,omitempty"`     // of the same step; absent = ScannedV1 follows, unless the bytes are damaged
}

// ScannedV1 records the result of a scan that was a step of its own.
type ScannedV1 struct {
	Scan Scan `json:"scan"`
}

// RequeuedV1 records that the ingestion of an asset was started again, because its workflow was lost.
type RequeuedV1 struct{}

// RetentionExtendedV1 records a later deadline; nil is never.
type RetentionExtendedV1 struct {
	ExpiresAt *time.Time `json:"expires_at"`
}

// RenamedV1 records the owner's new name for an asset. The path under which graphs find it stays.
type RenamedV1 struct {
	Name string `json:"name"`
}

// RetypedV1 records another media type, which the owner declared.
type RetypedV1 struct {
	ContentType string `json:"content_type"`
}

// TagsAddedV1 records tags that the asset did not have.
type TagsAddedV1 struct {
	Tags []string `json:"tags"`
}

// TagsRemovedV1 records tags that were removed.
type TagsRemovedV1 struct {
	Tags []string `json:"tags"`
}

// DescribedV1 records the owner's whole metadata; nil = no metadata.
type DescribedV1 struct {
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object
}

// PreviewChosenV1 records the asset that is the preview; "" = no preview.
type PreviewChosenV1 struct {
	Preview PublicID `json:"preview,omitempty"`
}

// DeletedV1 ends an asset that its owner deleted.
type DeletedV1 struct{}

// ExpiredV1 ends an asset whose deadline has passed.
type ExpiredV1 struct{}

// Register adds the asset's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[CreatedV1](TypeCreated).Says("an asset was created"),
		eventlog.TypeOf[VerifiedV1](TypeVerified).Says("the stored bytes were read again and hashed, and scanned if it has a scan"),
		eventlog.TypeOf[ScannedV1](TypeScanned).Says("a scan of the content ended that was a step of its own"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("the sweeper or an operator restarted its ingestion, because its workflow was lost"),
		eventlog.TypeOf[RetentionExtendedV1](TypeRetentionExtended).Says("the asset has a later deadline"),
		eventlog.TypeOf[RenamedV1](TypeRenamed).Says("its owner renamed it; the path by which graphs find it stays"),
		eventlog.TypeOf[RetypedV1](TypeRetyped).Says("its owner declares another media type"),
		eventlog.TypeOf[TagsAddedV1](TypeTagsAdded).Says("its owner added tags"),
		eventlog.TypeOf[TagsRemovedV1](TypeTagsRemoved).Says("its owner removed tags"),
		eventlog.TypeOf[DescribedV1](TypeDescribed).Says("its owner replaced its metadata; absent = no metadata"),
		eventlog.TypeOf[PreviewChosenV1](TypePreviewChosen).Says("its owner chose the asset that is its preview; absent = no preview"),
		eventlog.TypeOf[DeletedV1](TypeDeleted).Says("the asset was deleted by its owner"),
		eventlog.TypeOf[ExpiredV1](TypeExpired).Says("the asset's deadline passed"),
	)
}
