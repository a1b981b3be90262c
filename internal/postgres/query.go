package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Collect returns the rows of a query as scan reads them. what describes the operation, for the log.
func Collect[T any](ctx context.Context, db Queryer, what string, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, classify(err, what)
	}
	all, err := pgx.CollectRows(rows, scan)
	return all, classify(err, what)
}

// One returns the first row of a query as scan reads it. ok is false if there is none.
func One[T any](ctx context.Context, db Queryer, what string, scan pgx.RowToFunc[T], sql string, args ...any) (row T, ok bool, err error) {
	rows, err := db.Query(ctx, sql, args...)
	if err == nil {
		row, err = pgx.CollectOneRow(rows, scan)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, classify(err, what)
}

// Find stores the columns of the first row of a query in to, which stays as it is if there is none. It reports whether there
// is one.
func Find(ctx context.Context, db RowQueryer, what string, to []any, sql string, args ...any) (ok bool, err error) {
	err = db.QueryRow(ctx, sql, args...).Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, classify(err, what)
}

// Map returns the rows of a query of two columns: a key and its value.
func Map[K comparable, V any](ctx context.Context, db Queryer, what, sql string, args ...any) (map[K]V, error) {
	all := map[K]V{}
	err := Each(ctx, db, what, func(row pgx.CollectableRow) error {
		var key K
		var value V
		err := row.Scan(&key, &value)
		all[key] = value
		return err
	}, sql, args...)
	return all, err
}

// Each calls do for each row of a query.
func Each(ctx context.Context, db Queryer, what string, do func(pgx.CollectableRow) error, sql string, args ...any) error {
	rows, err := db.Query(ctx, sql, args...)
	if err == nil {
		err = each(rows, do)
	}
	return classify(err, what)
}

func each(rows pgx.Rows, do func(pgx.CollectableRow) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Exec runs one statement that commits by itself. If the connection breaks before the answer, the error is ambiguous.
func Exec(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return tag, err
	}
	defer conn.Release()
	if tag, err = conn.Exec(ctx, sql, args...); err != nil && conn.Conn().IsClosed() {
		return tag, Ambiguous(err)
	}
	return tag, err
}

// ScanInto has a queued query store the columns of its first row in to, which stays as it is if there is none.
func ScanInto(q *pgx.QueuedQuery, to ...any) { FindInto(q, new(bool), to...) }

// FindInto is ScanInto that also stores in found whether there is a row.
func FindInto(q *pgx.QueuedQuery, found *bool, to ...any) {
	q.QueryRow(func(row pgx.Row) error {
		err := row.Scan(to...)
		*found = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
}

// CollectInto has a queued query store its rows in to, as scan reads them.
func CollectInto[T any](q *pgx.QueuedQuery, to *[]T, scan pgx.RowToFunc[T]) {
	q.Query(func(rows pgx.Rows) (err error) {
		*to, err = pgx.CollectRows(rows, scan)
		return err
	})
}

// EachInto has a queued query call do for each of its rows.
func EachInto(q *pgx.QueuedQuery, do func(pgx.CollectableRow) error) {
	q.Query(func(rows pgx.Rows) error { return each(rows, do) })
}

// CountInto has a queued statement store in n how many rows it changed.
func CountInto(q *pgx.QueuedQuery, n *int64) {
	q.Exec(func(tag pgconn.CommandTag) error {
		*n = tag.RowsAffected()
		return nil
	})
}

// Columns are rows as a statement with unnest reads them: one array for each column. The zero value has no rows.
type Columns struct {
	arrays []reflect.Value
	rows   int
}

// Add adds a row. The values of each column have the same type in all rows.
func (c *Columns) Add(row ...any) {
	if c.arrays == nil {
		for _, v := range row {
			c.arrays = append(c.arrays, reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(v)), 0, 1))
		}
	}
	for i, v := range row {
		c.arrays[i] = reflect.Append(c.arrays[i], reflect.ValueOf(v))
	}
	c.rows++
}

// Rows returns the number of rows.
func (c *Columns) Rows() int { return c.rows }

// Args returns the arguments of a statement: some others, and the arrays. There must be a row.
func (c *Columns) Args(before ...any) []any {
	for _, array := range c.arrays {
		before = append(before, array.Interface())
	}
	return before
}

// Binder collects the arguments of a statement that is put together from parts.
type Binder struct{ Args []any }

// Bind adds an argument and returns its placeholder.
func (b *Binder) Bind(v any) string {
	b.Args = append(b.Args, v)
	return fmt.Sprintf("$%d", len(b.Args))
}
