package graph_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// world runs batches as workers do. Values are in a store or live within one batch.
type world struct {
	t        *testing.T
	r        *rand.Rand
	base     graph.Shape
	shape    graph.Shape   // with the units of expansions
	depth    []int         // by unit: number of expansions around it
	chance   int           // chance out of 10 that a unit expands
	expanded map[int][]int // by expanded unit: the units that it read before
	picks    []int         // by unit: the lazy input that the class asks for, or -1
	stored   map[int]bool
	cached   map[int]bool // units of expansions that are cached
	ran      []int        // by unit: number of runs
	losses   int
}

func newWorld(t *testing.T, r *rand.Rand, shape graph.Shape) *world {
	w := &world{t: t, r: r, base: shape, stored: map[int]bool{}, cached: map[int]bool{}, expanded: map[int][]int{}}
	for _, u := range shape.Units {
		w.add(u, 0)
	}
	return w
}

func (w *world) add(u graph.Unit, depth int) {
	pick := -1
	if len(u.Lazy) > 0 {
		pick = w.r.IntN(len(u.Lazy)+1) - 1
	}
	w.shape.Units = append(w.shape.Units, u)
	w.picks, w.ran, w.depth = append(w.picks, pick), append(w.ran, 0), append(w.depth, depth)
}

// expand returns a random expansion; its first unit may be a given value.
func (w *world) expand() *graph.ExpansionShape {
	units := randomShape(w.r).Units[:1]
	for range w.r.IntN(4) {
		u := graph.Unit{Millis: []int64{0, 50, 5000}[w.r.IntN(3)], Deps: []int{w.r.IntN(len(units))}}
		u.Output = w.r.IntN(5) == 0
		units = append(units, u)
	}
	units[0].Output, units[0].Given = false, w.r.IntN(2) == 0
	g := &graph.ExpansionShape{Units: units, Reads: []int{len(units) - 1}[:w.r.IntN(2)], Refs: []string{"plan"}}
	for u := range units {
		if !units[u].Given && w.r.IntN(4) == 0 {
			g.Cached = append(g.Cached, graph.CachedUnit{Unit: u, Values: []string{"kept"}})
		}
	}
	return g
}

// extend adds the units of expansions, as the scheduler does.
func (w *world) extend(results []graph.UnitResult) {
	for _, r := range results {
		if r.Status != graph.Expanded {
			continue
		}
		first := len(w.shape.Units)
		shift := func(units []int) (out []int) {
			for _, u := range units {
				out = append(out, first+u)
			}
			return out
		}
		for i, u := range r.Expansion.Units {
			u.Deps, w.stored[first+i] = shift(u.Deps), u.Given
			w.add(u, w.depth[r.Unit]+1)
		}
		for _, s := range r.Expansion.Cached {
			w.stored[first+s.Unit], w.cached[first+s.Unit] = true, true
		}
		read := slices.Clone(w.shape.Units[r.Unit].Deps)
		if pick := w.picks[r.Unit]; pick >= 0 {
			read = append(read, w.shape.Units[r.Unit].Lazy[pick].Unit)
		}
		w.expanded[r.Unit], w.picks[r.Unit] = append(read, r.Unit), -1
		w.shape.Units[r.Unit] = graph.Unit{Deps: shift(r.Expansion.Reads), Output: w.shape.Units[r.Unit].Output}
	}
}

