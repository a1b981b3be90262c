package jobstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// maxReleased bounds the jobs of an account that wait for ComfyUI servers without a slot: each takes a part of a worker. Further
// ones keep their slots.
const maxReleased = 64

// slotState is what the slot of a job and the others of its account are like.
type slotState struct {
	has      bool // the job has not ended
	released bool
	wanted   bool // the job wants its slot back
	leased   bool // a segment of the job has a server
	active   int  // jobs of the account that hold a slot
	ahead    int  // jobs of the account that wanted theirs back before this one
}

// free reports whether the job may take a slot of its account again.
func (s slotState) free(b job.Bounds) bool { return s.active+s.ahead < b.Slots }

// gaveBack reports whether the job has given its slot back and does not want it again.
func (s slotState) gaveBack() bool { return s.released && !s.wanted }

// keeps reports whether the job must keep its slot: something of it runs, or too many others wait without one.
func (s slotState) keeps(l admissionState) bool {
	return !s.has || s.leased || l.released >= maxReleased
}

// take reports whether the job has a slot after it asked for one, and whether that changes its row.
func (s slotState) take(b job.Bounds) (taken, changes bool) {
	taken = !s.released || s.free(b)
	return taken, s.released && (taken || !s.wanted)
}

const selectSlotState = `select s.released_at is not null, s.wanted_at is not null,
		exists (select from comfyui_leases l where l.job = s.job_id::text and l.run = s.run and l.result is null),
		(select count(*) from job_slots o where o.account = s.account and o.released_at is null),
		(select count(*) from job_slots o where o.account = s.account and o.wanted_at < coalesce(s.wanted_at, 'infinity'))
	from job_slots s where s.job_id = $1 and s.run = $2`

// scan reads the row of selectSlotState, if there is one.
func (s *slotState) scan(rows pgx.Rows) error {
	*s = slotState{}
	for rows.Next() {
		s.has = true
		if err := rows.Scan(&s.released, &s.wanted, &s.leased, &s.active, &s.ahead); err != nil {
			return err
		}
	}
	return rows.Err()
}

// queueSlotState queues the statements that lock the account of a job and read the state of its slot.
func queueSlotState(q *pgx.Batch, ref job.RunRef, l *admissionState, s *slotState) {
	queueLockAdmission(q, ref.Account, 0, l)
	q.Queue(selectSlotState, ref.Job, ref.Run).Query(s.scan)
}

// ReleaseSlot gives the slot of a job that waits for a ComfyUI server to waiting jobs of its account. version is that of the job's
// stream that the caller has read. It reports false if the job keeps its slot: something of it runs, or too many jobs of the account
// wait in this way.
func (s *Store) ReleaseSlot(ctx context.Context, ref job.RunRef, version int64, bounds job.Bounds) (released bool, err error) {
	var state admissionState
	var slot slotState
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "release the slot of job " + string(ref.Job),
		Read: func(q *pgx.Batch) { queueSlotState(q, ref, &state, &slot) },
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if released = slot.gaveBack(); released || slot.keeps(state) {
				return eventstore.ErrNothing
			}
			released = true
			c.Queue(`update job_slots set released_at = now(), wanted_at = null where job_id = $1`, ref.Job)
			c.Queue(`update job_admissions set released = released + 1 where account = $1`, ref.Account)
			if err := c.Append(slotEvent(ref, version, job.TypeSlotReleased, job.SlotReleasedV1{Run: ref.Run})); err != nil {
				return err
			}
			state.released++
			_, err := s.slots.Admit(ctx, tx, c, ref.Account, state.free(bounds.Slots), fits)
			return err
		},
	})
	if eventlog.IsRefused(err) {
		return false, nil
	}
	return released && err == nil, err
}

// TakeSlot gives a job a slot of its account again, before the jobs in the queue. If none is free, it reports false and records
// wait with the lack of a slot added to its reason; the caller asks again. A job that has a slot keeps it.
func (s *Store) TakeSlot(ctx context.Context, ref job.RunRef, bounds job.Bounds, wait job.SegmentWaitingV1) (taken bool, err error) {
	var slot slotState
	rows, err := s.pool.Query(ctx, selectSlotState, ref.Job, ref.Run)
	if err == nil {
		err = slot.scan(rows)
		rows.Close()
	}
	if err != nil {
		return false, postgres.Classify(err, "read the slot of job "+string(ref.Job))
	}
	if taken, changes := slot.take(bounds); !changes {
		return taken, nil
	}
	var state admissionState
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "take a slot for job " + string(ref.Job),
		Read: func(q *pgx.Batch) { queueSlotState(q, ref, &state, &slot) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			var changes bool
			if taken, changes = slot.take(bounds); !changes {
				return eventstore.ErrNothing
			}
			if !slot.wanted {
				c.Queue(`update job_admissions set released = released - 1 where account = $1`, ref.Account)
			}
			if taken {
				c.Queue(`update job_slots set released_at = null, wanted_at = null where job_id = $1`, ref.Job)
				return c.Append(slotEvent(ref, eventlog.AnyVersion, job.TypeSlotTaken, job.SlotTakenV1{Run: ref.Run}))
			}
			c.Queue(`update job_slots set wanted_at = clock_timestamp() where job_id = $1`, ref.Job)
			wait.Slot, wait.Reason = true, fmt.Sprintf("%s; the account's %d slots are in use", wait.Reason, bounds.Slots)
			return c.Append(slotEvent(ref, eventlog.AnyVersion, job.TypeSegmentWaiting, wait))
		},
	})
	return taken && err == nil, err
}

func slotEvent(ref job.RunRef, expected int64, eventType string, data any) eventlog.Append {
	return eventlog.Append{
		Stream: ref.Job.Stream(), Account: ref.Account, Expected: expected, Meta: eventlog.Meta{Actor: "admission"},
		Events: []eventlog.Event{eventlog.NewEvent(eventType, data)},
	}
}
