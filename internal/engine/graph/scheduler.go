package graph

import "slices"

// Bounds of a batch.
const (
	// cheapMillis is the most a unit may take to run inside a workflow task, fused with others.
	cheapMillis = 200
	// localMillis bounds a fused batch: the engine gives a workflow task ten seconds.
	localMillis = 2000
	// localUnits bounds the result of a fused batch in the workflow's history.
	localUnits = 500
	// maxRunning bounds the batches in flight: the engine refuses more than 2,000 pending activities.
	maxRunning = 64
	// maxRepeats bounds how often one unit runs again because its values were lost.
	maxRepeats = 8
	// maxStuck bounds how many batches in a row may come back without any news.
	maxStuck = 16
	// chainMillis bounds what an attempt repeats when its worker dies.
	chainMillis = 60_000
)

// Status says how a unit of a batch came out.
type Status uint8

// The statuses. A unit that is absent from a result had no chance to run.
const (
	Done        Status = 1 + iota
	NeedsInputs        // lazy inputs that it named must be computed first
	Failed
	Expanded // a graph takes its place: Grown says which
)

// UnitResult is the outcome of one unit.
type UnitResult struct {
	Unit   int      `json:"u"`
	Status Status   `json:"s"`
	Needs  []string `json:"n,omitempty"` // lazy inputs
	Values []string `json:"v,omitempty"` // references of stored outputs, by slot
	Grown  *Growing `json:"g,omitempty"` // of an expanded unit
}

// Batch is a set of units to run in one activity, in this order.
type Batch struct {
	ID    int
	Units []int
	Local bool  // cheap units, fused into one local activity
	Keep  []int // units whose values are read outside the batch, and so must be stored
	Needs []int // units outside the batch whose stored values it reads
}

// unitState is where a unit stands.
type unitState struct {
	status unitStatus
	kept   bool   // its values are stored
	asked  []bool // by index in Unit.Lazy: the input was named, so its unit is needed
	runs   int    // how often it was done
}

type unitStatus uint8

const (
	waiting unitStatus = iota
	running
	done
	failed
)

// Scheduler decides what runs next. It is deterministic: the same shape and the same calls give the
// same batches, so workflow code may use it. A unit is needed when it is an output that is not done,
// or when a needed unit reads a value of it that is not stored; values that were handed on in memory
// only, or were lost, are therefore made again by themselves.
type Scheduler struct {
	units     []Unit
	order     []int   // of units: each behind what it reads
	grown     []Grown // in the order in which units expanded
	consumers [][]int // by unit: who reads it, lazily or not
	states    []unitState
	batches   []Batch
	inFlight  int
	local     bool // a fused batch is running
	stuck     int  // batches in a row without news
}

// NewScheduler returns the scheduler of a fresh run.
func NewScheduler(shape Shape) *Scheduler {
	s := &Scheduler{
		units: slices.Clone(shape.Units), states: make([]unitState, len(shape.Units)), consumers: make([][]int, len(shape.Units)),
	}
	for u := range shape.Units {
		s.order = append(s.order, u)
		s.enlist(u)
	}
	return s
}

// enlist makes a unit known to those that it reads.
func (s *Scheduler) enlist(u int) {
	unit := s.units[u]
	s.states[u].asked = make([]bool, len(unit.Lazy))
	for _, d := range unit.Deps {
		s.consumers[d] = append(s.consumers[d], u)
	}
	for _, l := range unit.Lazy {
		s.consumers[l.Unit] = append(s.consumers[l.Unit], u)
	}
}

// Spare says that a unit need not run, because the result of an earlier job is taken. kept tells whether
// its values can be read.
func (s *Scheduler) Spare(unit int, kept bool) {
	s.states[unit].status, s.states[unit].kept = done, kept
}

// StartFused gives out the first batch where it is the only one and fused: it can run at once, where the
// run is planned.
func (s *Scheduler) StartFused() (Batch, bool) {
	if first := s.Next(); len(first) == 1 && first[0].Local {
		return first[0], true
	}
	return Batch{}, false
}

