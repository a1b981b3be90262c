package graph

import (
	"encoding/hex"
	"slices"
)

// Bounds of a batch.
const (
	// cheapMillis is the most a unit may take to run inside a workflow task, fused with others.
	cheapMillis = 200
	// localMillis bounds a fused batch: the engine gives a workflow task ten seconds.
	localMillis = 2000
	// localUnits bounds the result of a fused batch in the workflow's history.
	localUnits = 500
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
)

// UnitResult is the outcome of one unit.
type UnitResult struct {
	Unit   int      `json:"u"`
	Status Status   `json:"s"`
	Needs  []string `json:"n,omitempty"` // lazy inputs
	Values []string `json:"v,omitempty"` // references of stored outputs, by slot
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
	wanted bool
	status unitStatus
	kept   bool   // its values are stored
	asked  []bool // by index in Unit.Lazy
}

type unitStatus uint8

const (
	waiting unitStatus = iota
	running
	done
	failed
)

// Scheduler decides what runs next. It is deterministic: the same shape and the same calls give the
// same batches, so workflow code may use it.
type Scheduler struct {
	units     []Unit
	consumers [][]int // by unit: who reads it, lazily or not
	states    []unitState
	batches   []Batch
	local     bool // a fused batch is running
}

// NewScheduler returns the scheduler of a fresh run.
func NewScheduler(shape Shape) *Scheduler {
	s := &Scheduler{
		units: shape.Units, states: make([]unitState, len(shape.Units)), consumers: make([][]int, len(shape.Units)),
	}
	for i, u := range shape.Units {
		s.states[i].asked = make([]bool, len(u.Lazy))
		for _, d := range u.Deps {
			s.consumers[d] = append(s.consumers[d], i)
		}
		for _, l := range u.Lazy {
			s.consumers[l.Unit] = append(s.consumers[l.Unit], i)
		}
	}
	for i, u := range shape.Units {
		if u.Output {
			s.want(i)
		}
	}
	return s
}

// want marks a unit and what it needs.
func (s *Scheduler) want(unit int) {
	for todo := []int{unit}; len(todo) > 0; {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.states[u].wanted {
			continue
		}
		s.states[u].wanted = true
		todo = append(todo, s.units[u].Deps...)
	}
}

// Next returns the batches that can start now. Each is running until Done or Abandon is called for it.
func (s *Scheduler) Next() []Batch {
	var out []Batch
	for u := range s.units {
		if !s.ready(u, nil) || s.cheap(u) {
			continue
		}
		out = append(out, s.start(s.chain(u), false))
	}
	if !s.local {
		if units := s.fuse(); len(units) > 0 {
			s.local = true
			out = append(out, s.start(units, true))
		}
	}
	return out
}

func (s *Scheduler) cheap(u int) bool { return s.units[u].Millis <= cheapMillis }

// ready reports whether a unit waits for nothing that is neither done nor in the batch.
func (s *Scheduler) ready(u int, batch map[int]bool) bool {
	st := &s.states[u]
	if !st.wanted || st.status != waiting {
		return false
	}
	for _, d := range s.units[u].Deps {
		if s.states[d].status != done && !batch[d] {
			return false
		}
	}
	for i, l := range s.units[u].Lazy {
		if st.asked[i] && s.states[l.Unit].status != done && !batch[l.Unit] {
			return false
		}
	}
	return true
}

