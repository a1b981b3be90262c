package folded

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Projection keeps a view up to date. It implements projections.Projection and projections.Selective.
type Projection[S any] struct {
	View  *View[S]
	Lists []string // further tables of the view
	// Store writes what a batch has changed.
	Store func(ctx context.Context, tx pgx.Tx, b Batch[S]) error
}

// Name implements projections.Projection.
func (p *Projection[S]) Name() string { return p.View.Name }

// Tables implements projections.Projection.
func (p *Projection[S]) Tables() []string { return append([]string{p.View.Name}, p.Lists...) }

// Wants implements projections.Selective.
func (p *Projection[S]) Wants(e eventlog.Recorded) bool {
	_, ok := p.View.IDOf(e)
	return ok
}

// Apply implements projections.Projection: it reads the rows that the batch concerns with one statement, folds, and writes those
// that changed.
func (p *Projection[S]) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	b, err := p.View.foldBatch(ctx, tx, batch)
	if err != nil || len(b.IDs) == 0 {
		return err
	}
	return p.Store(ctx, tx, b)
}

// Batch is what the events of a batch change.
type Batch[S any] struct {
	IDs           []string // of the rows, in the order of their first event
	Before, After map[string]Row[S]
}

// Changed returns the rows that the view must write.
func (b Batch[S]) Changed() (rows []Row[S]) {
	for _, id := range b.IDs {
		if r := b.After[id]; r.Version > b.Before[id].Version && !r.Gone {
			rows = append(rows, r)
		}
	}
	return rows
}

// Gone returns the ids of the rows that the view must delete.
func (b Batch[S]) Gone() (ids []string) {
	for _, id := range b.IDs {
		if b.After[id].Gone {
			ids = append(ids, id)
		}
	}
	return ids
}

func (v *View[S]) foldBatch(ctx context.Context, tx pgx.Tx, events []eventlog.Recorded) (b Batch[S], err error) {
	if b.IDs = v.group(events).IDs; len(b.IDs) == 0 {
		return b, nil
	}
	found, err := tx.Query(ctx, v.rowsOf, b.IDs)
	if err != nil {
		return b, fmt.Errorf("read the rows of a batch: %w", err)
	}
	rows, err := pgx.CollectRows(found, v.ScanRow)
	if err != nil {
		return b, fmt.Errorf("read the rows of a batch: %w", err)
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
