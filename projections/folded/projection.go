package folded

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections"
)

// Projection returns the projection that keeps the view up to date. It reads the rows that a batch concerns with one statement,
// folds, and has store write what changed. lists are further tables of the view.
func (v *View[S]) Projection(store func(ctx context.Context, tx pgx.Tx, b Batch[S]) error, lists ...string) projections.Projection {
	return projections.Projection{
		Name: v.Name, Tables: append([]string{v.Name}, lists...),
		Wants: func(e eventlog.Recorded) bool {
			_, ok := v.IDOf(e)
			return ok
		},
		Fold: func(ctx context.Context, tx pgx.Tx, events []eventlog.Recorded) error {
			b, err := v.foldBatch(ctx, tx, events)
			if err != nil {
				return err
			}
			return store(ctx, tx, b)
		},
	}
}

// Batch is what the events of a batch change.
type Batch[S any] struct {
	IDs           []string // of the rows, in the order of their first event
	Before, After map[string]Row[S]
}

// Write deletes the rows that are gone, and writes those that changed by a statement with one array for each column. columns
// returns the columns of a row, of which state is the stored state.
func (b Batch[S]) Write(ctx context.Context, tx pgx.Tx, table, upsert string, columns func(r Row[S], state string) ([]any, error)) error {
	var gone []string
	var rows postgres.Columns
	for _, id := range b.IDs {
		r := b.After[id]
		switch {
		case r.Gone:
			gone = append(gone, id)
			continue
		case r.Version == b.Before[id].Version:
			continue
		}
		state, err := json.Marshal(r.State)
		if err != nil {
			return fmt.Errorf("encode %s: %w", id, err)
		}
		row, err := columns(r, string(state))
		if err != nil {
			return fmt.Errorf("encode %s: %w", id, err)
		}
		rows.Add(row...)
	}
	var q pgx.Batch
	if len(gone) > 0 {
		q.Queue(`delete from `+table+` where id = any($1)`, gone)
	}
	if rows.Rows() > 0 {
		q.Queue(upsert, rows.Args()...)
	}
	if q.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &q).Close(); err != nil {
		return fmt.Errorf("write the rows of a batch: %w", err)
	}
	return nil
}

func (v *View[S]) foldBatch(ctx context.Context, tx pgx.Tx, events []eventlog.Recorded) (b Batch[S], err error) {
	b.IDs = v.group(events).IDs
	rows, err := v.Rows(ctx, tx, v.rowsOf, b.IDs)
	if err != nil {
		return b, err
	}
	b.Before = byID(rows)
	b.After = maps.Clone(b.Before)
	for _, rec := range events {
		if id, ok := v.IDOf(rec); ok {
			if b.After[id], err = v.Apply(b.After[id], rec); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}
