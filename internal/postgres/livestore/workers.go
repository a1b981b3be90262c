package livestore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// The interval of the heartbeats of a worker process, and the maximum age of the last one: a killed process is
// detected within ten seconds, and a single lost heartbeat has no effect.
const (
	heartbeatEvery = 4 * time.Second
	heartbeatValid = 10 * time.Second
)

// leaveTimeout bounds the time in which a stopping process removes itself from the list.
const leaveTimeout = 2 * time.Second

// Rules are settings of a worker process that commands elsewhere need for their checks.
type Rules struct {
	WebhookAllow []string `json:"webhook_allow"` // host:port pairs allowed although they are not public or not https
	Absent       []string `json:"absent"`        // native node classes that the worker cannot run, because a program is missing
	Address      string   `json:"address"`       // of the API, if the process serves it; "" = another process does
	Machines     int      `json:"machines"`      // that the worker can run for pools of the kind process
}

// Workers lists the processes that run workflows and activities.
type Workers struct{ pool *pgxpool.Pool }

// NewWorkers returns the list on pool.
func NewWorkers(pool *pgxpool.Pool) *Workers { return &Workers{pool: pool} }

// Run keeps a process on the list until ctx ends, and then removes it at once, even if it still finishes work. An
// error of a heartbeat is logged; the next one follows.
func (w *Workers) Run(ctx context.Context, id string, rules Rules, log *slog.Logger) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		if err := w.announce(ctx, id, rules); err != nil && ctx.Err() == nil {
			log.Warn("heartbeat of this worker not recorded", "error", err)
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := w.pool.Exec(ctx, `delete from workers where id = $1`, id); err != nil {
		log.Warn("this worker not removed from the list; its last heartbeat expires", "error", err)
	}
}

func (w *Workers) announce(ctx context.Context, id string, rules Rules) error {
	_, err := w.pool.Exec(ctx, `with gone as (delete from workers where heartbeat < now() - interval '1 hour')
		insert into workers (id, heartbeat, rules) values ($1, now(), $2)
		on conflict (id) do update set heartbeat = excluded.heartbeat, rules = excluded.rules`, id, rules)
	return postgres.Classify(err, "announce worker "+id)
}

// Rules returns the common rules of all workers with a recent heartbeat: the addresses that all of them allow, the
// classes that any of them cannot run, and the machines of all of them. ok is false without such a worker, or if none has
// a version with rules.
func (w *Workers) Rules(ctx context.Context) (agreed Rules, ok bool, err error) {
	all, err := postgres.Collect(ctx, w.pool, "read the rules of workers", pgx.RowTo[Rules], `select rules from workers
		where rules is not null and heartbeat > now() - make_interval(secs => $1)`, heartbeatValid.Seconds())
	if err != nil {
		return Rules{}, false, err
	}
	for i, r := range all {
		if i == 0 {
			agreed = r
			continue
		}
		agreed.WebhookAllow = slices.DeleteFunc(agreed.WebhookAllow, func(a string) bool { return !slices.Contains(r.WebhookAllow, a) })
		agreed.Address = cmp.Or(agreed.Address, r.Address)
		agreed.Machines += r.Machines
		agreed.Absent = slices.Compact(slices.Sorted(slices.Values(slices.Concat(agreed.Absent, r.Absent))))
	}
	return agreed, len(all) > 0, nil
}

// Workforce counts the workers and the jobs that wait for them.
type Workforce struct {
	Workers int           // processes with a recent heartbeat
	Waiting int           // jobs with a slot that no worker has started
	Oldest  time.Duration // longest wait of these jobs; 0 if there are none
}

// String returns a text such as "3 admitted jobs, no worker".
func (f Workforce) String() string {
	jobs, workers := fmt.Sprintf("%d admitted jobs wait", f.Waiting), fmt.Sprintf("%d workers", f.Workers)
	switch {
	case f.Workers == 0 && f.Waiting == 1:
		return "1 admitted job, no worker"
	case f.Workers == 0:
		return fmt.Sprintf("%d admitted jobs, no worker", f.Waiting)
	case f.Workers == 1:
		workers = "1 worker"
	}
	return workers + ", " + jobs
}

// Workforce counts workers and waiting jobs. It reads the last event of every job with a slot.
func (w *Workers) Workforce(ctx context.Context) (Workforce, error) {
	var f Workforce
	var seconds float64
	err := w.pool.QueryRow(ctx, `select (select count(*) from workers where heartbeat > now() - make_interval(secs => $1)),
			count(*), coalesce(extract(epoch from max(clock_timestamp() - s.admitted_at)), 0)::float8
		from job_slots s
		where (select e.type from events e where e.stream = 'job-' || s.job_id order by e.version desc limit 1) = 'job.admitted.v1'`,
		heartbeatValid.Seconds()).Scan(&f.Workers, &f.Waiting, &seconds)
	f.Oldest = time.Duration(max(0, seconds) * float64(time.Second))
	return f, postgres.Classify(err, "count workers")
}
