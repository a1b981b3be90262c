package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// write is the only function that begins a transaction which writes views, their checkpoints or their shadows.
func write(ctx context.Context, db beginner, options pgx.TxOptions, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db, options, f)
}

// beginner is a pool or a connection.
type beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// withoutSync begins a transaction that does not wait for the disk. A crash of the server takes view and checkpoint back
// together, and the events, which were on the disk before, are folded again.
var withoutSync = pgx.TxOptions{BeginQuery: "begin; set local synchronous_commit = off"} // a constant

// applyBatch folds a batch and moves the checkpoint in one transaction. If an event causes a failure, applyBatch folds the
// batch again event by event and halts the streams that fail, which it returns.
func applyBatch(ctx context.Context, pool *pgxpool.Pool, p Projection, b eventlog.Batch) (stopped []Halted, err error) {
	err = advanceWith(ctx, pool, p, b, func(tx pgx.Tx, events []eventlog.Recorded) error { return apply(ctx, tx, p, events) })
	if err == nil || systemic(err) {
		return nil, err
	}
	err = advanceWith(ctx, pool, p, b, func(tx pgx.Tx, events []eventlog.Recorded) (err error) {
		if stopped, err = stepwise(ctx, tx, p, events); err != nil {
			return err
		}
		return halt(ctx, tx, stopped)
	})
	return stopped, err
}

// errCheckpointMoved means that another runner has moved the checkpoint.
var errCheckpointMoved = errors.New("another runner has moved the checkpoint")

// advanceWith moves the projection's checkpoint past a batch and calls fold with the events whose streams are not halted. The
// checkpoint stays locked until the end, which locks out Resume and Rebuild. It fails with eventlog.ErrRewound if the
// database lacks events of the batch.
func advanceWith(ctx context.Context, pool *pgxpool.Pool, p Projection, b eventlog.Batch,
	fold func(tx pgx.Tx, events []eventlog.Recorded) error,
) error {
	return write(ctx, pool, withoutSync, func(tx pgx.Tx) error {
		some, err := eventstore.AdvanceCheckpoint(ctx, tx, p.Name, b.After, b.UpTo, b.Read)
		if fault.Is(err, fault.Conflict) {
			return fmt.Errorf("%s: %w: %w", p.Name, errCheckpointMoved, err)
		}
		var halted map[string]int64
		if err == nil && some {
			halted, err = haltedIn(ctx, tx, p.Name)
		}
		if err != nil {
			return err
		}
		return fold(tx, withoutHalted(b.Events, halted))
	})
}

// lockCheckpoint returns a projection's position and locks out its runner until tx ends.
func lockCheckpoint(ctx context.Context, tx pgx.Tx, name string) (int64, error) {
	_, err := tx.Exec(ctx, `insert into checkpoints (name) values ($1) on conflict do nothing`, name)
	if err != nil {
		return 0, postgres.Classify(err, "lock the checkpoint of "+name)
	}
	var position int64
	err = tx.QueryRow(ctx, `select position from checkpoints where name = $1 for update`, name).Scan(&position)
	return position, postgres.Classify(err, "lock the checkpoint of "+name)
}