// run runs a batch as far as its inputs allow. It returns the results and the units whose values it found lost.
func (w *world) run(b graph.Batch) (results []graph.UnitResult, lost []int) {
	have := map[int]bool{}
	for _, need := range b.Needs {
		require.False(w.t, slices.Contains(b.Units, need))
		if !w.stored[need] {
			lost = append(lost, need)
		}
		have[need] = w.stored[need]
	}
	for _, u := range b.Units {
		if !all(w.shape.Units[u].Deps, have) {
			if slices.ContainsFunc(results, func(r graph.UnitResult) bool { return r.Status == graph.Expanded }) {
				w.handOver(results, w.shape.Units[u].Deps)
			}
			continue
		}
		unit := w.shape.Units[u]
		if pick := w.picks[u]; pick >= 0 && !have[unit.Lazy[pick].Unit] {
			results = append(results, graph.UnitResult{Unit: u, Status: graph.NeedsInputs, Needs: []string{unit.Lazy[pick].Input}})
			continue
		}
		if w.expanded[u] == nil && w.depth[u] < 3 && w.r.IntN(10) < w.chance {
			results = append(results, graph.UnitResult{Unit: u, Status: graph.Expanded, Expansion: w.expand()})
			continue
		}
		w.ran[u]++
		have[u] = true
		if slices.Contains(b.Keep, u) {
			w.stored[u] = true
		}
		results = append(results, graph.UnitResult{Unit: u, Status: graph.Done})
	}
	return results, lost
}

// handOver stores the values that waiting units would have read in memory, as workers do after an expansion.
func (w *world) handOver(results []graph.UnitResult, units []int) {
	for i, r := range results {
		if slices.Contains(units, r.Unit) && r.Status == graph.Done {
			results[i].Values, w.stored[r.Unit] = []string{"stored"}, true
		}
	}
}

func all(units []int, have map[int]bool) bool {
	return !slices.ContainsFunc(units, func(u int) bool { return !have[u] })
}

// lose deletes a stored value, as a collection of blobs might.
func (w *world) lose() {
	kept := []int{}
	for u := range w.shape.Units {
		if w.stored[u] && !w.shape.Units[u].Given && !w.cached[u] {
			kept = append(kept, u)
		}
	}
	if len(kept) > 0 {
		w.stored[kept[w.r.IntN(len(kept))]] = false
		w.losses++
	}
}

// reference returns the units that must run: the outputs and all units that they read. Of lazy inputs, only the
// chosen one counts.
func (w *world) reference() []bool {
	must := make([]bool, len(w.shape.Units))
	var visit func(u int)
	visit = func(u int) {
		unit := w.shape.Units[u]
		if must[u] || unit.Given || w.cached[u] {
			return
		}
		must[u] = true
		for _, d := range slices.Concat(unit.Deps, w.expanded[u]) {
			visit(d)
		}
		if w.picks[u] >= 0 {
			visit(unit.Lazy[w.picks[u]].Unit)
		}
	}
	for u := range must {
		if w.shape.Units[u].Output {
			visit(u)
		}
	}
	return must
}

func randomShape(r *rand.Rand) graph.Shape {
	shape := graph.Shape{Units: make([]graph.Unit, 1+r.IntN(40))}
	for u := range shape.Units {
		unit := &shape.Units[u]
		for d := range u {
			switch {
			case r.IntN(u) < 2:
				unit.Deps = append(unit.Deps, d)
			case r.IntN(12*u) < 10:
				unit.Lazy = append(unit.Lazy, graph.LazyDep{Input: string(rune('a' + len(unit.Lazy))), Unit: d})
			}
		}
		unit.Millis = []int64{0, 1, 50, 200, 201, 5000, 40_000}[r.IntN(7)]
		unit.Output = r.IntN(6) == 0 || u == len(shape.Units)-1
	}
	return shape
}

func TestSchedulerRunsNeededUnitsOnly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, r, randomShape(r))
		w.chance = int(seed % 5)
		s := graph.NewScheduler(w.base)
		w.drive(s, 0)
		require.True(t, s.Finished(), "seed %d", seed)
		for u, must := range w.reference() {
			require.Equal(t, must, w.ran[u] == 1, "seed %d unit %d ran %d times", seed, u, w.ran[u])
			require.LessOrEqual(t, w.ran[u], 1)
		}
	}
}

func TestSchedulerSurvivesLossesAbandonedBatchesAndRestarts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, r, randomShape(r))
		w.chance = int(seed % 5)
		s := w.drive(graph.NewScheduler(w.base), 5)
		require.True(t, s.Finished(), "seed %d", seed)
		for u, must := range w.reference() {
			require.Equal(t, must, w.ran[u] > 0, "seed %d unit %d", seed, u)
			require.LessOrEqual(t, w.ran[u], 2+w.losses+10, "seed %d unit %d", seed, u)
		}
	}
}

