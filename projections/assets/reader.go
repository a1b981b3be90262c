package assets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Reader reads assets of one account at a time. A single asset includes every event that was committed before the call. So does a
// list, unless the view is more than 5,000 positions behind (folded.maxBehind): it then shows the view as it is, as Several
// always does. Assets that were deleted, or whose deadline has passed, are not found.
type Reader struct {
	pool *pgxpool.Pool
	view *folded.View[asset.Asset]
	now  func() time.Time
}

// NewReader returns a reader of the view in pool's database. now is the clock for deadlines, nil = time.Now.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{pool: pool, view: newView(registry), now: now}
}

// Asset returns an asset of the account. An unknown asset, an ended asset and an asset of another account are
// NotFound.
func (r *Reader) Asset(ctx context.Context, account string, id asset.ID) (asset.Asset, error) {
	found, ok, err := r.view.Read(ctx, r.pool, account, string(id))
	return r.found(found, ok, err)
}

// ByPublicID returns the asset of the account with a public id. Its errors are those of Asset and do not reveal
// whether another account has an asset with that id.
func (r *Reader) ByPublicID(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error) {
	found, ok, err := r.view.ReadPublic(ctx, r.pool, account, string(id))
	return r.found(found, ok && found.State.PublicID() == id, err) // its client may have chosen another public id
}

func (r *Reader) found(one row, ok bool, err error) (asset.Asset, error) {
	if err == nil && (!ok || !readable(one.State, r.now())) {
		return asset.Asset{}, notFound()
	}
	return one.State, err
}

// Several returns the assets of the account with the given ids as they are in the view, which may lag behind.
func (r *Reader) Several(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	found, err := r.query(ctx, r.pool, `select created, asset from `+Name+` where id = any($1) and account = $2`, ids, account)
	if err != nil {
		return nil, err
	}
	several := make(map[asset.ID]asset.Asset, len(found))
	for _, f := range found {
		several[f.State.ID] = f.State
	}
	return several, nil
}

func notFound() error { return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset") }

// readable reports whether an asset can be read.
func readable(a asset.Asset, now time.Time) bool {
	return !a.State.Gone() && (a.ExpiresAt == nil || a.ExpiresAt.After(now))
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
	fresh, err := r.fresh(ctx, r.pool, account)
	if err != nil {
		return Page{}, err
	}
	sql, args := q.sql(account, fresh.IDs, now)
	found, err := r.query(ctx, r.pool, sql, args...)
	if err != nil {
		return Page{}, err
	}
	for _, f := range fresh.Rows {
		if q.matches(f) && readable(f.State, now) {
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
		p.Next = rows[q.Limit-1].First
	}
	p.Assets = make([]asset.Asset, len(rows))
	for i, r := range rows {
		p.Assets[i] = r.State
	}
	return p
}

// sql returns the query for the matching rows of the view, without those in except. It contains only the requested
// conditions, so that each form of query keeps the plan of its index. The number of rows is a literal: a generic plan
// without it would be estimated as expensive, and the query planned each time, which takes longer than reading its
// rows.
func (q Query) sql(account string, except []string, now time.Time) (string, []any) {
	b := postgres.Binder{Args: []any{account, now}}
	order, from := `v.created`, Name+` v`
	if len(q.Tags) > 0 { // the first tag determines the order, the others filter
		order, from = `l.created`, tagTable+` l `+rowOf
	}
	sql := `select v.created, v.asset from ` + from + ` where v.account = $1 and v.state in ('live', 'rejected')
		and (v.expires_at is null or v.expires_at > $2)`
	if q.Before > 0 {
		sql += ` and ` + order + ` < ` + b.Bind(q.Before)
	}
	if len(q.Tags) > 0 {
		sql += ` and l.account = $1 and l.tag = ` + b.Bind(q.Tags[0])
	}
	if len(q.Tags) > 1 {
		sql += ` and v.tags @> ` + b.Bind(q.Tags)
	}
	if q.Name != "" {
		sql += ` and strpos(v.name, ` + b.Bind(strings.ToLower(q.Name)) + `) > 0`
	}
	if len(except) > 0 {
		sql += ` and v.id <> all(` + b.Bind(except) + `)`
	}
	return fmt.Sprintf("%s order by %s desc limit %d", sql, order, q.rows()), b.Args
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
	if q.Before > 0 && r.First >= q.Before || !strings.Contains(searchName(r.State), strings.ToLower(q.Name)) {
		return false
	}
	return !slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(r.State.Tags, tag) })
}

func (r *Reader) query(ctx context.Context, db postgres.Queryer, sql string, args ...any) ([]row, error) {
	return r.view.Rows(ctx, db, sql, args...)
}

// fresh folds the account's events after the view's checkpoint on top of its rows.
func (r *Reader) fresh(ctx context.Context, db postgres.Tx, account string) (folded.Fresh[asset.Asset], error) {
	u, err := r.view.Unfolded(ctx, db, account, nil, nil)
	if err != nil {
		return folded.Fresh[asset.Asset]{}, err
	}
	return r.view.Fresh(ctx, db, account, u, nil)
}