// Next returns the batches that can start now. Each is running until Done or Abandon is called for it.
func (s *Scheduler) Next() []Batch {
	if s.stuck >= maxStuck {
		return nil
	}
	needed := s.needed()
	var out []Batch
	for _, u := range s.order {
		if s.inFlight < maxRunning && !s.cheap(u) && s.ready(u, needed, nil) {
			out = append(out, s.start(s.chain(u, needed), false))
		}
	}
	if !s.local {
		if units := s.fuse(needed); len(units) > 0 {
			s.local = true
			out = append(out, s.start(units, true))
		}
	}
	return out
}

// needed marks the units that must run, or are running.
func (s *Scheduler) needed() []bool {
	needed := make([]bool, len(s.units))
	for _, u := range slices.Backward(s.order) { // consumers stand behind what they read
		needed[u] = needed[u] || s.units[u].Output && s.states[u].status != done
		if !needed[u] || s.states[u].status == running || s.states[u].status == failed {
			continue
		}
		s.eachInput(u, func(d int) { needed[d] = needed[d] || !s.stored(d) })
	}
	return needed
}

// eachInput calls f for the units that u reads, lazy ones as far as they were asked for.
func (s *Scheduler) eachInput(u int, f func(int)) {
	for _, d := range s.units[u].Deps {
		f(d)
	}
	for i, l := range s.units[u].Lazy {
		if s.states[u].asked[i] {
			f(l.Unit)
		}
	}
}

func (s *Scheduler) cheap(u int) bool { return s.units[u].Millis <= cheapMillis }

// stored reports whether the values of a unit can be read by a later batch.
func (s *Scheduler) stored(u int) bool { return s.states[u].status == done && s.states[u].kept }

// undecided reports whether a unit will first ask for lazy inputs before it gives values.
func (s *Scheduler) undecided(u int) bool {
	return len(s.units[u].Lazy) > 0 && !slices.Contains(s.states[u].asked, true)
}

// ready reports whether a unit is to run and reads only what is stored or made in the batch before it.
func (s *Scheduler) ready(u int, needed []bool, batch map[int]bool) bool {
	status := s.states[u].status
	if !needed[u] || status == running || status == failed {
		return false
	}
	ok := true
	s.eachInput(u, func(d int) { ok = ok && (s.stored(d) || batch[d] && !s.undecided(d)) })
	return ok
}

// fuse gathers cheap units that are ready, or become so within the batch. Units stand behind what
// they read, so one pass in order finds them all.
func (s *Scheduler) fuse(needed []bool) []int {
	var units []int
	var millis int64
	batch := map[int]bool{}
	for _, u := range s.order {
		if !s.cheap(u) || !s.ready(u, needed, batch) {
			continue
		}
		if millis+s.units[u].Millis > localMillis || len(units) == localUnits {
			break
		}
		millis += s.units[u].Millis
		batch[u] = true
		units = append(units, u)
	}
	return units
}

// chain extends an expensive unit by those that follow it alone: their values need not be stored.
func (s *Scheduler) chain(u int, needed []bool) []int {
	units, batch, millis := []int{u}, map[int]bool{u: true}, s.units[u].Millis
	for {
		readers := s.consumers[u]
		if len(readers) != 1 {
			return units
		}
		u = readers[0]
		millis += s.units[u].Millis
		if millis > chainMillis || !s.ready(u, needed, batch) {
			return units
		}
		batch[u] = true
		units = append(units, u)
	}
}

func (s *Scheduler) start(units []int, local bool) Batch {
	in := make(map[int]bool, len(units))
	for _, u := range units {
		in[u] = true
		s.states[u].status = running
	}
	b := Batch{ID: len(s.batches), Units: units, Local: local}
	for _, u := range units {
		if s.readLater(u, in) {
			b.Keep = append(b.Keep, u)
		}
		s.eachInput(u, func(d int) {
			if !in[d] {
				b.Needs = append(b.Needs, d)
			}
		})
	}
	slices.Sort(b.Needs)
	b.Needs = slices.Compact(b.Needs)
	s.batches = append(s.batches, b)
	s.inFlight++
	return b
}

// readLater reports whether a unit outside the batch may read the values of u, or one inside it
// that may have to wait for lazy inputs first.
func (s *Scheduler) readLater(u int, batch map[int]bool) bool {
	return slices.ContainsFunc(s.consumers[u], func(c int) bool { return !batch[c] || len(s.units[c].Lazy) > 0 })
}

