// Package assets is the view of assets: the folded state of each, which GET and listings serve. Its Reader promises
// answers that are never older than the log: it folds the events that the view has not folded. The files table, not
// this view, contains the names and deadlines that commands need.
package assets

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Name is the view, its main table and its checkpoint, with the version of its fold.
const Name = "assets_v1"

// row is a row of the view.
type row = folded.Row[asset.Asset]

func newView(registry *eventlog.Registry) *folded.View[asset.Asset] {
	return folded.New(registry, folded.Kind[asset.Asset]{
		Name: Name, Noun: "asset", First: "created", Fold: asset.Fold,
		Of: func(a asset.Asset) (string, int64) { return string(a.ID), a.Version },
	})
}

// NewProjection returns the projection, which folds the streams of assets into assets_v1; registry knows the event types of
// assets.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return newView(registry).Projection(func(ctx context.Context, tx pgx.Tx, b folded.Batch[asset.Asset]) error {
		if err := index(ctx, tx, b); err != nil {
			return err
		}
		return b.Write(ctx, tx, Name, upsert, columns)
	}, tagTable, labelTable, countTable)
}

// upsert writes rows from one array for each column; the columns besides asset are for searches. Lists are passed as
// JSON, because an array of arrays must be rectangular.
const upsert = `insert into ` + Name + ` (id, account, state, created, changed, version, name, label, tags, labels, size, hash,
		metadata, expires_at, asset)
	select id, account, state, created, changed, version, name, label, array(select json_array_elements_text(tags)),
		array(select json_array_elements_text(labels)), size, hash, metadata, expires_at, asset
	from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::json[],
			$10::json[], $11::bigint[], $12::bytea[], $13::jsonb[], $14::timestamptz[], $15::json[])
		as v (id, account, state, created, changed, version, name, label, tags, labels, size, hash, metadata, expires_at, asset)
	on conflict (id) do update set state = excluded.state, changed = excluded.changed, version = excluded.version,
		label = excluded.label, tags = excluded.tags, labels = excluded.labels, metadata = excluded.metadata,
		expires_at = excluded.expires_at, asset = excluded.asset`

// columns returns the columns of a row.
func columns(r row, state string) ([]any, error) {
	a := r.State
	tags, err := json.Marshal(append([]string{}, a.Tags...))
	if err != nil {
		return nil, err
	}
	labels, err := json.Marshal(a.Labels())
	return []any{
		r.ID, a.Account, string(a.State), r.First, changed(r), r.Version, searchName(a), label(a), string(tags), string(labels), a.Size,
		a.Hash[:], metadataOf(a), a.ExpiresAt, state,
	}, err
}

// changed returns the position of the owner's last change, or of the first event.
func changed(r row) int64 { return max(r.First, r.State.Changed) }

func metadataOf(a asset.Asset) *string {
	if a.Metadata == nil {
		return nil
	}
	text := string(a.Metadata)
	return &text
}

// label returns the text by which an asset is sorted and searched on the hosted surface.
func label(a asset.Asset) string { return strings.ToLower(a.Title()) }

// searchName returns the text that the name filter searches.
func searchName(a asset.Asset) string {
	if a.FilePath == nil {
		return ""
	}
	return strings.ToLower(*a.FilePath)
}
