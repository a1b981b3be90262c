package stats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// position returns the position up to which the log is counted, and the hour of the newest event.
func position(ctx context.Context, tx pgx.Tx) (seen int64, hour time.Time, err error) {
	err = tx.QueryRow(ctx, `select position, hour from `+at).Scan(&seen, &hour)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, time.Time{}, nil
	}
	if err != nil {
		err = fmt.Errorf("read the position of the statistics: %w", err)
	}
	return seen, hour, err
}

// submissions returns the submission times of the jobs that start or end in a batch and were submitted before it.
func submissions(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) (map[string]time.Time, error) {
	begun := map[string]bool{}
	var ask []string
	for _, rec := range batch {
		switch rec.Type {
		case job.TypeSubmitted:
			begun[rec.Stream] = true
		case job.TypeStarted, job.TypeSucceeded, job.TypeFailed, job.TypeCanceled, job.TypeExpired:
			if !begun[rec.Stream] {
				ask = append(ask, rec.Stream)
			}
		}
	}
	return postgres.Map[string, time.Time](ctx, tx, "read when jobs were submitted",
		`select job, submitted_at from `+open+` where job = any($1)`, ask)
}

const addUp = `insert into ` + Name + ` as s (account, grain, bucket, measure, key, n, total)
	select * from unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
	on conflict (account, grain, bucket, measure, key) do update set n = s.n + excluded.n, total = s.total + excluded.total`

// store writes the counts up to a position. In a new hour it deletes expired buckets.
func (c *counter) store(ctx context.Context, tx pgx.Tx, position int64, before time.Time) error {
	batch := &pgx.Batch{}
	var sums postgres.Columns
	for _, b := range c.order {
		sums.Add(b.account, int16(b.grain), b.at, b.measure, b.key, c.sums[b].n, c.sums[b].total)
	}
	if sums.Rows() > 0 { // an event may count nothing
		batch.Queue(addUp, sums.Args()...)
	}
	var begun postgres.Columns
	for _, id := range c.begun {
		if when, ok := c.submitted[id]; ok { // the job has not ended within the batch
			begun.Add(id, when)
		}
	}
	if begun.Rows() > 0 {
		batch.Queue(`insert into `+open+` (job, submitted_at) select * from unnest($1::text[], $2::timestamptz[]) on conflict do nothing`,
			begun.Args()...)
	}
	if len(c.ended) > 0 {
		batch.Queue(`delete from `+open+` where job = any($1)`, c.ended)
	}
	if c.hour.After(before) {
		batch.Queue(`delete from `+Name+` where grain = $1 and bucket < $2`, Minute, c.hour.Add(-keepMinutes))
		batch.Queue(`delete from `+Name+` where grain = $1 and bucket < $2`, Hour, c.hour.Add(-keepHours))
	}
	batch.Queue(`insert into `+at+` (one, position, hour) values (1, $1, $2)
		on conflict (one) do update set position = excluded.position, hour = excluded.hour`, position, c.hour)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("add up statistics: %w", err)
	}
	return nil
}
