package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Reader reads assets of one account at a time. Its answers include every event that was committed before the call.
// Assets that were deleted, or whose deadline has passed, are not found.
type Reader struct {
	pool     *pgxpool.Pool
	registry *eventlog.Registry
	now      func() time.Time
}

// NewReader returns a reader of the view in pool's database. now is the clock for deadlines, nil = time.Now.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{pool: pool, registry: registry, now: now}
}

// Asset returns an asset of the account. An unknown asset, an ended asset and an asset of another account are
// NotFound. One query reads the row and the stream's version; only a row that lags behind needs a second query.
func (r *Reader) Asset(ctx context.Context, account string, id asset.ID) (asset.Asset, error) {
	return r.read(ctx, selectAsset+`$2::text`, account, string(id))
}

// ByPublicID returns the asset of the account with a public id. Its errors are those of Asset and do not reveal
// whether another account has an asset with that id.
func (r *Reader) ByPublicID(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error) {
	a, err := r.read(ctx, selectAsset+`(select coalesce(
		(select asset_id::text from asset_public_ids where account = $1 and public_id = $2::uuid), $2::uuid::text))`, account, string(id))
	if err == nil && a.PublicID() != id { // its client chose another public id
		return asset.Asset{}, notFound()
	}
	return a, err
}

// selectAsset reads the row of an asset of account $1, and the version of its stream. The condition on the id
// follows.
const selectAsset = `select i.id, s.version, coalesce(v.created, 0), v.asset
	from streams s join lateral (select substr(s.id, 7) as id) i on true left join ` + Name + ` v on v.id = i.id
	where s.account = $1 and s.id = 'asset-' || `

// read returns the asset of a query that begins with selectAsset.
func (r *Reader) read(ctx context.Context, query string, args ...any) (asset.Asset, error) {
	var id asset.ID
	var version, created int64
	var state []byte
	err := r.pool.QueryRow(ctx, query, args...).Scan(&id, &version, &created, &state)
	if errors.Is(err, pgx.ErrNoRows) {
		return asset.Asset{}, notFound()
	}
	if err != nil {
		return asset.Asset{}, postgres.Classify(err, "read an asset")
	}
	current := row{created: created}
	if state != nil {
		if err := json.Unmarshal(state, &current.asset); err != nil {
			return asset.Asset{}, fmt.Errorf("decode the row of asset %s: %w", id, err)
		}
	}
	if current, err = r.catchUp(ctx, r.pool, id, current, version); err != nil {
		return asset.Asset{}, err
	}
	if !readable(current.asset, r.now()) {
		return asset.Asset{}, notFound()
	}
	return current.asset, nil
}

// Several returns the assets of the account with the given ids as they are in the view, which may lag behind.
func (r *Reader) Several(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	found, err := r.query(ctx, r.pool, `select created, asset from `+Name+` where id = any($1) and account = $2`, ids, account)
	if err != nil {
		return nil, err
	}
	several := make(map[asset.ID]asset.Asset, len(found))
	for _, f := range found {
		several[f.asset.ID] = f.asset
	}
	return several, nil
}

func notFound() error { return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset") }

// readable reports whether an asset can be read.
func readable(a asset.Asset, now time.Time) bool {
	return !a.State.Gone() && (a.ExpiresAt == nil || a.ExpiresAt.After(now))
}

// catchUp folds the events of a stream that a row has not folded, at least up to version.
func (r *Reader) catchUp(ctx context.Context, db postgres.Queryer, id asset.ID, current row, version int64) (row, error) {
	for rec, err := range eventlog.ReadThrough(ctx, eventstore.StreamsOf(db), id.Stream(), current.asset.Version, version) {
		if err != nil {
			return row{}, err
		}
		if current, _, err = fold(r.registry, current, rec); err != nil {
			return row{}, err
		}
	}
	return current, nil
}

// Query selects assets of an account, newest first.
type Query struct {
	Tags   []string // all of these
	Name   string   // contained in the path, ignoring case
	Before int64    // Page.Next of the page before; 0 = from the newest
	Limit  int      // default 20, at most 500
}

// Bounds of a page.
const (
	DefaultLimit = 20
	MaxLimit     = 500
)

// Page is a part of a listing.
type Page struct {
	Assets []asset.Asset
	Next   int64 // Query.Before of the next page; 0 = this is the last
}

// List returns the account's assets that q selects. Following the pages returns each asset that existed at the start,
// and still exists, once.
func (r *Reader) List(ctx context.Context, account string, q Query) (Page, error) {
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	q.Limit = min(q.Limit, MaxLimit)
	now := r.now()
	fresh, _, err := r.unfolded(ctx, r.pool, account)
	if err != nil {
		return Page{}, err
	}
	except := make([]string, 0, len(fresh))
	for id := range fresh {
		except = append(except, string(id))
	}
	sql, args := q.sql(account, except, now)
	found, err := r.query(ctx, r.pool, sql, args...)
	if err != nil {
		return Page{}, err
	}
	for _, f := range fresh {
		if q.matches(f) && readable(f.asset, now) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, newestFirst)
	return q.page(found), nil
}

func (q Query) page(rows []row) Page {
	var p Page
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = rows[q.Limit-1].created
	}
	p.Assets = make([]asset.Asset, len(rows))
	for i, r := range rows {
		p.Assets[i] = r.asset
	}
	return p
}