// fuse gathers cheap units that are ready, or become so within the batch. Units stand behind what
// they need, so one pass in order finds them all.
func (s *Scheduler) fuse() []int {
	var units []int
	var millis int64
	batch := map[int]bool{}
	for u := range s.units {
		if !s.cheap(u) || !s.ready(u, batch) {
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
func (s *Scheduler) chain(u int) []int {
	units, batch, millis := []int{u}, map[int]bool{u: true}, s.units[u].Millis
	for {
		readers := s.consumers[u]
		if len(readers) != 1 {
			return units
		}
		next := readers[0]
		millis += s.units[next].Millis
		if millis > chainMillis || !s.ready(next, batch) {
			return units
		}
		u = next
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
		if slices.ContainsFunc(s.consumers[u], func(c int) bool { return !in[c] }) {
			b.Keep = append(b.Keep, u)
		}
		for _, d := range s.units[u].Deps {
			b.need(d, in)
		}
		for i, l := range s.units[u].Lazy {
			if s.states[u].asked[i] {
				b.need(l.Unit, in)
			}
		}
	}
	slices.Sort(b.Needs)
	b.Needs = slices.Compact(b.Needs)
	s.batches = append(s.batches, b)
	return b
}

func (b *Batch) need(unit int, in map[int]bool) {
	if !in[unit] {
		b.Needs = append(b.Needs, unit)
	}
}

// Done takes the results of a batch. Units without one wait again.
func (s *Scheduler) Done(batch int, results []UnitResult) {
	b := s.settle(batch)
	for _, r := range results {
		if !slices.Contains(b.Units, r.Unit) {
			continue
		}
		st := &s.states[r.Unit]
		switch r.Status {
		case Done:
			st.status, st.kept = done, slices.Contains(b.Keep, r.Unit)
		case NeedsInputs:
			if !s.ask(r.Unit, r.Needs) {
				st.status = failed // it asks for what it was given: it would ask for ever
			}
		case Failed:
			st.status = failed
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
	for _, u := range b.Units {
		if s.states[u].status == running {
			s.states[u].status = waiting
		}
	}
	return b
}

// ask wants the units behind lazy inputs; it reports whether any of them is asked for the first time.
func (s *Scheduler) ask(unit int, inputs []string) bool {
	news := false
	for i, l := range s.units[unit].Lazy {
		if slices.Contains(inputs, l.Input) && !s.states[unit].asked[i] {
			news = true
			s.states[unit].asked[i] = true
			s.want(l.Unit)
			s.refresh(l.Unit)
		}
	}
	return news
}

// Lost says that the stored values of a unit are gone: it runs again, with whatever it needs that
// was never stored.
func (s *Scheduler) Lost(unit int) {
	if s.states[unit].status != done {
		return
	}
	s.states[unit].status, s.states[unit].kept = waiting, false
	s.refresh(unit)
}

// refresh makes sure that a waiting unit can be given its inputs: those that were handed on in
// memory only are computed again.
func (s *Scheduler) refresh(unit int) {
	for todo := []int{unit}; len(todo) > 0; {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.states[u].status == done && s.states[u].kept {
			continue
		}
		if s.states[u].status == done {
			s.states[u].status = waiting
		}
		if s.states[u].status != waiting {
			continue
		}
		todo = append(todo, s.units[u].Deps...)
		for i, l := range s.units[u].Lazy {
			if s.states[u].asked[i] {
				todo = append(todo, l.Unit)
			}
		}
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
	Done  string   `json:"done"`  // bit set in hex: units that are done
	Kept  string   `json:"kept"`  // of those, the ones with stored values
	Asked [][2]int `json:"asked"` // unit and index of each lazy input that was asked for
}

// State exports what RestoreScheduler needs.
func (s *Scheduler) State() State {
	var st State
	doneBits, keptBits := make([]byte, (len(s.units)+7)/8), make([]byte, (len(s.units)+7)/8)
	for u := range s.units {
		if s.states[u].status == done {
			doneBits[u/8] |= 1 << (u % 8)
		}
		if s.states[u].kept {
			keptBits[u/8] |= 1 << (u % 8)
		}
		for i, asked := range s.states[u].asked {
			if asked {
				st.Asked = append(st.Asked, [2]int{u, i})
			}
		}
	}
	st.Done, st.Kept = hex.EncodeToString(doneBits), hex.EncodeToString(keptBits)
	return st
}

// RestoreScheduler continues where State left off. A state of another shape restores what fits.
func RestoreScheduler(shape Shape, st State) *Scheduler {
	s := NewScheduler(shape)
	doneBits, _ := hex.DecodeString(st.Done)
	keptBits, _ := hex.DecodeString(st.Kept)
	for u := range s.units {
		if has(doneBits, u) {
			s.states[u].status, s.states[u].kept = done, has(keptBits, u)
		}
	}
	for _, a := range st.Asked {
		if a[0] < len(s.units) && a[1] < len(s.units[a[0]].Lazy) {
			s.states[a[0]].asked[a[1]] = true
			s.want(s.units[a[0]].Lazy[a[1]].Unit)
		}
	}
	return s
}

func has(bits []byte, u int) bool { return u/8 < len(bits) && bits[u/8]&(1<<(u%8)) != 0 }
