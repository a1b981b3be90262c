// Package assets is the view of assets: the folded state of each, which GET and listings serve. Its Reader promises
// answers that are never older than the log: it folds the events that the view has not folded. The files table, not
// this view, contains the names and deadlines that commands need.
package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
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
func NewProjection(registry *eventlog.Registry) *folded.Projection[asset.Asset] {
	return &folded.Projection[asset.Asset]{View: newView(registry), Lists: []string{tagTable, labelTable, countTable}, Store: store}
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

// columns are the arrays that one upsert writes.
type columns struct {
	ids, accounts, states, names, labels []string
	tags, allLabels, assets              []string // JSON
	created, changed, versions, sizes    []int64
	hashes                               [][]byte
	metadata                             []*string
	expires                              []*time.Time
}

func (c *columns) add(r row) error {
	state, err := json.Marshal(r.State)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(append([]string{}, r.State.Tags...))
	if err != nil {
		return err
	}
	labels, err := json.Marshal(r.State.Labels())
	if err != nil {
		return err
	}
	c.ids, c.accounts = append(c.ids, r.ID), append(c.accounts, r.State.Account)
	c.states, c.names = append(c.states, string(r.State.State)), append(c.names, searchName(r.State))
	c.labels, c.sizes = append(c.labels, label(r.State)), append(c.sizes, r.State.Size)
	c.created, c.changed, c.versions = append(c.created, r.First), append(c.changed, changed(r)), append(c.versions, r.Version)
	c.hashes, c.metadata = append(c.hashes, r.State.Hash[:]), append(c.metadata, metadataOf(r.State))
	c.tags, c.allLabels = append(c.tags, string(tags)), append(c.allLabels, string(labels))
	c.expires, c.assets = append(c.expires, r.State.ExpiresAt), append(c.assets, string(state))
	return nil
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

func store(ctx context.Context, tx pgx.Tx, b folded.Batch[asset.Asset]) error {
	if err := index(ctx, tx, b); err != nil {
		return err
	}
	var c columns
	for _, r := range b.Changed() {
		if err := c.add(r); err != nil {
			return fmt.Errorf("encode asset %s: %w", r.ID, err)
		}
	}
	if len(c.ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, upsert, c.ids, c.accounts, c.states, c.created, c.changed, c.versions, c.names, c.labels, c.tags,
		c.allLabels, c.sizes, c.hashes, c.metadata, c.expires, c.assets)
	if err != nil {
		return fmt.Errorf("write the rows of a batch: %w", err)
	}
	return nil
}
