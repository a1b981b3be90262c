package serverstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

const (
	// LeaseFor is how long a lease lasts without a renewal: two drivers may be lost in a row before another segment
	// gets the slot.
	LeaseFor = 30 * time.Second
	// waitFor is how long a wait counts that its driver no longer renews.
	waitFor = 30 * time.Second
)

// KeepWaiting renews the waits of a process, and returns those that are still in the queue. Each is the process's again: a process
// that was stopped in a round may have added the wait of a lost driver late.
func (st *Store) KeepWaiting(ctx context.Context, holder string, keys []server.Key) ([]server.Key, error) {
	jobs, runs, units := columnsOf(keys)
	return postgres.Collect(ctx, st.pool, "keep waiting for servers", pgx.RowToStructByPos[server.Key],
		`update comfyui_waits w set seen_at = now(), body = w.body || jsonb_build_object('holder', $4::text)
		from unnest($1::text[], $2::int[], $3::int[]) k(job, run, unit)
		where w.job = k.job and w.run = k.run and w.unit = k.unit returning w.job, w.run, w.unit`, jobs, runs, units, holder)
}

// WhyWaiting returns the reason why a segment waits, and the number of segments before it. The reason is empty if it
// does not wait.
func (st *Store) WhyWaiting(ctx context.Context, k server.Key) (reason string, ahead int, err error) {
	_, err = postgres.Find(ctx, st.pool, "read why a segment waits", []any{&reason, &ahead},
		`select reason, ahead from comfyui_waits where job = $1 and run = $2 and unit = $3`, string(k.Job), k.Run, k.Unit)
	return reason, ahead, err
}

// StopWaiting ends a wait, or the lease into which it was turned for the same attempt and holder.
func (st *Store) StopWaiting(ctx context.Context, w server.Wait) error {
	_, err := st.pool.Exec(ctx, `with gone as (delete from comfyui_waits where job = $1 and run = $2 and unit = $3)
		delete from comfyui_leases where job = $1 and run = $2 and unit = $3 and attempt = $4 and holder = $5 and result is null`,
		string(w.Job), w.Run, w.Unit, w.Attempt, w.Holder)
	return postgres.Classify(err, "stop waiting for a server")
}

func columnsOf(keys []server.Key) (jobs []string, runs, units []int) {
	for _, k := range keys {
		jobs, runs, units = append(jobs, string(k.Job)), append(runs, k.Run), append(units, k.Unit)
	}
	return jobs, runs, units
}

// Waits returns the waiting segments, in order of arrival.
func (st *Store) Waits(ctx context.Context) ([]server.Waiting, error) {
	return st.waits(ctx, "read the segments that wait for servers", arrival)
}

// WaitsOf returns the waiting segments of some jobs, in the order in which they will be placed.
func (st *Store) WaitsOf(ctx context.Context, ids []job.ID) ([]server.Waiting, error) {
	return st.waits(ctx, "read why jobs wait for servers", `where job = any($1) and reason <> '' order by ahead, since, unit`, ids)
}

// arrival orders waiting segments by their arrival.
const arrival = `order by since, job, unit`

func (st *Store) waits(ctx context.Context, what, where string, args ...any) ([]server.Waiting, error) {
	return postgres.Collect(ctx, st.pool, what, scanWait, selectWaits+where, args...)
}

const selectWaits = `select body, reason, ahead from comfyui_waits `

func scanWait(row pgx.CollectableRow) (w server.Waiting, err error) {
	err = row.Scan(&w.Wait, &w.Reason, &w.Ahead)
	return w, err
}