// TestSchedulerContinuesAfterInterruptedBatches ends every batch after its first few units, as a worker does at the
// end of its time, and stores the values that the remaining units would have read.
func TestSchedulerContinuesAfterInterruptedBatches(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newWorld(t, r, randomShape(r))
		w.chance = int(seed % 5)
		s := graph.NewScheduler(w.base)
		for next := s.Next(); len(next) > 0; next = s.Next() {
			for _, b := range next {
				results, _ := w.run(w.cut(b))
				for i := range results {
					results[i].Values = []string{"stored"}
				}
				s.Done(b.ID, results)
				w.extend(results)
			}
		}
		require.True(t, s.Finished(), "seed %d", seed)
		for u, must := range w.reference() {
			require.Equal(t, must, w.ran[u] == 1, "seed %d unit %d ran %d times", seed, u, w.ran[u])
		}
	}
}

func (w *world) cut(b graph.Batch) graph.Batch {
	b.Units = b.Units[:1+w.r.IntN(len(b.Units))]
	b.Keep = b.Units
	return b
}

// drive runs until nothing is left, with the given number of random failures.
func (w *world) drive(s *graph.Scheduler, mishaps int) *graph.Scheduler {
	var flying []graph.Batch
	for {
		next := s.Next()
		w.check(next)
		flying = append(flying, next...)
		if len(flying) == 0 {
			return s
		}
		i := w.r.IntN(len(flying))
		b := flying[i]
		flying = slices.Delete(flying, i, i+1)
		if mishaps > 0 && w.r.IntN(4) == 0 {
			mishaps--
			switch w.r.IntN(3) {
			case 0:
				w.lose()
			case 1:
				s.Abandon(b.ID)
				continue
			case 2:
				s.Abandon(b.ID)
				flying = nil // the running batches end with the old execution
				s = w.restart(s)
				continue
			}
		}
		results, lost := w.run(b)
		s.Done(b.ID, results)
		w.extend(results)
		for _, u := range lost {
			s.Lost(u)
		}
	}
}

func (w *world) restart(s *graph.Scheduler) *graph.Scheduler {
	raw, err := json.Marshal(s.State())
	require.NoError(w.t, err)
	var state graph.State
	require.NoError(w.t, json.Unmarshal(raw, &state))
	return graph.RestoreScheduler(w.base, state)
}

// check verifies that batches keep their bounds.
func (w *world) check(batches []graph.Batch) {
	for _, b := range batches {
		require.NotEmpty(w.t, b.Units)
		var sum int64
		for _, u := range b.Units {
			sum += w.shape.Units[u].Millis
			if b.Local {
				require.LessOrEqual(w.t, w.shape.Units[u].Millis, int64(200))
			}
		}
		if b.Local {
			require.LessOrEqual(w.t, sum, int64(2000))
		} else {
			require.Greater(w.t, w.shape.Units[b.Units[0]].Millis, int64(200))
		}
	}
}

// The stored values of a cached unit may be lost like any others. The unit then runs, with the units that it reads,
// even if the run has meanwhile continued in another execution.
func TestCachedUnitRunsWhenItsValuesAreLost(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: []graph.Unit{{Millis: 1000, Output: true}}}
	s := graph.NewScheduler(shape)
	first := s.Next()
	s.Done(first[0].ID, []graph.UnitResult{{Unit: 0, Status: graph.Expanded, Expansion: &graph.ExpansionShape{
		Units: []graph.Unit{{Millis: 1000}, {Millis: 1000, Deps: []int{0}}}, Reads: []int{1}, Refs: []string{"plan"},
		Cached: []graph.CachedUnit{{Unit: 0}, {Unit: 1, Values: []string{"kept"}}},
	}}})
	next := s.Next()
	require.Equal(t, [][]int{{0}}, [][]int{next[0].Units}, "only the expanded unit is left")
	require.Equal(t, []int{2}, next[0].Needs)
	s.Done(next[0].ID, nil)
	s.Lost(2)
	for range 2 {
		next = s.Next()
		require.Equal(t, []int{1, 2, 0}, next[0].Units)
		s = graph.RestoreScheduler(shape, s.State()) // the unit was running at the restart, so it is not done
	}
	next = s.Next()
	s.Done(next[0].ID, []graph.UnitResult{{Unit: 1, Status: graph.Done}, {Unit: 2, Status: graph.Done}, {Unit: 0, Status: graph.Done}})
	require.True(t, s.Finished())
}

