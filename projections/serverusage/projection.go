// Package serverusage is the view of the time for which segments occupied ComfyUI servers: one row for each ended
// attempt, so that a repeated event counts once. It promises that the charge of an attempt equals that in the bill of
// its job. An attempt counts on the day of its end, in UTC.
package serverusage

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "server_usage_v1"

// NewProjection returns the projection, which folds the ends of segments into server_usage_v1; registry knows their event type.
// Usage is read by people.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name}, Linger: time.Second,
		Wants: func(e eventlog.Recorded) bool { return e.Type == job.TypeSegmentEnded },
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			return fold(ctx, tx, registry, batch)
		},
	}
}

const insert = `insert into ` + Name + ` (job, run, segment, attempt, account, server, url, day, outcome, millis, charged_micros)
	values ($1, $2, $3, $4, $5, $6, $7, $8::date, $9, $10, $11) on conflict do nothing`

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, batch []eventlog.Recorded) error {
	rows := &pgx.Batch{}
	for _, rec := range batch {
		data, err := registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		if e, ok := data.(job.SegmentEndedV1); ok {
			rows.Queue(insert, rec.Stream, e.Run, e.Segment, e.Attempt, rec.Account, e.Server, e.URL, rec.RecordedAt.UTC().Format(time.DateOnly),
				e.Outcome, e.Millis, e.Cost(math.MaxInt64))
		}
	}
	if err := tx.SendBatch(ctx, rows).Close(); err != nil {
		return fmt.Errorf("keep time on servers: %w", err)
	}
	return nil
}
