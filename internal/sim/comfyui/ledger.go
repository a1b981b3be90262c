package comfyui

import (
	"slices"
	"sync"
	"time"
)

// Run is one execution of a prompt.
type Run struct {
	ID      string
	Outcome string // "running", "success", "error", "interrupted", or "lost" with the server
	Nodes   []string
	Began   time.Time
	Ended   time.Time
}

// Stop is a request to cancel a prompt, whether the server had it or not.
type Stop struct {
	ID string // "" = whatever runs
	At time.Time
}

// ledger records the executions of the servers of a machine, for tests.
type ledger struct {
	mu    sync.Mutex // guards the fields below
	runs  []Run
	loads []string
	stops []Stop
	frees int
}

// begin records the start of an execution and returns its number.
func (l *ledger) begin(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, Run{ID: id, Outcome: "running", Began: time.Now()})
	return len(l.runs) - 1
}

// ran records that a node was executed.
func (l *ledger) ran(run int, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[run].Nodes = append(l.runs[run].Nodes, node)
}

// end records the outcome of an execution.
func (l *ledger) end(run int, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[run].Outcome, l.runs[run].Ended = outcome, time.Now()
}

// load records that a checkpoint was read from the disk.
func (l *ledger) load(checkpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads = append(l.loads, checkpoint)
}

// stop records that a prompt was to be cancelled.
func (l *ledger) stop(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = append(l.stops, Stop{id, time.Now()})
}

// freed records that memory was to be freed.
func (l *ledger) freed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frees++
}

func (l *ledger) timesFreed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frees
}

func (l *ledger) stopped() []Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.stops)
}

func (l *ledger) all() []Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := slices.Clone(l.runs)
	for i := range runs {
		runs[i].Nodes = slices.Clone(runs[i].Nodes)
	}
	return runs
}

func (l *ledger) checkpoints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.loads)
}

// Runs returns every prompt that the server began, in order.
func (s *Server) Runs() []Run { return s.ledger.all() }

// Loads returns the name of the checkpoint at every load of one, in order.
func (s *Server) Loads() []string { return s.ledger.checkpoints() }

// diedBetween reports whether a server of the machine ended between two moments.
func (m *Machine) diedBetween(from, to time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.deaths, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// Repeats returns the names of work that was executed again although no server that executed it before had died. work
// returns the name of the work to which an execution belongs, or "" for executions that do not count.
func Repeats(machines []*Machine, work func(Run) string) []string {
	type execution struct {
		Run
		machine *Machine
	}
	all := map[string][]execution{}
	for _, m := range machines {
		for _, r := range m.Runs() {
			if name := work(r); name != "" {
				all[name] = append(all[name], execution{r, m})
			}
		}
	}
	var repeated []string
	for name, runs := range all {
		slices.SortFunc(runs, func(a, b execution) int { return a.Began.Compare(b.Began) })
		for i := 1; i < len(runs); i++ {
			if !runs[i-1].machine.diedBetween(runs[i-1].Began, runs[i].Began) {
				repeated = append(repeated, name)
			}
		}
	}
	slices.Sort(repeated)
	return repeated
}
