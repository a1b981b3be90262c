package app

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections"
)

// openMetrics builds the metrics of this process. What is folded from the log is told by the projectors
// alone: several of them tell the same.
func (in *Instance) openMetrics(ctx context.Context, group *errgroup.Group) *metrics.Metrics {
	m := metrics.New()
	m.Read(standSource{in}, in.log)
	m.Gauge("millrace_watching_accounts", "Accounts with a WebSocket or an event stream open on this process.", func() float64 {
		return float64(len(in.hub.Accounts()))
	})
	m.Gauge("millrace_watchers", "WebSockets and event streams that are open on this process.", func() float64 {
		open := 0
		for _, id := range in.hub.Accounts() {
			open += in.hub.Watched(id)
		}
		return float64(open)
	})
	in.tellWebhooks(m)
	if in.has(Projector) {
		group.Go(func() error {
			return in.follow(ctx, func(events []eventlog.Recorded) { m.See(events, in.events.Decode) })
		})
	}
	return m
}

// standSource reads what metrics tell of the database.
type standSource struct{ in *Instance }

// mostDepths bounds the accounts that one query returns: those with series of their own and many to sum up.
const mostDepths = 5000

// Stand implements metrics.Source.
func (s standSource) Stand(ctx context.Context) (metrics.Stand, error) {
	st := metrics.Stand{Lags: map[string]int64{}, Halted: map[string]int64{}}
	err := s.in.pool.QueryRow(ctx, `select (select coalesce(max(position), 0) from events), (select count(*) from outbox),
		(select coalesce(sum(size), 0)::bigint from files),
		(select coalesce(sum(size), 0)::bigint from (select max(size) as size from files group by hash) b)`).Scan(&st.Head, &st.Outbox, &st.Bytes, &st.Blobs)
	if err != nil {
		return st, postgres.Classify(err, "read the stand")
	}
	if st.Depths, err = s.depths(ctx); err != nil {
		return st, err
	}
	if err := s.kept(ctx, &st); err != nil {
		return st, err
	}
	all, err := views.Followers("")
	if err != nil {
		return st, err
	}
	for _, p := range all {
		position, err := projections.Position(ctx, s.in.pool, p.Name())
		if err != nil {
			return st, err
		}
		st.Lags[p.Name()], st.Halted[p.Name()] = max(0, st.Head-position), 0
	}
	told, err := webhookstore.New(s.in.pool, s.in.events).State(ctx)
	if err != nil {
		return st, err
	}
	st.Webhooks = metrics.Webhooks{Pending: told.Pending, Dead: told.Dead, Disabled: told.Disabled, Oldest: told.Oldest}
	halted, err := projections.ListHalted(ctx, s.in.pool, "")
	for _, h := range halted {
		st.Halted[h.Projection]++
	}
	return st, err
}

// mostKeepers bounds the accounts whose storage has series of their own.
const mostKeepers = 20

func (s standSource) kept(ctx context.Context, st *metrics.Stand) error {
	largest, rest, full, err := s.in.storage.Largest(ctx, mostKeepers)
	if err != nil {
		return err
	}
	for _, a := range largest {
		st.Kept = append(st.Kept, metrics.Kept(a))
	}
	st.Kept, st.Full = append(st.Kept, metrics.Kept{Account: "other", Bytes: rest}), full
	return nil
}

// depths lists accounts with jobs, the deepest queues first. The age is that of the first fact of the job
// that came first.
func (s standSource) depths(ctx context.Context) ([]metrics.Depth, error) {
	rows, err := s.in.pool.Query(ctx, `select l.account, coalesce(a.tier, $2), l.queued, l.running,
			coalesce(extract(epoch from clock_timestamp() - (select e.recorded_at from events e where e.version = 1 and e.stream = 'job-' ||
				(select q.job_id from job_queue q where q.account = l.account order by q.seq limit 1))), 0)::float8
		from job_lanes l left join accounts a on a.id = l.account where l.account <> '*' and (l.queued > 0 or l.running > 0)
		order by l.queued desc, l.running desc, l.account limit $1`, mostDepths, string(account.TierLocal))
	if err != nil {
		return nil, postgres.Classify(err, "read the depths of queues")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (metrics.Depth, error) {
		var d metrics.Depth
		var age float64
		err := row.Scan(&d.Account, &d.Tier, &d.Queued, &d.Running, &age)
		d.Oldest = time.Duration(max(0, age) * float64(time.Second))
		return d, err
	})
	return found, postgres.Classify(err, "read the depths of queues")
}