// Retake takes over the lease of a segment from any holder, under a higher fence, and ends the wait for the attempt after it, in
// which a lost driver may have left the queue. NotFound means that the segment was not placed yet, or that its server was removed.
// Time without a holder does not count as the lease's time.
func (st *Store) Retake(ctx context.Context, k server.Key, holder string) (server.Lease, error) {
	l, ok, err := postgres.One(ctx, st.pool, "take a lease over", scanLease, `with taken as (
			update comfyui_leases set fence = nextval('comfyui_fences'), holder = $4,
			until = now() + $5, copying = false, since = since + greatest(now() - until, interval '0')
			where job = $1 and run = $2 and unit = $3 returning *),
		gone as (delete from comfyui_waits where job = $1 and run = $2 and unit = $3 and exists (select from taken))
		select `+leaseColumns+` from taken`, string(k.Job), k.Run, k.Unit, holder, LeaseFor)
	if err == nil && !ok {
		err = fault.Wrap(pgx.ErrNoRows, fault.NotFound, "", "the segment has no lease")
	}
	return l, err
}

// Renew renews a lease. It returns false if another process has taken it over.
func (st *Store) Renew(ctx context.Context, l server.Lease) (bool, error) {
	done, err := st.pool.Exec(ctx, `update comfyui_leases set until = now() + $5 where job = $1 and run = $2 and unit = $3 and fence = $4`,
		string(l.Job), l.Run, l.Unit, l.Fence, LeaseFor)
	return done.RowsAffected() > 0, postgres.Classify(err, "renew a lease")
}

// Record appends events of a segment in one transaction with a check that l is still the segment's lease. With a
// result it also ends the lease, and records that the server has loaded the models that the prompt named. If another
// driver has taken over the lease, or its server was removed, Record fails with Conflict, fault.CodeSegmentLeaseLost,
// and records nothing. Without events, it records only the result. If some events were recorded before, Record with a
// result fails with ErrDuplicate.
func (st *Store) Record(ctx context.Context, l server.Lease, events eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error) {
	mine, known := false, 0
	ids := make([]uuid.UUID, len(events.Events))
	for i, e := range events.Events {
		ids[i] = e.ID
	}
	written, err := st.events.Write(ctx, eventstore.Decision{
		What: "record a segment", Repeats: true,
		Read: func(q *pgx.Batch) {
			queueFence(q, l, result, &mine)
			if result != nil {
				postgres.ScanInto(q.Queue(`select count(*) from events where id = any($1)`, ids), &known)
			}
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			switch {
			case !mine:
				return ErrLeaseLost
			case known > 0 && known < len(ids): // no driver would record the rest after the result
				return eventlog.Refuse(eventlog.ErrDuplicate, events, 0)
			case len(ids) == 0:
				return nil
			}
			return c.Append(events)
		},
	})
	return written.Events, err
}

// ErrLeaseLost refuses changes under a lease that another driver has taken over, or whose server was removed.
var ErrLeaseLost = fault.New(fault.Conflict, fault.CodeSegmentLeaseLost, "another driver has taken the segment over")

// QueueEnd queues the statement that ends the lease of the segment with which a run ends. mine reports whether its
// driver still has the lease.
func QueueEnd(q *pgx.Batch, e job.Ending, mine *bool) {
	l := server.Lease{Key: server.Key{Job: e.ID, Run: e.Run, Unit: e.Lease.Segment}, Fence: e.Lease.Fence}
	queueFence(q, l, e.Lease.Result, mine)
}

// queueFence queues the statement that locks a lease, and ends it if there is a result. mine reports whether l is
// still the lease.
func queueFence(q *pgx.Batch, l server.Lease, result json.RawMessage, mine *bool) {
	if result == nil {
		postgres.FindInto(q.Queue(`select from comfyui_leases where job = $1 and run = $2 and unit = $3 and fence = $4 for share`,
			string(l.Job), l.Run, l.Unit, l.Fence), mine)
		return
	}
	postgres.FindInto(q.Queue(`with ended as (update comfyui_leases set result = $5, until = now()
		where job = $1 and run = $2 and unit = $3 and fence = $4
		returning server, models),
		loaded as (update comfyui_servers s set models = e.models from ended e where s.id = e.server and e.models <> '{}')
		select from ended`, string(l.Job), l.Run, l.Unit, l.Fence, result), mine)
}

const dropLease = `delete from comfyui_leases where job = $1 and run = $2 and unit = $3 and fence = $4`

