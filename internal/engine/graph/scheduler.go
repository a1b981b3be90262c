package graph

import "slices"

// Bounds of a batch.
const (
	// cheapMillis is the longest estimate of a unit that is fused with others into a local activity.
	cheapMillis = 200
	// localMillis bounds the estimate of a fused batch, since Temporal gives a workflow task ten seconds.
	localMillis = 2000
	// localUnits bounds the units of a fused batch, whose result is stored in the workflow's history.
	localUnits = 500
	// maxRunning bounds the batches that run at the same time, since Temporal refuses more than 2,000 pending
	// activities.
	maxRunning = 64
	// maxRepeats bounds how often a unit runs again because its values were lost.
	maxRepeats = 8
	// maxFruitless bounds the consecutive batches that end without progress.
	maxFruitless = 16
	// shortMillis is the longest estimate of a batch that runs among the short ones, which never wait for long ones.
	shortMillis = 5000
	// chainMillis bounds the estimate of a chain. All of a chain is repeated when its worker dies.
	chainMillis = 60_000
)

// Status is the outcome of a unit of a batch.
type Status uint8

// The statuses. A unit without a result has not run.
const (
	Done        Status = 1 + iota
	NeedsInputs        // the lazy inputs in Needs must be evaluated first
	Failed
	Expanded // the unit is replaced by a graph, Expansion
)

// UnitResult is the outcome of one unit.
type UnitResult struct {
	Unit      int             `json:"u"`
	Status    Status          `json:"s"`
	Needs     []string        `json:"n,omitempty"` // names of lazy inputs
	Values    []string        `json:"v,omitempty"` // references of stored outputs, by slot
	Expansion *ExpansionShape `json:"g,omitempty"` // set for Expanded
}

// Batch is a set of units to run in one activity, in this order.
type Batch struct {
	ID     int
	Units  []int
	Local  bool  // the units are cheap and run in one local activity
	Short  bool  // the units are not cheap, but together they take a few seconds at most
	Waits  bool  // one unit, which waits for a partner's model
	Keep   []int // units whose values must be stored for other batches
	Remote bool  // one segment, for a server
	Needs  []int // units outside the batch whose stored values it reads
}

// unitState is the state of a unit.
type unitState struct {
	status unitStatus
	stored bool   // the values are stored
	asked  []bool // by index in Unit.Lazy: the class has asked for the input
	runs   int    // number of times the unit ended as Done
}

type unitStatus uint8

const (
	waiting unitStatus = iota
	running
	done
	failed
)

// Scheduler decides which units run next. It is deterministic: the same shape and the same calls give the same
// batches, so workflow code may use it. A unit is needed if it is an output that is not done, or if a needed unit
// reads a value of it that is not stored. Values that were only in memory, or were lost, are therefore computed again
// when needed.
type Scheduler struct {
	units      []Unit
	order      []int          // the units, each after the units that it reads
	expansions []ExpandedUnit // in the order in which units expanded
	consumers  [][]int        // by unit: the units that read it, lazily or not
	states     []unitState
	batches    []Batch
	inFlight   int
	local      bool // a fused batch is running
	fruitless  int  // batches in a row without progress
}

// NewScheduler returns the scheduler of a fresh run.
func NewScheduler(shape Shape) *Scheduler {
	s := &Scheduler{
		units: slices.Clone(shape.Units), states: make([]unitState, len(shape.Units)), consumers: make([][]int, len(shape.Units)),
	}
	for u := range shape.Units {
		s.order = append(s.order, u)
		s.addConsumer(u)
	}
	return s
}

// addConsumer adds a unit to the consumers of the units that it reads.
func (s *Scheduler) addConsumer(u int) {
	unit := s.units[u]
	s.states[u].asked = make([]bool, len(unit.Lazy))
	for _, d := range unit.Deps {
		s.consumers[d] = append(s.consumers[d], u)
	}
	for _, l := range unit.Lazy {
		s.consumers[l.Unit] = append(s.consumers[l.Unit], u)
	}
}

