package asset

import (
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Fold applies one recorded event of the asset's stream to the state before it and returns the state after it. It
// never fails on a decoded event: unknown event types, and events of an asset that has ended, only move the version.
// An event at or below the folded version changes nothing.
func Fold(before Asset, rec eventlog.Recorded, data any) Asset {
	if rec.Version <= before.Version {
		return before
	}
	after := before
	after.Version, after.Position = rec.Version, rec.Position
	if !before.State.Gone() {
		after.apply(rec, data, rec.RecordedAt.UTC())
	}
	return after
}

func (a *Asset) apply(rec eventlog.Recorded, data any, at time.Time) {
	switch e := data.(type) {
	case CreatedV1:
		a.created(rec, e, at)
	case VerifiedV1:
		a.VerifiedAt, a.Damaged, a.VerifiedBy = &at, !e.OK, e.Workflow
		if e.Scan != nil {
			a.scanned(*e.Scan)
		}
	case ScannedV1:
		a.scanned(e.Scan)
	case RetentionExtendedV1:
		a.ExpiresAt = e.ExpiresAt
	case DeletedV1:
		a.State, a.EndedAt = Deleted, &at
	case ExpiredV1:
		a.State, a.EndedAt = Expired, &at
	default:
		a.changed(rec, data, at)
	}
}

// changed applies a change of the owner.
func (a *Asset) changed(rec eventlog.Recorded, data any, at time.Time) {
	switch e := data.(type) {
	case RenamedV1:
		a.Name = e.Name
	case RetypedV1:
		a.ContentType = e.ContentType
	case TagsAddedV1:
		a.Tags = with(a.Tags, e.Tags)
	case TagsRemovedV1:
		a.Tags = without(a.Tags, e.Tags)
	case DescribedV1:
		a.Metadata = e.Metadata
	case PreviewChosenV1:
		a.Preview = e.Preview
	default:
		return
	}
	a.UpdatedAt, a.Changed = &at, rec.Position
}

func (a *Asset) created(rec eventlog.Recorded, e CreatedV1, at time.Time) {
	id, _ := IDOfStream(rec.Stream)
	if e.CreatedAt != nil {
		at = e.CreatedAt.UTC()
	}
	a.ID, a.Chosen, a.Account, a.State, a.Origin = id, e.PublicID, rec.Account, Live, e.Origin
	a.Hash, a.Size, a.ContentType = e.Hash, e.Size, e.ContentType
	a.FilePath, a.Place, a.Producer, a.Tags = e.FilePath, e.Place, e.Producer, e.Tags
	a.Width, a.Height, a.CreatedAt, a.ExpiresAt = e.Width, e.Height, at, e.ExpiresAt
	a.Name, a.Metadata, a.Preview = e.Name, e.Metadata, e.Preview
}

func (a *Asset) scanned(s Scan) {
	a.Scan = &s
	if s.Verdict == Rejects {
		a.State = Rejected
	}
	if s.Width > 0 && s.Height > 0 {
		a.Width, a.Height = s.Width, s.Height
	}
}

// LaterDeadline returns the later of two deadlines. nil means never and is the latest.
func LaterDeadline(a, b *time.Time) *time.Time {
	if a == nil || b == nil {
		return nil
	}
	if a.After(*b) {
		return a
	}
	return b
}
