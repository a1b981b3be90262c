// Package serverusage is the view of the time for which segments occupied ComfyUI servers: one row for each ended
// attempt, so that a repeated event counts once. It promises that the charge of an attempt equals that in the bill of
// its job. An attempt counts on the day of its end, in UTC.
//
// The time that a machine of a pool had no work is shared among the accounts that it has worked for, in proportion to that work: one row
// for each of them when the machine stops. Of a machine that has worked for nobody, it is the operator's, with account "".
package serverusage

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "server_usage_v1"

// NewProjection returns the projection, which folds the ends of segments and of machines into server_usage_v1; registry knows their event
// types. Usage is read by people.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name}, Linger: time.Second,
		Wants: func(e eventlog.Recorded) bool { return e.Type == job.TypeSegmentEnded || e.Type == pool.TypeStopped },
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			return fold(ctx, tx, registry, batch)
		},
	}
}

const insert = `insert into ` + Name + ` (job, run, segment, attempt, account, server, url, day, outcome, millis, charged_micros)
	values ($1, $2, $3, $4, $5, $6, $7, $8::date, $9, $10, $11) on conflict do nothing`

// idle is the outcome of a row of time without work.
const idle = "idle"

// insertIdle shares the time of a machine without work. When its event is folded again, more attempts may be known: nothing is inserted.
const insertIdle = `insert into ` + Name + ` (job, run, segment, attempt, account, server, url, day, outcome, millis, charged_micros)
	with work as (select account, sum(millis) as millis from ` + Name + `
			where server = $3 and outcome <> '` + idle + `' and day between $6::date and $5::date and millis > 0 group by account),
		shares as (select account, millis / sum(millis) over () as share, sum(millis) over () as worked from work
			union all select '', 1, 0 where not exists (select from work)),
		idle as (select account, share * greatest($7::bigint - worked, 0) as millis from shares)
	select $1, 0, $2::int, row_number() over (order by account), account, $3, $4, $5::date, '` + idle + `', round(millis),
		round(millis * $8::bigint / 1000)
	from idle where not exists (select from ` + Name + ` where job = $1 and run = 0 and segment = $2::int)`

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, batch []eventlog.Recorded) error {
	rows := &pgx.Batch{}
	for _, rec := range batch {
		data, err := registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		day := rec.RecordedAt.UTC().Format(time.DateOnly)
		switch e := data.(type) {
		case job.SegmentEndedV1:
			rows.Queue(insert, rec.Stream, e.Run, e.Segment, e.Attempt, rec.Account, e.Server, e.URL, day, e.Outcome, e.Millis,
				e.Cost(math.MaxInt64))
		case pool.StoppedV1:
			began := rec.RecordedAt.Add(-time.Duration(e.Seconds) * time.Second).UTC().Format(time.DateOnly)
			rows.Queue(insertIdle, rec.Stream, rec.Version, string(e.Server), e.Machine, day, began, e.Seconds*1000, e.Price)
		}
	}
	if err := tx.SendBatch(ctx, rows).Close(); err != nil {
		return fmt.Errorf("keep time on servers: %w", err)
	}
	return nil
}
