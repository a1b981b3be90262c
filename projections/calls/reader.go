package calls

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Reader lists calls from the view, which may lag behind the log.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Query selects calls, newest first.
type Query struct {
	Account string       // "" = all accounts, for operators
	States  []call.State // any of these; empty = all
	Model   string       // "" = any
	Before  int64        // Page.Next of the page before; 0 = from the newest
	Limit   int          // default 20, at most 1,000
}

// Page is a part of a listing.
type Page struct {
	Calls []call.Call
	Next  int64 // Query.Before of the next page; 0 = this is the last
}

const (
	defaultLimit = 20
	maxLimit     = 1000
)

// List returns the calls that q selects.
func (r *Reader) List(ctx context.Context, q Query) (Page, error) {
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	var args postgres.Binder
	sql := `select accepted, call from ` + Name + ` where true` // only the requested conditions, so that each query keeps its index
	if q.Account != "" {
		sql += ` and account = ` + args.Bind(q.Account)
	}
	if len(q.States) > 0 {
		sql += ` and state = any(` + args.Bind(q.States) + `)`
	}
	if q.Model != "" {
		sql += ` and model = ` + args.Bind(q.Model)
	}
	if q.Before > 0 {
		sql += ` and accepted < ` + args.Bind(q.Before)
	}
	sql += ` order by accepted desc limit ` + args.Bind(limit+1)
	var page Page
	more := false
	err := postgres.Each(ctx, r.pool, "list calls", func(row pgx.CollectableRow) error {
		var c call.Call
		var accepted int64
		if more = len(page.Calls) == limit; more {
			return nil
		}
		err := row.Scan(&accepted, &c)
		page.Calls, page.Next = append(page.Calls, c), accepted
		return err
	}, sql, args.Args...)
	if !more {
		page.Next = 0
	}
	return page, err
}

// Call returns a call of any account by its id, for operators, or false if it does not exist.
func (r *Reader) Call(ctx context.Context, id call.ID) (call.Call, bool, error) {
	return postgres.One(ctx, r.pool, "read a call", pgx.RowTo[call.Call], `select call from `+Name+` where id = $1`, string(id))
}
