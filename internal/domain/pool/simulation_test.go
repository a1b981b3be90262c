package pool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
)

// segment is a segment that arrives.
type segment struct {
	arrives, began, ends time.Time
	work                 time.Duration
	on                   string
}

// box is a machine that exists in the simulated world.
type box struct {
	id      string
	joins   time.Time
	dies    time.Time // zero = never
	from    time.Time
	drained bool
	used    time.Time
	runs    *segment
}

// world is one simulated day of a pool.
type world struct {
	t       *testing.T
	random  *rand.Rand
	spec    pool.Terms
	state   pool.State
	boxes   map[string]*box
	starts  map[string]time.Time // start commands that run, and when they end
	stops   map[string]time.Time
	waiting []*segment
	ended   []*segment
	work    time.Duration // of a segment: a moving average
	now     time.Time
	faults  bool
	boot    time.Duration
	used    time.Duration // of machines
	strays  int
}

// day draws the arrivals of a day for up to so many machines: quiet hours, and busy ones in which segments come in bursts or steadily, or
// that many times more rarely.
func day(random *rand.Rand, begin time.Time, most, rarer int) (all []*segment) {
	at := begin.Add(seeded.Between(random, 0, 8*time.Hour))
	usual := seeded.Between(random, 5*time.Second, 40*time.Second)
	for at.Before(begin.Add(20 * time.Hour)) {
		until := at.Add(seeded.Between(random, 20*time.Minute, 3*time.Hour))
		pace := seeded.Between(random, 2*usual, 4*usual) * time.Duration(rarer) / time.Duration(most) // 1: half to all machines are needed
		for ; at.Before(until); at = at.Add(time.Duration(random.ExpFloat64() * float64(pace))) {
			for range 1 + random.IntN(2)*random.IntN(4) {
				all = append(all, &segment{arrives: at, work: usual/2 + time.Duration(random.ExpFloat64()*float64(usual)/2)})
			}
		}
		at = until.Add(seeded.Between(random, time.Minute, 5*time.Hour))
	}
	return all
}

// poll is the time between two decisions.
const poll = time.Second

// run simulates until all segments have ended and no machine is left.
func (w *world) run(arrivals []*segment) {
	last := arrivals[len(arrivals)-1].arrives
	for quiet := 0; quiet < 3; w.now = w.now.Add(poll) {
		for len(arrivals) > 0 && !arrivals[0].arrives.After(w.now) {
			w.waiting, arrivals = append(w.waiting, arrivals[0]), arrivals[1:]
		}
		w.move()
		w.place()
		w.decide()
		if len(w.boxes)+len(w.state.Machines)+len(w.waiting) > 0 {
			quiet = 0
		} else if len(arrivals) > 0 {
			w.now = arrivals[0].arrives.Truncate(poll)
		} else {
			quiet++
		}
		if w.now.After(last.Add(24 * time.Hour)) {
			require.Fail(w.t, "the pool does not come to an end", "%+v", w.state)
		}
	}
}

// move carries on what happens by itself: commands end, machines die, segments end.
func (w *world) move() {
	for _, id := range ordered(w.boxes) {
		b := w.boxes[id]
		if !b.dies.IsZero() && b.dies.Before(w.now) { // preempted: its segment waits again
			if b.runs != nil {
				b.runs.began, b.runs.on = time.Time{}, ""
				w.waiting = append([]*segment{b.runs}, w.waiting...)
			}
			w.remove(id)
			continue
		}
		if b.runs != nil && !b.runs.ends.After(w.now) {
			w.ended, w.work, b.used = append(w.ended, b.runs), w.work+(b.runs.work-w.work)/20, b.runs.ends
			b.runs = nil
		}
	}
	for _, id := range ordered(w.starts) {
		if w.starts[id].After(w.now) {
			continue
		}
		delete(w.starts, id)
		if fails := w.faults && w.random.IntN(8) == 0; fails {
			w.record(pool.LostV1{Machine: id, Failed: true, Cause: "the start command failed"})
			if w.random.IntN(2) == 0 { // but a machine exists
				w.add(id)
			}
			continue
		}
		w.add(id)
		w.record(pool.StartedV1{Machine: id, Handle: id})
		if w.faults && w.random.IntN(20) == 0 {
			w.strays++
			w.add(fmt.Sprintf("stray-%d", w.strays))
		}
	}
	for _, id := range ordered(w.stops) {
		if w.stops[id].After(w.now) {
			continue
		}
		delete(w.stops, id)
		if w.faults && w.random.IntN(6) == 0 { // the stop command failed
			continue
		}
		if b := w.boxes[id]; b != nil {
			require.Nil(w.t, b.runs, "machine %s is stopped while it works", id)
			w.remove(id)
		}
		w.record(pool.StoppedV1{Machine: id})
	}
}

func (w *world) add(id string) {
	b := &box{id: id, from: w.now, joins: w.now.Add(w.boot)}
	if w.faults {
		switch w.random.IntN(12) {
		case 0:
			b.joins = w.now.Add(time.Hour) // too late
		case 1:
			b.dies = w.now.Add(seeded.Between(w.random, time.Second, time.Hour))
		}
	}
	w.boxes[id] = b
}

func (w *world) remove(id string) {
	w.used += w.now.Sub(w.boxes[id].from)
	delete(w.boxes, id)
}

