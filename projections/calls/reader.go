package calls

import (
	"context"
	"encoding/json"
	"fmt"

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
	sql, args := q.sql(limit + 1)
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return Page{}, postgres.Classify(err, "list calls")
	}
	var page Page
	var accepted int64
	var state []byte
	_, err = pgx.ForEachRow(rows, []any{&accepted, &state}, func() error {
		var c call.Call
		if err := json.Unmarshal(state, &c); err != nil {
			return err
		}
		if len(page.Calls) < limit {
			page.Calls = append(page.Calls, c)
			page.Next = accepted
		} else {
			limit = -1 // there is more
		}
		return nil
	})
	if err != nil {
		return Page{}, postgres.Classify(err, "list calls")
	}
	if limit >= 0 {
		page.Next = 0
	}
	return page, nil
}

// sql returns a query with only the requested conditions, so that each form of query keeps its index.
func (q Query) sql(limit int) (string, []any) {
	var args []any
	bind := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	sql := `select accepted, call from ` + Name + ` where true`
	if q.Account != "" {
		sql += ` and account = ` + bind(q.Account)
	}
	if len(q.States) > 0 {
		sql += ` and state = any(` + bind(q.States) + `)`
	}
	if q.Model != "" {
		sql += ` and model = ` + bind(q.Model)
	}
	if q.Before > 0 {
		sql += ` and accepted < ` + bind(q.Before)
	}
	return sql + ` order by accepted desc limit ` + bind(limit), args
}

// Call returns a call of any account by its id, for operators, or false if it does not exist.
func (r *Reader) Call(ctx context.Context, id call.ID) (call.Call, bool, error) {
	rows, err := r.pool.Query(ctx, `select call from `+Name+` where id = $1`, string(id))
	if err != nil {
		return call.Call{}, false, postgres.Classify(err, "read a call")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c call.Call, err error) {
		var state []byte
		if err := row.Scan(&state); err != nil {
			return c, err
		}
		return c, json.Unmarshal(state, &c)
	})
	if err != nil || len(found) == 0 {
		return call.Call{}, false, postgres.Classify(err, "read a call")
	}
	return found[0], true, nil
}
