package eventstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// SettledHead returns the highest position of the log, after all transactions that were appending when it was called
// have ended. No event is added later at or below that position.
func SettledHead(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	end, err := settledEnd(ctx, pool, TailerOptions{}.withDefaults())
	return end.Position, err
}

// commitSlack bounds how far times may decrease along the log: a writer waits between taking its position and its
// time no longer than its transaction may stay idle (15 s).
const commitSlack = time.Minute

// PositionAt returns a position before which no event was recorded after at. It bisects the log by its primary key,
// so that a listing of the last hour reads no older events.
func PositionAt(ctx context.Context, pool *pgxpool.Pool, at time.Time) (int64, error) {
	var low, high int64
	if err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&high); err != nil {
		return 0, postgres.Classify(err, "read the head of the log")
	}
	if at.Unix() <= 0 {
		return 0, nil
	}
	for at = at.Add(-commitSlack); low < high; {
		middle := low + (high-low)/2
		var position int64
		var recorded time.Time
		err := pool.QueryRow(ctx, `select position, recorded_at from events where position > $1 order by position limit 1`,
			middle).Scan(&position, &recorded)
		if err != nil {
			return 0, postgres.Classify(err, "look for a time in the log")
		}
		if recorded.Before(at) {
			low = position
		} else {
			high = middle
		}
	}
	return low, nil
}

// TypeCount is the number of events of a type and the time of the latest.
type TypeCount struct {
	Count int64
	Last  time.Time
}

// CountTypes counts the events by type among the newest most positions, or all of them for 0. It reads the log in
// pages, newest first. low is the lowest counted position; complete reports that there is none below it.
func CountTypes(ctx context.Context, pool *pgxpool.Pool, most int64) (counts map[string]TypeCount, low int64, complete bool, err error) {
	s := search{LogSearch: LogSearch{}, pool: pool}
	if err := s.bounds(ctx); err != nil {
		return nil, 0, false, err
	}
	counts, low = map[string]TypeCount{}, s.high+1
	for looked := int64(0); low > s.low && (most == 0 || looked < most); looked += searchPage {
		from, to := s.page(looked)
		if most > 0 {
			from = max(from, s.high-most+1)
		}
		if err := s.count(ctx, from, to, counts); err != nil {
			return nil, 0, false, err
		}
		low = from
	}
	return counts, low, low <= s.low, nil
}

func (s search) count(ctx context.Context, from, to int64, into map[string]TypeCount) error {
	return postgres.Each(ctx, s.pool, "count events", func(row pgx.CollectableRow) error {
		var name string
		var n int64
		var last time.Time
		err := row.Scan(&name, &n, &last)
		c := into[name]
		c.Count += n
		if last.After(c.Last) {
			c.Last = last.UTC()
		}
		into[name] = c
		return err
	}, `select type, count(*), max(recorded_at) from events where position between $1 and $2 group by type`, from, to)
}

// EventAt returns the event at a position, or NotFound.
func EventAt(ctx context.Context, db postgres.Queryer, position int64) (eventlog.Recorded, error) {
	return oneEvent(ctx, db, `position = $1`, position)
}

// EventByID returns the event with an id, or NotFound.
func EventByID(ctx context.Context, db postgres.Queryer, id string) (eventlog.Recorded, error) {
	return oneEvent(ctx, db, `id = $1`, id)
}

func oneEvent(ctx context.Context, db postgres.Queryer, where string, key any) (eventlog.Recorded, error) {
	rec, ok, err := postgres.One(ctx, db, "read an event", ScanRecorded, SelectEvents+` where `+where, key)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, fault.CodeEventNotFound, "the log has no such event")
	}
	return rec, err
}
