// Package assets is the view of assets: the folded state of each, which GET and listings serve. Its Reader promises
// answers that are never older than the log: it folds the events that the view has not folded. The files table, not
// this view, contains the names and deadlines that commands need.
package assets

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Name is the view, its main table and its checkpoint, with the version of its fold.
const Name = "assets_v2"

// Projection folds the streams of assets into assets_v2.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of assets.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name, tagTable, labelTable, countTable} }

// row is a row of the view.
type row struct {
	asset   asset.Asset
	created int64
}

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool {
	_, ok := asset.IDOfStream(e.Stream)
	return ok
}

// Apply implements projections.Projection: it reads the rows that the batch concerns, folds, and
// writes those that changed, in two statements.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	ids := assetsOf(batch)
	if len(ids) == 0 {
		return nil
	}
	rows, err := load(ctx, tx, ids)
	if err != nil {
		return err
	}
	before := maps.Clone(rows)
	changed := make(map[asset.ID]bool, len(ids))
	for _, rec := range batch {
		id, ok := asset.IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		next, moved, err := fold(p.registry, rows[id], rec)
		if err != nil {
			return err
		}
		if moved {
			rows[id], changed[id] = next, true
		}
	}
	if err := index(ctx, tx, ids, before, rows); err != nil {
		return err
	}
	return store(ctx, tx, ids, rows, changed)
}

// assetsOf lists the assets of a batch without duplicates, in order.
func assetsOf(batch []eventlog.Recorded) []string {
	var ids []string
	seen := map[asset.ID]bool{}
	for _, rec := range batch {
		if id, ok := asset.IDOfStream(rec.Stream); ok && !seen[id] {
			seen[id] = true
			ids = append(ids, string(id))
		}
	}
	return ids
}

// fold applies one event to a row, and reports whether the row changed. An event whose predecessor the row has not
// folded is an error, because the view would miss an event.
func fold(registry *eventlog.Registry, r row, rec eventlog.Recorded) (row, bool, error) {
	if rec.Version <= r.asset.Version {
		return r, false, nil
	}
	if rec.Version != r.asset.Version+1 {
		return r, false, fmt.Errorf("%s: event %d follows version %d", rec.Stream, rec.Version, r.asset.Version)
	}
	data, err := registry.DecodeKnown(rec)
	if err != nil {
		return r, false, err
	}
	r.asset = asset.Fold(r.asset, rec, data)
	if rec.Version == 1 {
		r.created = rec.Position
	}
	return r, true, nil
}

func load(ctx context.Context, tx pgx.Tx, ids []string) (map[asset.ID]row, error) {
	found, err := tx.Query(ctx, `select created, asset from `+Name+` where id = any($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the rows of a batch: %w", err)
	}
	list, err := pgx.CollectRows(found, scanRow)
	if err != nil {
		return nil, fmt.Errorf("read the rows of a batch: %w", err)
	}
	rows := make(map[asset.ID]row, len(ids))
	for _, r := range list {
		rows[r.asset.ID] = r
	}
	return rows, nil
}

func scanRow(found pgx.CollectableRow) (row, error) {
	var r row
	var state []byte
	if err := found.Scan(&r.created, &state); err != nil {
		return r, err
	}
	return r, json.Unmarshal(state, &r.asset)
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
	state, err := json.Marshal(r.asset)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(append([]string{}, r.asset.Tags...))
	if err != nil {
		return err
	}
	labels, err := json.Marshal(r.asset.Labels())
	if err != nil {
		return err
	}
	c.ids, c.accounts = append(c.ids, string(r.asset.ID)), append(c.accounts, r.asset.Account)
	c.states, c.names = append(c.states, string(r.asset.State)), append(c.names, searchName(r.asset))
	c.labels, c.sizes = append(c.labels, label(r.asset)), append(c.sizes, r.asset.Size)
	c.created, c.changed, c.versions = append(c.created, r.created), append(c.changed, r.changed()), append(c.versions, r.asset.Version)
	c.hashes, c.metadata = append(c.hashes, r.asset.Hash[:]), append(c.metadata, metadataOf(r.asset))
	c.tags, c.allLabels = append(c.tags, string(tags)), append(c.allLabels, string(labels))
	c.expires, c.assets = append(c.expires, r.asset.ExpiresAt), append(c.assets, string(state))
	return nil
}

// changed returns the position of the owner's last change, or of the first event.
func (r row) changed() int64 { return max(r.created, r.asset.Changed) }

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

func store(ctx context.Context, tx pgx.Tx, ids []string, rows map[asset.ID]row, changed map[asset.ID]bool) error {
	var c columns
	for _, id := range ids {
		if !changed[asset.ID(id)] {
			continue
		}
		if err := c.add(rows[asset.ID(id)]); err != nil {
			return fmt.Errorf("encode asset %s: %w", id, err)
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
