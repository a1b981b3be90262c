// Package hidden is the view of the jobs that accounts have hidden in their histories. Its Reader promises answers
// that are never older than the log: it folds the events that the view has not folded.
package hidden

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view, its main table and its checkpoint, with the version of its fold.
const Name = "history_v1"

// JobsTable lists the jobs that were hidden one by one.
const JobsTable = "history_v1_jobs"

// NewProjection returns the projection, which folds the streams of histories into history_v1; registry knows their event types.
// These events are rare, so each is a statement of its own.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	p := projection{registry}
	return projections.Projection{Name: Name, Tables: []string{Name, JobsTable}, Wants: wants, Fold: p.fold}
}

func wants(e eventlog.Recorded) bool {
	_, ok := hidden.AccountOfStream(e.Stream)
	return ok || e.Type == job.TypeRetired
}

type projection struct{ registry *eventlog.Registry }

func (p projection) fold(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		account, ok := hidden.AccountOfStream(rec.Stream)
		if !ok {
			id, _ := job.IDOfStream(rec.Stream)
			if _, err := tx.Exec(ctx, `delete from `+JobsTable+` where account = $1 and job = $2`, rec.Account, string(id)); err != nil {
				return fmt.Errorf("forget job %s: %w", id, err)
			}
		} else if err := p.apply(ctx, tx, account, rec); err != nil {
			return fmt.Errorf("%s, version %d: %w", rec.Stream, rec.Version, err)
		}
	}
	return nil
}

// apply folds one event, unless the view has folded it.
func (p projection) apply(ctx context.Context, tx pgx.Tx, account string, rec eventlog.Recorded) error {
	data, err := p.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	moved, err := tx.Exec(ctx, `insert into `+Name+` (account, version, cleared, kept) values ($1, $2, 0, '{}')
		on conflict (account) do update set version = excluded.version where `+Name+`.version < excluded.version`, account, rec.Version)
	if err != nil || moved.RowsAffected() == 0 {
		return err
	}
	switch e := data.(type) {
	case hidden.JobsHiddenV1:
		_, err = tx.Exec(ctx, `insert into `+JobsTable+` (account, job) select distinct $1, j from unnest($2::text[]) j on conflict do nothing`,
			account, e.Jobs)
	case hidden.ClearedV1:
		if _, err = tx.Exec(ctx, `delete from `+JobsTable+` where account = $1`, account); err == nil {
			_, err = tx.Exec(ctx, `update `+Name+` set cleared = $2, kept = $3 where account = $1`, account, e.Position,
				append([]string{}, e.Kept...))
		}
	}
	return err
}