// place gives waiting segments to free machines, as the placement does: in order, to machines that have joined and are not drained.
func (w *world) place() {
	for _, id := range ordered(w.boxes) {
		b, m := w.boxes[id], w.state.Machine(id)
		if len(w.waiting) == 0 || b.runs != nil || b.drained || m == nil || m.Phase != pool.Joined {
			continue
		}
		b.runs, w.waiting = w.waiting[0], w.waiting[1:]
		b.runs.began, b.runs.ends, b.runs.on = w.now, w.now.Add(b.runs.work), id
	}
}

// decide makes one decision and carries it out.
func (w *world) decide() {
	seen := pool.Seen{Servers: map[string]pool.Server{}, InFlight: append(ordered(w.starts), ordered(w.stops)...), Asked: true}
	able := false
	for _, id := range ordered(w.boxes) {
		b := w.boxes[id]
		seen.Listed = append(seen.Listed, id)
		if b.joins.After(w.now) {
			continue
		}
		able = able || !b.drained
		seen.Servers[id] = pool.Server{
			ID: server.ID(id), Answers: true, Classes: "c", Busy: b.runs != nil, Drained: b.drained, Used: b.used, SeenAt: w.now,
		}
	}
	if seen.Needs = len(w.waiting); able {
		late := w.now.Add(-w.spec.Wait)
		seen.Needs = sort.Search(len(w.waiting), func(i int) bool { return w.waiting[i].arrives.After(late) })
	}
	seen.Work = w.work
	orders := w.state.Decide("p", seen, w.now)
	for _, event := range orders.Events {
		if _, starts := event.(pool.RequestedV1); starts {
			require.Positive(w.t, seen.Needs, "a machine without a need")
		}
		w.record(event)
	}
	for _, id := range orders.Start {
		w.starts[id] = w.now.Add(seeded.Between(w.random, time.Second, 5*time.Second))
	}
	for _, id := range orders.Drain {
		w.boxes[string(id)].drained = true
	}
	for _, id := range orders.Stop {
		w.stops[id] = w.now.Add(seeded.Between(w.random, time.Second, 3*time.Second))
	}
	mine := 0
	for _, m := range w.state.Machines {
		if !strings.HasPrefix(m.ID, "stray") {
			mine++
		}
	}
	if mine > w.spec.Max {
		require.Fail(w.t, "more machines than the maximum", "%+v", w.state.Machines)
	}
}

func (w *world) record(event any) { w.state = w.state.After(event, w.now) }

// oracle returns the machine time of somebody who knows the arrivals: each segment begins when it began in the pool, a machine is started
// just in time, and it is kept between two segments only if that is cheaper than another start. It is kept for so long in any case.
func (w *world) oracle(idle time.Duration) (total time.Duration) {
	all := slices.SortedFunc(slices.Values(w.ended), func(a, b *segment) int { return a.began.Compare(b.began) })
	var free []time.Time // when machines became free
	for _, s := range all {
		total += s.work
		best := -1
		for i, at := range free {
			if !at.After(s.began) && (best < 0 || at.After(free[best])) {
				best = i
			}
		}
		if best < 0 {
			total += w.boot + idle
			free = append(free, s.ends)
			continue
		}
		total += min(s.began.Sub(free[best]), idle+w.boot)
		free[best] = s.ends
	}
	return total
}

func ordered[V any](m map[string]V) (ids []string) {
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// A thousand days: MILLRACE_SEEDS=1000. On a busy day, idle costs little. On one with a burst now and then, it is most of what a machine
// costs, and the oracle must keep it, too.
func TestSimulatedDaysOfAPool(t *testing.T) {
	t.Parallel()
	const idle = 3 * time.Minute
	for name, c := range map[string]struct {
		rarer int
		idle  time.Duration // of the oracle
	}{"busy": {1, 0}, "sparse": {64, idle}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var used, needed time.Duration
			days := 0
			seeded.Some(t, 20, func(t *testing.T, random *rand.Rand) {
				w := &world{
					t: t, random: random, boxes: map[string]*box{}, starts: map[string]time.Time{}, stops: map[string]time.Time{},
					now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), faults: random.IntN(3) == 0,
					boot: seeded.Between(random, 20*time.Second, 2*time.Minute),
				}
				spec := pool.Spec{Provider: pool.Provider{Start: "start", Stop: "stop {machine}", List: "list"}}
				spec.Max, spec.Idle, spec.Wait = 1+random.IntN(8), idle, 20*time.Second
				require.NoError(t, spec.Check())
				w.spec = spec.Terms
				w.record(pool.AppliedV1{Terms: spec.Terms, Classes: "c"})
				arrivals := day(random, w.now, spec.Max, c.rarer)
				count := len(arrivals)
				w.run(arrivals)
				require.Len(t, w.ended, count, "every segment ends once")
				require.Empty(t, w.boxes, "no machine is left")
				if !w.faults {
					used, needed, days = used+w.used, needed+w.oracle(c.idle), days+1
				}
			})
			t.Logf("%d days without faults: %s of machines, %s by the oracle: %.3f", days, used, needed, used.Seconds()/max(needed.Seconds(), 1))
			require.LessOrEqual(t, used.Seconds(), 1.25*needed.Seconds())
		})
	}
}