func TestSchedulerIsDeterministic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		var traces [2]string
		for i := range traces {
			r := rand.New(rand.NewPCG(seed, 3))
			w := newWorld(t, r, randomShape(r))
			w.chance = int(seed % 5)
			s := graph.NewScheduler(w.base)
			var trace []graph.Batch
			for next := s.Next(); len(next) > 0; next = s.Next() {
				trace = append(trace, next...)
				for _, b := range next {
					results, _ := w.run(b)
					s.Done(b.ID, results)
					w.extend(results)
				}
			}
			raw, err := json.Marshal(trace)
			require.NoError(t, err)
			traces[i] = string(raw)
		}
		require.Equal(t, traces[0], traces[1])
	}
}

func chainOf(n int, millis int64) graph.Shape {
	s := graph.Shape{Units: make([]graph.Unit, n)}
	for u := range s.Units {
		s.Units[u].Millis = millis
		if u > 0 {
			s.Units[u].Deps = []int{u - 1}
		}
	}
	s.Units[n-1].Output = true
	return s
}

func TestCheapChainIsOneLocalBatchThatStoresNothing(t *testing.T) {
	t.Parallel()
	next := graph.NewScheduler(chainOf(10, 20)).Next()
	require.Len(t, next, 1)
	require.True(t, next[0].Local)
	require.Len(t, next[0].Units, 10)
	require.Empty(t, next[0].Keep)
	require.Empty(t, next[0].Needs)
}

func TestExpensiveUnitRunsWithItsLinearTail(t *testing.T) {
	t.Parallel()
	shape := chainOf(4, 10)
	shape.Units[1].Millis = 10_000
	s := graph.NewScheduler(shape)
	first := s.Next()
	require.Len(t, first, 1)
	require.Equal(t, []int{0}, first[0].Units)
	require.Equal(t, []int{0}, first[0].Keep)
	s.Done(first[0].ID, []graph.UnitResult{{Unit: 0, Status: graph.Done}})
	second := s.Next()
	require.Len(t, second, 1)
	require.False(t, second[0].Local)
	require.Equal(t, []int{1, 2, 3}, second[0].Units)
	require.Equal(t, []int{0}, second[0].Needs)
}

func TestIndependentLongBranchesAreSeparateBatches(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: []graph.Unit{
		{Millis: 1000}, {Millis: 1000}, {Deps: []int{0, 1}, Millis: 1, Output: true},
	}}
	next := graph.NewScheduler(shape).Next()
	require.Len(t, next, 2)
	require.Equal(t, []int{0}, next[0].Units)
	require.Equal(t, []int{1}, next[1].Units)
}

func TestFailedUnitBlocksItsConsumersOnly(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: []graph.Unit{
		{Millis: 1000}, {Millis: 1000, Output: true}, {Deps: []int{0}, Millis: 300, Output: true},
	}}
	s := graph.NewScheduler(shape)
	next := s.Next()
	s.Done(next[0].ID, []graph.UnitResult{{Unit: 0, Status: graph.Failed}})
	s.Done(next[1].ID, []graph.UnitResult{{Unit: 1, Status: graph.Done}})
	require.Empty(t, s.Next())
	require.False(t, s.Finished())
}

func TestSchedulerGivesUpOnBatchesWithoutProgress(t *testing.T) {
	t.Parallel()
	s := graph.NewScheduler(chainOf(2, 1000))
	rounds := 0
	for next := s.Next(); len(next) > 0; next = s.Next() {
		s.Done(next[0].ID, nil)
		rounds++
		require.Less(t, rounds, 100)
	}
	require.False(t, s.Finished())
}