// sql returns the query for the matching rows of the view, without those in except. It contains only the requested
// conditions, so that each form of query keeps the plan of its index. The number of rows is a literal: a generic plan
// without it would be estimated as expensive, and the query planned each time, which takes longer than reading its
// rows.
func (q Query) sql(account string, except []string, now time.Time) (string, []any) {
	args := []any{account, now}
	bind := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	order, from := `v.created`, Name+` v`
	if len(q.Tags) > 0 { // the first tag determines the order, the others filter
		order, from = `l.created`, tagTable+` l `+rowOf
	}
	sql := `select v.created, v.asset from ` + from + ` where v.account = $1 and v.state in ('live', 'rejected')
		and (v.expires_at is null or v.expires_at > $2)`
	if q.Before > 0 {
		sql += ` and ` + order + ` < ` + bind(q.Before)
	}
	if len(q.Tags) > 0 {
		sql += ` and l.account = $1 and l.tag = ` + bind(q.Tags[0])
	}
	if len(q.Tags) > 1 {
		sql += ` and v.tags @> ` + bind(q.Tags)
	}
	if q.Name != "" {
		sql += ` and strpos(v.name, ` + bind(strings.ToLower(q.Name)) + `) > 0`
	}
	if len(except) > 0 {
		sql += ` and v.id <> all(` + bind(except) + `)`
	}
	return fmt.Sprintf("%s order by %s desc limit %d", sql, order, q.rows()), args
}

// rows returns the number of rows to read: at least one more than the page, rounded to few different numbers, because
// each is a statement of its own.
func (q Query) rows() int {
	for _, n := range []int{DefaultLimit, 100} {
		if q.Limit <= n {
			return n + 1
		}
	}
	return MaxLimit + 1
}

// matches reports whether q selects an asset that the view does not have yet.
func (q Query) matches(r row) bool {
	if q.Before > 0 && r.created >= q.Before || !strings.Contains(searchName(r.asset), strings.ToLower(q.Name)) {
		return false
	}
	return !slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(r.asset.Tags, tag) })
}

func (r *Reader) query(ctx context.Context, db postgres.Queryer, sql string, args ...any) ([]row, error) {
	found, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Classify(err, "read assets")
	}
	rows, err := pgx.CollectRows(found, scanRow)
	return rows, postgres.Classify(err, "read assets")
}

// maxBehind is the maximum lag of a view, in positions, up to which listings are completed from the log. Beyond it,
// after an outage of the projector, they show the view as it is.
const maxBehind = 5000

// unfolded folds the account's events after the view's checkpoint on top of its rows, and returns the rows before and
// after. It reads the events before the rows, so that events that the view folds meanwhile are seen twice, not
// missed.
func (r *Reader) unfolded(ctx context.Context, db postgres.Queryer, account string) (fresh, before map[asset.ID]row, err error) {
	found, err := db.Query(ctx, eventstore.SelectEvents+`
		where position > (select coalesce(max(position), 0) from checkpoints where name = $1)
		  and (select coalesce(max(position), 0) from events)
		      - (select coalesce(max(position), 0) from checkpoints where name = $1) <= $2
		  and account = $3 and stream like 'asset-%' order by position`, Name, maxBehind, account)
	if err != nil {
		return nil, nil, postgres.Classify(err, "read what the view has not folded")
	}
	events, err := pgx.CollectRows(found, eventstore.ScanRecorded)
	if err != nil || len(events) == 0 {
		return nil, nil, postgres.Classify(err, "read what the view has not folded")
	}
	known, err := r.query(ctx, db, `select created, asset from `+Name+` where id = any($1) and account = $2`, assetsOf(events), account)
	if err != nil {
		return nil, nil, err
	}
	before = make(map[asset.ID]row, len(events))
	for _, k := range known {
		before[k.asset.ID] = k
	}
	fresh = maps.Clone(before)
	return fresh, before, r.foldUnfolded(ctx, db, fresh, events)
}

// foldUnfolded folds events on top of rows.
func (r *Reader) foldUnfolded(ctx context.Context, db postgres.Queryer, rows map[asset.ID]row, events []eventlog.Recorded) (err error) {
	for _, rec := range events {
		id, _ := asset.IDOfStream(rec.Stream)
		current := rows[id]
		if rec.Version > current.asset.Version+1 { // the stream is halted in the view, so the row lacks more than these events
			current, err = r.catchUp(ctx, db, id, current, rec.Version)
		} else {
			current, _, err = fold(r.registry, current, rec)
		}
		if err != nil {
			return err
		}
		rows[id] = current
	}
	return nil
}