// Drop ends a lease whose prompt has ended without a result.
func (st *Store) Drop(ctx context.Context, l server.Lease) error {
	_, err := st.pool.Exec(ctx, dropLease, string(l.Job), l.Run, l.Unit, l.Fence)
	return postgres.Classify(err, "drop a lease")
}

// OfSegments returns the existing leases of segments.
func (st *Store) OfSegments(ctx context.Context, keys []server.Key) ([]server.Lease, error) {
	jobs, runs, units := columnsOf(keys)
	return st.leases(ctx, "read leases", `where (job, run, unit) in (select * from unnest($1::text[], $2::int[], $3::int[]))`,
		jobs, runs, units)
}

// Sweep deletes expired leases and waits.
func (st *Store) Sweep(ctx context.Context, age time.Duration) error {
	_, err := st.pool.Exec(ctx, `with a as (delete from comfyui_leases where until < now() - $1::interval)
		delete from comfyui_waits where seen_at < now() - $1::interval`, age)
	return postgres.Classify(err, "sweep leases")
}

// Orphan records that the prompt of a lease may still run although nobody waits for it. Its server gets no segments until the
// prompt has ended.
func (st *Store) Orphan(ctx context.Context, l server.Lease) error {
	_, err := st.pool.Exec(ctx, `insert into comfyui_orphans (server, prompt, made_at)
		select id, $2, now() from comfyui_servers where id = $1 on conflict do nothing`, string(l.Server), l.Prompt(l.Attempt).String())
	return postgres.Classify(err, "record a prompt that must be canceled")
}

// GiveUpRun gives up the leases without a result of an ended run, and returns their servers.
func (st *Store) GiveUpRun(ctx context.Context, ref job.RunRef) ([]server.ID, error) {
	open, err := st.leases(ctx, "read the leases of a run", `where job = $1 and run = $2 and result is null`, string(ref.Job), ref.Run)
	if err != nil {
		return nil, err
	}
	var servers []server.ID
	for _, l := range open {
		if err := errors.Join(st.Orphan(ctx, l), st.Drop(ctx, l)); err != nil {
			return servers, err
		}
		servers = append(servers, l.Server)
	}
	return servers, nil
}

// Orphans returns the prompts that must be cancelled on a server.
func (st *Store) Orphans(ctx context.Context, id server.ID) ([]string, error) {
	return postgres.Collect(ctx, st.pool, "read given-up prompts", pgx.RowTo[string],
		`select prompt from comfyui_orphans where server = $1`, string(id))
}

// ForgetOrphan deletes an orphaned prompt that was canceled.
func (st *Store) ForgetOrphan(ctx context.Context, id server.ID, prompt string) error {
	_, err := st.pool.Exec(ctx, `delete from comfyui_orphans where server = $1 and prompt = $2`, string(id), prompt)
	return postgres.Classify(err, "forget a given-up prompt")
}

// Loaded records how long loading models took on a server.
func (st *Store) Loaded(ctx context.Context, id server.ID, models []string, took time.Duration) error {
	_, err := st.pool.Exec(ctx, `insert into comfyui_loads (server, model, millis, measured)
		select s.id, m, $3, now() from comfyui_servers s, unnest($2::text[]) m where s.id = $1
		on conflict (server, model) do update set millis = excluded.millis, measured = excluded.measured`, string(id), models,
		took.Milliseconds())
	return postgres.Classify(err, "record how long loading took")
}

// Loads returns how long loading took, by server and model.
func (st *Store) Loads(ctx context.Context) (map[server.ID]map[string]time.Duration, error) {
	out := map[server.ID]map[string]time.Duration{}
	err := postgres.Each(ctx, st.pool, "read how long loading took", func(row pgx.CollectableRow) error {
		var id server.ID
		var model string
		var millis int64
		err := row.Scan(&id, &model, &millis)
		if out[id] == nil {
			out[id] = map[string]time.Duration{}
		}
		out[id][model] = time.Duration(millis) * time.Millisecond
		return err
	}, `select server::text, model, millis from comfyui_loads`)
	return out, err
}