func TestSchedulerGivesUpOnValuesThatAreAlwaysLost(t *testing.T) {
	t.Parallel()
	shape := chainOf(2, 1000)
	shape.Units = append(shape.Units, graph.Unit{Deps: []int{0}, Millis: 1000, Output: true})
	s := graph.NewScheduler(shape)
	rounds := 0
	for next := s.Next(); len(next) > 0; next = s.Next() {
		b := next[0]
		var res []graph.UnitResult
		if b.Units[0] == 0 {
			res = []graph.UnitResult{{Unit: 0, Status: graph.Done}}
		}
		s.Done(b.ID, res)
		for _, u := range b.Needs {
			s.Lost(u)
		}
		rounds++
		require.Less(t, rounds, 200)
	}
	require.False(t, s.Finished())
}

func TestBatchesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: make([]graph.Unit, 3000)}
	for u := range shape.Units {
		shape.Units[u] = graph.Unit{Millis: 1000, Output: true}
	}
	s := graph.NewScheduler(shape)
	require.Len(t, s.Next(), 64)
	require.Empty(t, s.Next())
}

func TestShapeOf5000UnitsIsSmall(t *testing.T) {
	t.Parallel()
	shape := chainOf(5000, 1234)
	for u := range shape.Units[2:] {
		shape.Units[u+2].Deps = []int{u, u + 1}
	}
	raw, err := json.Marshal(shape)
	require.NoError(t, err)
	require.Less(t, len(raw), 250_000)
}

func TestFusedBatchesAreBoundedAndOneAtATime(t *testing.T) {
	t.Parallel()
	for millis, want := range map[int64]int{100: 20, 200: 10, 0: 500} {
		shape := graph.Shape{Units: make([]graph.Unit, 1200)}
		for u := range shape.Units {
			shape.Units[u] = graph.Unit{Millis: millis, Output: true}
		}
		s := graph.NewScheduler(shape)
		next := s.Next()
		require.Len(t, next, 1)
		require.Len(t, next[0].Units, want)
		require.Empty(t, s.Next(), "the next one waits for the first")
		s.Abandon(next[0].ID)
		again := s.Next()
		require.Equal(t, next[0].Units, again[0].Units)
	}
}

func TestRepeatedRequestForTheSameInputEndsTheRun(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: []graph.Unit{
		{Millis: 1}, {Millis: 1, Lazy: []graph.LazyDep{{Input: "a", Unit: 0}}, Output: true},
	}}
	s := graph.NewScheduler(shape)
	rounds := 0
	for next := s.Next(); len(next) > 0; next = s.Next() {
		var results []graph.UnitResult
		for _, u := range next[0].Units {
			if u == 0 {
				results = append(results, graph.UnitResult{Unit: 0, Status: graph.Done})
			} else {
				results = append(results, graph.UnitResult{Unit: 1, Status: graph.NeedsInputs, Needs: []string{"a"}})
			}
		}
		s.Done(next[0].ID, results)
		rounds++
		require.Less(t, rounds, 100)
	}
	require.False(t, s.Finished())
}

func TestRestoreIgnoresTheStateOfAnotherShape(t *testing.T) {
	t.Parallel()
	shape := graph.Shape{Units: []graph.Unit{
		{Millis: 1}, {Millis: 1, Lazy: []graph.LazyDep{{Input: "a", Unit: 0}}, Output: true},
	}}
	for _, asked := range [][2]int{{-1, 0}, {2, 0}, {1, -1}, {1, 1}, {0, 0}} {
		s := graph.RestoreScheduler(shape, graph.State{Asked: [][2]int{asked}})
		require.Equal(t, []int{1}, s.Next()[0].Units, "nothing was asked for")
	}
	s := graph.RestoreScheduler(shape, graph.State{Asked: [][2]int{{1, 0}}})
	require.Equal(t, []int{0, 1}, s.Next()[0].Units)
}
