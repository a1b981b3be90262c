package jobstore

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
)

const (
	troubleFor = 5 * time.Minute  // how long statements fail and the operator changes the account
	endedBy    = 3 * time.Hour    // by then every job has ended
	fillEvery  = 10 * time.Second // between two looks for queued jobs that could start
)

// errStatement is the failure of a statement. Whether it was carried out is not known.
var errStatement = fault.New(fault.Unavailable, "", "the connection to the database broke")

// entry is a job in the tables of its account.
type entry struct {
	number           int64
	queued, slot     bool
	released, leased bool
	wanted           time.Time // zero = it does not want its slot back
	ended            bool
}

// admissions is the rows of one account, which several processes change by the decisions of the store.
type admissions struct {
	t *testing.T

	mu     sync.Mutex // guards all below
	random *rand.Rand
	faulty bool
	bounds job.Bounds
	gate   gate.Gate
	last   int64
	rows   []*entry
}

// pause waits for a random time; it returns false if ctx ended first.
func (a *admissions) pause(ctx context.Context, least, most time.Duration) bool {
	a.mu.Lock()
	d := seeded.Between(a.random, least, most)
	a.mu.Unlock()
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *admissions) oneIn(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.random.IntN(n) == 0
}

// write carries out a decision as a whole, unless the statement fails, and checks what must hold after it.
func (a *admissions) write(ctx context.Context, decide func()) error {
	a.mu.Lock()
	failed := a.faulty && a.random.IntN(6) == 0
	applied := !failed || a.random.IntN(2) == 0
	slow := a.faulty && a.random.IntN(40) == 0
	a.mu.Unlock()
	most := 4 * time.Millisecond
	if slow {
		most = time.Minute
	}
	if !a.pause(ctx, 0, most) {
		return ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if applied {
		before := a.active()
		decide()
		switch after := a.active(); {
		case after > a.bounds.Slots && after > before:
			a.t.Errorf("%d jobs hold one of %d slots", after, a.bounds.Slots)
		case a.state().released > maxReleased:
			a.t.Errorf("%d jobs wait without a slot", a.state().released)
		case slices.ContainsFunc(a.rows, func(e *entry) bool { return e.leased && e.released }):
			a.t.Error("a job gave its slot back although it runs on a server")
		}
	}
	if failed {
		return errStatement
	}
	return nil
}

// active returns the number of jobs that hold a slot.
func (a *admissions) active() (n int) {
	for _, e := range a.rows {
		if e.slot && !e.released {
			n++
		}
	}
	return n
}

// state returns the row of the account.
func (a *admissions) state() (l admissionState) {
	l.gate, l.number = a.gate, a.last
	for _, e := range a.rows {
		switch {
		case e.queued:
			l.queued++
		case e.slot:
			l.running++
			if e.released && e.wanted.IsZero() {
				l.released++
			}
		}
	}
	return l
}

// slotOf returns what selectSlotState reads.
func (a *admissions) slotOf(of *entry) slotState {
	s := slotState{has: of.slot, released: of.released, wanted: !of.wanted.IsZero(), leased: of.leased, active: a.active()}
	for _, e := range a.rows {
		if e.slot && !e.wanted.IsZero() && (of.wanted.IsZero() || e.wanted.Before(of.wanted)) {
			s.ahead++
		}
	}
	return s
}

// admit gives free slots to the first jobs of the queue.
func (a *admissions) admit() {
	free := a.state().free(a.bounds.Slots)
	waiting := slices.DeleteFunc(slices.Clone(a.rows), func(e *entry) bool { return !e.queued })
	slices.SortFunc(waiting, func(x, y *entry) int { return cmp.Compare(x.number, y.number) })
	if free > 0 && !a.gate.Starts() {
		a.t.Errorf("jobs start although the gate is closed: %+v", a.gate)
	}
	for _, e := range waiting[:max(free, 0)] {
		e.queued, e.slot = false, true
	}
	if l := a.state(); free > 0 && l.used() > int64(a.bounds.Slots) {
		a.t.Errorf("the queue got the slot that a job wants back: %+v of %d slots", l, a.bounds.Slots)
	}
	if l := a.state(); l.free(a.bounds.Slots) > 0 {
		a.t.Errorf("a slot is idle although jobs wait: %+v of %d slots", l, a.bounds.Slots)
	}
}

// submit accepts a job, unless a former attempt has. It reports whether the job is accepted.
func (a *admissions) submit(ctx context.Context, e *entry) (accepted bool, err error) {
	err = a.write(ctx, func() {
		l := a.state()
		if accepted = e.queued || e.slot || e.ended; accepted || l.refusal(a.bounds, 0) != nil {
			return
		}
		admitted := l.admits(a.bounds.Slots)
		if admitted && l.queued > 0 && l.free(a.bounds.Slots) < l.queued {
			a.t.Errorf("a job overtakes the queue: %+v of %d slots", l, a.bounds.Slots)
		}
		if admitted && !a.gate.Starts() {
			a.t.Errorf("a job starts although the gate is closed: %+v", a.gate)
		}
		a.last++
		e.number, e.queued, e.slot, accepted = a.last, !admitted, admitted, true
	})
	return accepted, err
}

// end ends a job, whatever it does, and admits others.
func (a *admissions) end(ctx context.Context, e *entry) error {
	return a.write(ctx, func() {
		e.queued, e.slot, e.released, e.leased, e.wanted, e.ended = false, false, false, false, time.Time{}, true
		a.admit()
	})
}

// release gives the slot of a job to others.
func (a *admissions) release(ctx context.Context, e *entry) error {
	return a.write(ctx, func() {
		defer a.requireGivenBack(e)
		if s := a.slotOf(e); s.gaveBack() || s.keeps(a.state()) {
			return
		}
		e.released, e.wanted = true, time.Time{}
		a.admit()
	})
}

// requireGivenBack checks that a job that gave its slot back does not keep others from it.
func (a *admissions) requireGivenBack(e *entry) {
	if e.released && !e.wanted.IsZero() && a.state().released < maxReleased {
		a.t.Error("a slot stays reserved for a job that gave it back")
	}
}

// take gives a slot to a job again.
func (a *admissions) take(ctx context.Context, e *entry) (taken bool, err error) {
	err = a.write(ctx, func() {
		var changes bool
		switch taken, changes = a.slotOf(e).take(a.bounds); {
		case !changes:
		case taken:
			ahead := a.slotOf(e).ahead
			e.released, e.wanted = false, time.Time{}
			if a.active()+ahead > a.bounds.Slots {
				a.t.Errorf("a job overtakes %d that wanted their slots before it", ahead)
			}
		default:
			e.wanted = time.Now()
		}
	})
	return taken && err == nil, err
}

// is reads a job.
func (a *admissions) is(of func() bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return of()
}

// live is the life of a job: it waits for its slot, runs, waits for servers without a slot, and ends. Its drivers are lost now and
// then. It may be canceled at any time.
func (a *admissions) live(ctx context.Context, e *entry) {
	for accepted := false; !accepted; {
		if !a.pause(ctx, time.Millisecond, time.Minute) {
			return
		}
		accepted, _ = a.submit(ctx, e) // submitted again under its key
	}
	if a.oneIn(5) {
		go func() {
			for a.pause(ctx, time.Millisecond, 5*time.Minute) && a.end(ctx, e) != nil { // canceled
			}
		}()
	}
	for !a.is(func() bool { return e.slot || e.ended }) {
		if !a.pause(ctx, time.Millisecond, time.Second) {
			return
		}
	}
	for range 3 {
		if a.oneIn(2) && a.release(ctx, e) == nil && !a.pause(ctx, time.Millisecond, 2*time.Minute) { // no server is there
			return
		}
		for taken := false; !taken && !a.is(func() bool { return e.ended }); {
			if !a.pause(ctx, time.Millisecond, 2*time.Second) || a.oneIn(20) && !a.pause(ctx, 0, 20*time.Second) { // its driver is lost
				return
			}
			taken, _ = a.take(ctx, e) // asks again
			if a.oneIn(10) && a.release(ctx, e) == nil {
				taken = false // its server is gone again
			}
		}
		a.is(func() bool { e.leased = e.slot && !e.released; return true })
		if a.oneIn(4) {
			_ = a.release(ctx, e) // by a driver that does not know of the lease
		}
		a.pause(ctx, time.Millisecond, 20*time.Second)
		a.is(func() bool { e.leased = false; return true })
	}
	for !a.is(func() bool { return e.ended }) && a.end(ctx, e) != nil {
		if !a.pause(ctx, time.Millisecond, time.Second) {
			return
		}
	}
}

// operate changes the slots and the gate of the account until the trouble is over, and then opens it.
func (a *admissions) operate(ctx context.Context) {
	modes := []gate.Mode{gate.Open, gate.Open, gate.Paused, gate.Draining, gate.Stopped}
	for over := time.Now().Add(troubleFor); time.Now().Before(over) && a.pause(ctx, time.Second, time.Minute); {
		a.is(func() bool {
			a.bounds.Slots, a.gate.Own, a.gate.All = 1+a.random.IntN(4), modes[a.random.IntN(5)], modes[a.random.IntN(5)]
			return true
		})
	}
	a.is(func() bool {
		a.faulty, a.gate = false, gate.Gate{Own: gate.Open, All: gate.Open}
		return true
	})
}

// Processes submit, end, cancel, release and take slots over a database that is slow and fails, while an operator changes the
// account's slots and its gate. Every job ends, no account has more jobs with slots than it may, nobody overtakes the queue, and a
// job that wants its slot back gets it before the queue.
func TestSimulatedAdmission(t *testing.T) {
	t.Parallel()
	seeded.Run(t, func(t *testing.T, random *rand.Rand) {
		ctx, stop := context.WithTimeout(t.Context(), endedBy)
		defer stop()
		open := gate.Gate{Own: gate.Open, All: gate.Open}
		bounds, jobs := job.Bounds{Slots: 1 + random.IntN(4), QueueDepth: 1 + random.IntN(8)}, 1+random.IntN(16)
		if random.IntN(20) == 0 { // as many as may wait without a slot, and more
			bounds.QueueDepth, jobs = 2*maxReleased, maxReleased+random.IntN(maxReleased)
		}
		a := &admissions{t: t, random: random, faulty: true, gate: open, bounds: bounds}
		for range jobs {
			a.rows = append(a.rows, &entry{})
		}
		var lives, others sync.WaitGroup
		others.Go(func() { a.operate(ctx) })
		others.Go(func() { // as the sweeper of opened queues does
			for a.pause(ctx, fillEvery, fillEvery) {
				_ = a.write(ctx, a.admit) // the next time will do
			}
		})
		for _, e := range a.rows {
			lives.Go(func() { a.live(ctx, e) })
		}
		lives.Wait()
		for n, e := range a.rows {
			if !e.ended {
				t.Errorf("job %d has not ended: %+v, %+v of %d slots", n, *e, a.state(), a.bounds.Slots)
			}
		}
		stop()
		others.Wait()
		synctest.Wait()
	})
}