// MarkCached marks a unit as done, because the run uses the result of an earlier job. kept reports whether the unit's
// values can be read.
func (s *Scheduler) MarkCached(unit int, kept bool) {
	s.states[unit].status, s.states[unit].stored = done, kept
}

// StartSole returns the first batch if no other batch can start and the batch is fused or a segment. The activity
// that plans the run can then run this batch at once.
func (s *Scheduler) StartSole() (Batch, bool) {
	if first := s.Next(); len(first) == 1 && (first[0].Local || first[0].Remote) {
		return first[0], true
	}
	return Batch{}, false
}

// Next returns the batches that can start now. A batch is running until it is passed to Done or Abandon.
func (s *Scheduler) Next() []Batch {
	if s.fruitless >= maxFruitless {
		return nil
	}
	needed := s.neededUnits()
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

// SavesOutputs reports whether a batch does little more than save outputs: it is cheap, or has only output nodes.
func (s *Scheduler) SavesOutputs(b Batch) bool {
	return b.Local || !slices.ContainsFunc(b.Units, func(u int) bool { return !s.units[u].Output || s.units[u].Segment })
}

// neededUnits marks the units that must run or are running.
func (s *Scheduler) neededUnits() []bool {
	needed := make([]bool, len(s.units))
	for _, u := range slices.Backward(s.order) { // consumers come after the units that they read
		needed[u] = needed[u] || s.units[u].Output && s.states[u].status != done
		if !needed[u] || s.states[u].status == running || s.states[u].status == failed {
			continue
		}
		s.eachInput(u, func(d int) { needed[d] = needed[d] || !s.stored(d) })
	}
	return needed
}

// eachInput calls f for each unit that u reads. Units of lazy inputs count only if the class has asked for the input.
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

func (s *Scheduler) cheap(u int) bool {
	return s.units[u].Millis <= cheapMillis && !s.ownBatch(u)
}

// ownBatch reports whether a unit has a batch of its own, because it waits for another machine.
func (s *Scheduler) ownBatch(u int) bool { return s.units[u].Segment || s.units[u].Waits }

// stored reports whether the values of a unit can be read by a later batch.
func (s *Scheduler) stored(u int) bool { return s.states[u].status == done && s.states[u].stored }

// mayStillAsk reports whether a unit may still ask for lazy inputs before it makes values.
func (s *Scheduler) mayStillAsk(u int) bool {
	return len(s.units[u].Lazy) > 0 && !slices.Contains(s.states[u].asked, true)
}

// ready reports whether a needed unit reads only values that are stored or that earlier units of the batch make.
func (s *Scheduler) ready(u int, needed []bool, batch map[int]bool) bool {
	status := s.states[u].status
	if !needed[u] || status == running || status == failed {
		return false
	}
	ok := true
	s.eachInput(u, func(d int) { ok = ok && (s.stored(d) || batch[d] && !s.mayStillAsk(d)) })
	return ok
}

// fuse collects the cheap units that are ready or become ready within the batch. Since each unit comes after the
// units that it reads, one pass in order finds all of them.
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

// chain extends an expensive unit by units that read only its values, so that the values in between need not be
// stored.
func (s *Scheduler) chain(u int, needed []bool) []int {
	units, batch, millis := []int{u}, map[int]bool{u: true}, s.units[u].Millis
	for {
		readers := s.consumers[u]
		if len(readers) != 1 || s.ownBatch(u) {
			return units
		}
		u = readers[0]
		millis += s.units[u].Millis
		if millis > chainMillis || s.ownBatch(u) || !s.ready(u, needed, batch) {
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
	b := Batch{ID: len(s.batches), Units: units, Local: local, Remote: s.units[units[0]].Segment}
	b.Waits = !b.Local && s.units[units[0]].Waits
	b.Short = !b.Local && !b.Remote && !b.Waits && s.millis(units) <= shortMillis
	for _, u := range units {
		if s.readAfterwards(u, in) {
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

// millis returns the estimate of units that run one after the other.
func (s *Scheduler) millis(units []int) (sum int64) {
	for _, u := range units {
		sum += s.units[u].Millis
	}
	return sum
}

// readAfterwards reports whether the values of u may be read after the batch: by a unit outside the batch, or by a unit of
// the batch that may first wait for lazy inputs.
func (s *Scheduler) readAfterwards(u int, batch map[int]bool) bool {
	return slices.ContainsFunc(s.consumers[u], func(c int) bool { return !batch[c] || len(s.units[c].Lazy) > 0 })
}

// Done takes the results of a batch. Units without a result become waiting again.
func (s *Scheduler) Done(batch int, results []UnitResult) {
	b := s.requeue(batch)
	s.fruitless++
	for _, r := range results {
		if !slices.Contains(b.Units, r.Unit) {
			continue
		}
		st := &s.states[r.Unit]
		switch r.Status {
		case Done:
			// A batch that was cut short has also stored the values that its remaining units would have read in memory.
			st.status, st.stored = done, slices.Contains(b.Keep, r.Unit) || len(r.Values) > 0
			s.fruitless = 0
			if st.runs++; st.runs > maxRepeats {
				st.status = failed
			}
		case NeedsInputs:
			if s.markNeeded(r.Unit, r.Needs) {
				s.fruitless = 0 // asking again is not progress: the input may have had to wait
			}
		case Failed:
			st.status = failed
		case Expanded:
			if r.Expansion != nil {
				s.extend(ExpandedUnit{Unit: r.Unit, ExpansionShape: *r.Expansion})
				s.fruitless = 0
			}
		}
	}
}

// Abandon ends a batch without a result: its units become waiting again.
func (s *Scheduler) Abandon(batch int) { s.requeue(batch) }

// requeue makes the units of a batch wait again.
func (s *Scheduler) requeue(batch int) Batch {
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

// markNeeded marks the units of lazy inputs as needed. It reports whether the class asks for any of these inputs for the
// first time.
func (s *Scheduler) markNeeded(unit int, inputs []string) bool {
	news := false
	for i, l := range s.units[unit].Lazy {
		if slices.Contains(inputs, l.Input) && !s.states[unit].asked[i] {
			s.states[unit].asked[i] = true
			news = true
		}
	}
	return news
}

// Lost records that the stored values of a unit no longer exist. The unit runs again if its values are still needed.
func (s *Scheduler) Lost(unit int) {
	if s.states[unit].stored {
		s.states[unit].stored = false
		s.fruitless = 0
	}
}

// Ends reports whether the run is finished as soon as a running batch succeeds: no other batch is running, and every
// output that is not done belongs to this batch.
func (s *Scheduler) Ends(b Batch) bool {
	for u := range s.units {
		if s.units[u].Output && s.states[u].status != done && !slices.Contains(b.Units, u) {
			return false
		}
	}
	return s.inFlight == 1
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

// State is the state of a scheduler, for example between two executions of a long run.
type State struct {
	Done       []byte         `json:"done"`                 // bit set of the units that are done
	Kept       []byte         `json:"kept"`                 // bit set of the units with stored values
	Asked      [][2]int       `json:"asked,omitempty"`      // unit and index of each lazy input that a class has asked for
	Expansions []ExpandedUnit `json:"expansions,omitempty"` // in order
}

// State exports the state for RestoreScheduler. Running batches count as abandoned.
func (s *Scheduler) State() State {
	st := State{Done: make([]byte, (len(s.units)+7)/8), Kept: make([]byte, (len(s.units)+7)/8), Expansions: s.expansions}
	for u := range s.units {
		if s.states[u].status == done {
			st.Done[u/8] |= 1 << (u % 8)
		}
		if s.states[u].stored {
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

// RestoreScheduler returns a scheduler with the exported state. Parts of the state that do not fit the shape are
// ignored.
func RestoreScheduler(shape Shape, st State) *Scheduler {
	s := NewScheduler(shape)
	for _, g := range st.Expansions {
		if g.Unit >= 0 && g.Unit < len(s.units) {
			s.extend(g)
		}
	}
	for u := range s.units {
		switch {
		case has(st.Done, u):
			s.states[u].status, s.states[u].stored = done, has(st.Kept, u)
		case !s.units[u].Given: // including a cached unit that had to run after all
			s.states[u].status, s.states[u].stored = waiting, false
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
