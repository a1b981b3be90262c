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
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "server_usage_v1"

// Projection folds the ends of segments into server_usage_v1.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of jobs.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Linger implements projections.Patient: usage is read by people.
func (p *Projection) Linger() time.Duration { return time.Second }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name} }

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool { return e.Type == job.TypeSegmentEnded }

const insert = `insert into ` + Name + ` (job, run, segment, attempt, account, server, url, day, outcome, millis, charged_micros)
	values ($1, $2, $3, $4, $5, $6, $7, $8::date, $9, $10, $11) on conflict do nothing`

// Apply implements projections.Projection.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	rows := &pgx.Batch{}
	for _, rec := range batch {
		if !p.Wants(rec) {
			continue
		}
		data, err := p.registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		e, ok := data.(job.SegmentEndedV1)
		if !ok {
			continue
		}
		rows.Queue(insert, rec.Stream, e.Run, e.Segment, e.Attempt, rec.Account, e.Server, e.URL, rec.RecordedAt.UTC().Format(time.DateOnly),
			e.Outcome, e.Millis, e.Cost(math.MaxInt64))
	}
	if rows.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, rows).Close(); err != nil {
		return fmt.Errorf("keep time on servers: %w", err)
	}
	return nil
}
