package callstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// window is an account's count of a rate limit, which is locked until the transaction ends.
type window struct {
	length        time.Duration
	used, seconds int // calls in the current period, and the rest of it
	counted       int // calls of this transaction
}

// read queues the statement that counts calls against the rate limit, and reads the count.
func (w *window) read(queue func(string, ...any) *pgx.QueuedQuery, account, name string, calls int) {
	postgres.ScanInto(queue(`insert into call_windows as c (account, name, started, used)
		values ($1, $2, date_bin($3::interval, now(), 'epoch'), $4::integer)
		on conflict (account, name) do update set started = excluded.started,
			used = case when c.started = excluded.started then c.used else 0 end + $4::integer
		returning used, ceil(extract(epoch from started + $3::interval - now()))::int`, account, name, w.length, calls), &w.used, &w.seconds)
}

// refusal returns the refusal of one more call, or nil if the limit allows it.
func (w *window) refusal(limit call.Window) error {
	if w.used+w.counted < limit.Calls {
		return nil
	}
	r := call.Refuse(fault.Exhausted, call.RateLimited, "the account has reached its rate limit of %d calls per %s", limit.Calls, limit.Name)
	r.RetryAfter = max(1, w.seconds)
	return r
}

// Count implements call.Store.
func (s *Store) Count(ctx context.Context, account string, windows []call.Window) error {
	counts := make([]window, len(windows))
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "count a poll",
		Read: func(q *pgx.Batch) {
			for i, limit := range windows {
				counts[i].length = limit.Length
				counts[i].read(q.Queue, account, limit.Name, 1)
			}
		},
		Decide: func(context.Context, postgres.Tx, *eventstore.Changes) error {
			for i, limit := range windows {
				counts[i].used-- // without this poll
				if err := counts[i].refusal(limit); err != nil {
					return err // which rolls its count back
				}
			}
			return nil
		},
	})
	return classifyAccept(err)
}
