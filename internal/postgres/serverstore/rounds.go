package serverstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// roundLock lets one process at a time place segments.
const roundLock = `select pg_try_advisory_xact_lock(hashtextextended(current_schema() || '/servers', 0))`

// addWait adds a waiting segment. A segment that waits already keeps its position in the queue; its requirements are
// replaced, and its attempt never decreases. The last process that added the wait gets the server. A segment with a
// later lease than the one that the wait replaces is not added: a process that was stopped in a round adds the wait of a lost driver
// late.
const addWait = `insert into comfyui_waits as w (job, run, unit, account, body, since, seen_at)
	select $1, $2, $3, $4, $5::jsonb, $6, now() where not exists (
		select from comfyui_leases where job = $1 and run = $2 and unit = $3 and fence > coalesce(($5::jsonb ->> 'fence')::bigint, 0))
	on conflict (job, run, unit) do update set seen_at = now(),
		body = case when (w.body ->> 'attempt')::int > (excluded.body ->> 'attempt')::int then w.body || jsonb_build_object('holder',
			excluded.body -> 'holder')
			else excluded.body || jsonb_build_object('since', w.body -> 'since') end`

// freeSlot frees the slot of a lease whose prompt has ended. Its server has loaded the models that the prompt named.
const freeSlot = `with vacated as (update comfyui_leases set copying = true
		where job = $1 and run = $2 and unit = $3 and fence = $4 and result is null returning server, models)
	update comfyui_servers s set models = v.models from vacated v where s.id = v.server and v.models <> '{}'`

// Place gives servers to waiting segments by decide, and returns the new leases. decide gets the servers, the waits,
// and the time on servers of each competing account. If another process is placing segments, Place returns false and
// no leases, but records the round's waits.
func (st *Store) Place(ctx context.Context, r server.Round, decide server.Decide) (made []server.Lease, mine bool, err error) {
	var seen picture
	_, err = st.events.Write(ctx, eventstore.Decision{
		What: "place segments",
		Read: func(q *pgx.Batch) {
			queueRound(q, r)
			seen.queue(q)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if !seen.locked || len(seen.waiting) == 0 {
				return nil
			}
			used, err := served(ctx, tx, seen.waiting)
			if err != nil {
				return err
			}
			list := make([]*server.Wait, len(seen.waiting))
			for i := range seen.waiting {
				list[i] = &seen.waiting[i].Wait
			}
			placed, unplaced := decide(withLeases(seen.servers, seen.leases), list, used)
			for _, p := range placed {
				queueLease(c, p, &made)
				if p.Wait.Holder != r.Holder {
					c.Queue(notifyHolder, p.Wait.Holder)
				}
			}
			queueReasons(c, unplaced)
			return nil
		},
	})
	if err != nil {
		return nil, false, err
	}
	return made, seen.locked, nil
}

// queueRound queues the statements that record a process's input to a round.
func queueRound(q *pgx.Batch, r server.Round) {
	for i := range r.Waits {
		w := &r.Waits[i]
		q.Queue(addWait, string(w.Job), w.Run, w.Unit, w.Account, w, w.Since)
	}
	for _, l := range r.Vacated {
		q.Queue(freeSlot, string(l.Job), l.Run, l.Unit, l.Fence)
	}
}

// picture is the data for the decision of a round.
type picture struct {
	locked  bool // no other process is placing segments
	waiting []server.Waiting
	servers []*server.Server
	leases  []server.Lease
}

// queue queues the statements that read the picture, after the lock.
func (p *picture) queue(q *pgx.Batch) {
	postgres.ScanInto(q.Queue(roundLock), &p.locked)
	postgres.CollectInto(q.Queue(selectWaits+`where seen_at > $1 `+arrival, time.Now().Add(-waitFor)), &p.waiting, scanWait)
	postgres.CollectInto(q.Queue(selectServers), &p.servers, scan)
	postgres.CollectInto(q.Queue(selectLeases+countedLeases+leaseOrder), &p.leases, scanLease)
}

// queueLease queues the statement that turns a wait into a lease, unless the segment has left the queue, or a driver has taken its
// last lease over, since the round began.
func queueLease(c *eventstore.Changes, p server.Placement, made *[]server.Lease) {
	w := p.Wait
	c.Queue(`with gone as (delete from comfyui_waits where job = $1 and run = $2 and unit = $3 returning 1)
		insert into comfyui_leases as l (job, run, unit, account, server, attempt, fence, holder, until, since, reason, models)
		select $1, $2, $3, $4, $5, $6, nextval('comfyui_fences'), $7, now() + $8, now(), $9, $10 from gone
		on conflict (job, run, unit) do update set server = excluded.server, attempt = excluded.attempt, fence = excluded.fence,
			holder = excluded.holder,
			until = excluded.until, since = excluded.since, reason = excluded.reason, models = excluded.models, result = null, copying = false
			where l.fence <= $11
		returning `+leaseColumns,
		string(w.Job), w.Run, w.Unit, w.Account, string(p.Server.ID), w.Attempt, w.Holder, LeaseFor, p.Reason,
		append([]string{}, w.Models...), w.Fence).
		Query(func(rows pgx.Rows) error {
			granted, err := pgx.CollectRows(rows, scanLease)
			*made = append(*made, granted...)
			return err
		})
}

// queueReasons queues the statement that records why segments keep waiting.
func queueReasons(c *eventstore.Changes, unplaced []server.Unplaced) {
	if len(unplaced) == 0 {
		return
	}
	var keys []server.Key
	var reasons []string
	var ahead []int
	for _, u := range unplaced {
		keys, reasons, ahead = append(keys, u.Wait.Key), append(reasons, u.Reason), append(ahead, u.Ahead)
	}
	jobs, runs, units := columnsOf(keys)
	c.Queue(`update comfyui_waits w set reason = k.reason, ahead = k.ahead
		from unnest($1::text[], $2::int[], $3::int[], $4::text[], $5::int[]) k(job, run, unit, reason, ahead)
		where w.job = k.job and w.run = k.run and w.unit = k.unit and (w.reason, w.ahead) is distinct from (k.reason, k.ahead)`,
		jobs, runs, units, reasons, ahead)
}

// servedFor bounds the period over which the accounts' time on servers is added up.
const servedFor = 10 * time.Minute

// served returns the time on servers of each account since all accounts that wait now have been waiting. A single
// account does not compete.
func served(ctx context.Context, tx postgres.Queryer, waiting []server.Waiting) (map[string]time.Duration, error) {
	first := map[string]time.Time{}
	for i := range waiting {
		w := &waiting[i]
		if since, ok := first[w.Account]; !ok || w.Since.Before(since) {
			first[w.Account] = w.Since
		}
	}
	if len(first) < 2 {
		return nil, nil
	}
	from := time.Now().Add(-servedFor)
	for _, since := range first {
		if since.After(from) {
			from = since
		}
	}
	rows, err := tx.Query(ctx, `select account, sum(extract(epoch from least(until, now()) - greatest(since, $1)))::float8 from comfyui_leases
		where until > $1 and since < now() group by account`, from)
	if err != nil {
		return nil, err
	}
	out := map[string]time.Duration{}
	var account string
	var seconds float64
	_, err = pgx.ForEachRow(rows, []any{&account, &seconds}, func() error {
		out[account] = time.Duration(seconds * float64(time.Second))
		return nil
	})
	return out, err
}