// Done takes the results of a batch. Units without one wait again.
func (s *Scheduler) Done(batch int, results []UnitResult) {
	b := s.settle(batch)
	s.stuck++
	for _, r := range results {
		if !slices.Contains(b.Units, r.Unit) {
			continue
		}
		st := &s.states[r.Unit]
		switch r.Status {
		case Done:
			// A batch that was cut short stores also what the rest of it would have read in memory.
			st.status, st.kept = done, slices.Contains(b.Keep, r.Unit) || len(r.Values) > 0
			s.stuck = 0
			if st.runs++; st.runs > maxRepeats {
				st.status = failed
			}
		case NeedsInputs:
			if s.ask(r.Unit, r.Needs) {
				s.stuck = 0 // asking again is no news: what it asked for may have had to wait
			}
		case Failed:
			st.status = failed
		case Expanded:
			if r.Grown != nil {
				s.extend(Grown{Unit: r.Unit, Growing: *r.Grown})
				s.stuck = 0
			}
		}
	}
}

// Abandon takes back a batch that ended without a result.
func (s *Scheduler) Abandon(batch int) { s.settle(batch) }

// settle makes the units of a batch wait again.
func (s *Scheduler) settle(batch int) Batch {
	b := s.batches[batch]
	if b.Local {
		s.local = false
	}
	s.inFlight--
	for _, u := range b.Units {
		if s.states[u].status == running {
			s.states[u].status = waiting
		}
	}
	return b
}

// ask needs the units behind lazy inputs; it reports whether any of them is asked for the first time.
func (s *Scheduler) ask(unit int, inputs []string) bool {
	news := false
	for i, l := range s.units[unit].Lazy {
		if slices.Contains(inputs, l.Input) && !s.states[unit].asked[i] {
			s.states[unit].asked[i] = true
			news = true
		}
	}
	return news
}

// Lost says that the stored values of a unit are gone: it runs again if they are still needed.
func (s *Scheduler) Lost(unit int) {
	if s.states[unit].kept {
		s.states[unit].kept = false
		s.stuck = 0
	}
}

// Finished reports whether every output is done.
func (s *Scheduler) Finished() bool {
	for u := range s.units {
		if s.units[u].Output && s.states[u].status != done {
			return false
		}
	}
	return true
}

// State is a scheduler between two executions of a long run, when nothing is running.
type State struct {
	Done  []byte   `json:"done"`            // bit set: units that are done
	Kept  []byte   `json:"kept"`            // bit set: units with stored values
	Asked [][2]int `json:"asked,omitempty"` // unit and index of each lazy input that was asked for
	Grown []Grown  `json:"grown,omitempty"` // in order
}

// State exports what RestoreScheduler needs. Batches that run count as abandoned.
func (s *Scheduler) State() State {
	st := State{Done: make([]byte, (len(s.units)+7)/8), Kept: make([]byte, (len(s.units)+7)/8), Grown: s.grown}
	for u := range s.units {
		if s.states[u].status == done {
			st.Done[u/8] |= 1 << (u % 8)
		}
		if s.states[u].kept {
			st.Kept[u/8] |= 1 << (u % 8)
		}
		for i, asked := range s.states[u].asked {
			if asked {
				st.Asked = append(st.Asked, [2]int{u, i})
			}
		}
	}
	return st
}

// RestoreScheduler continues where State left off. Of a state of another shape it takes what fits.
func RestoreScheduler(shape Shape, st State) *Scheduler {
	s := NewScheduler(shape)
	for _, g := range st.Grown {
		if g.Unit >= 0 && g.Unit < len(s.units) {
			s.extend(g)
		}
	}
	for u := range s.units {
		switch {
		case has(st.Done, u):
			s.states[u].status, s.states[u].kept = done, has(st.Kept, u)
		case !s.units[u].Given: // also one that was spared and had to run all the same
			s.states[u].status, s.states[u].kept = waiting, false
		}
	}
	for _, a := range st.Asked {
		if a[0] >= 0 && a[0] < len(s.units) && a[1] >= 0 && a[1] < len(s.units[a[0]].Lazy) {
			s.states[a[0]].asked[a[1]] = true
		}
	}
	return s
}

func has(bits []byte, u int) bool { return u/8 < len(bits) && bits[u/8]&(1<<(u%8)) != 0 }
