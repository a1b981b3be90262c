//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/millrace-dev/millrace/test/history"
	"github.com/millrace-dev/millrace/test/load"
)

// report is the outcome of a run.
type report struct {
	seed    uint64
	times   map[fault][]time.Duration // durations of recoveries
	queued  map[fault]time.Duration   // longest wait for a slot during a recovery
	stuck   map[fault][]error
	ledgers []*load.Ledger
	seen    []string // summary of the comparisons, by mode
	checks  int
	wrong   []string // checks that failed
}

// recovered records how long the service took to run a new job after a fault, or that it did not. During part of this
// time the job may have been queued, while interrupted jobs had all slots.
func (r *report) recovered(f fault, took, queued time.Duration, err error) {
	if r.times == nil {
		r.times, r.queued, r.stuck = map[fault][]time.Duration{}, map[fault]time.Duration{}, map[fault][]error{}
	}
	r.queued[f] = max(r.queued[f], queued)
	if err != nil {
		r.stuck[f] = append(r.stuck[f], err)
		r.times[f] = r.times[f][:len(r.times[f]):len(r.times[f])] // the report shows the row even without a recovery
		return
	}
	r.times[f] = append(r.times[f], took)
}

func (r *report) add(l *load.Ledger) { r.ledgers = append(r.ledgers, l) }

// judge counts each subject of a history whose answers contradict each other as wrong.
func (r *report) judge(mode string, h *history.History) {
	anomalies := h.Anomalies()
	answered := h.Answered()
	r.seen = append(r.seen, fmt.Sprintf("%s: %d answers about the same jobs, calls and uploads, %d anomalies", mode, answered, len(anomalies)))
	if answered == 0 {
		r.check(mode+": answers about the same jobs, calls and uploads", errors.New("there were none"))
	}
	r.checks += max(1, len(anomalies))
	for _, a := range anomalies {
		r.wrong = append(r.wrong, mode+": the answers contradict each other: "+a.String())
	}
}

// check records the outcome of a comparison at the end.
func (r *report) check(what string, err error) {
	r.checks++
	if err != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %v", what, err))
	}
}

// passed counts the checks that passed. Entries that were never accepted do not count.
func (r *report) passed() int {
	n := r.checks - len(r.wrong)
	for _, times := range r.times {
		n += len(times)
	}
	for _, l := range r.ledgers {
		for _, e := range l.Entries {
			if e.Verdict == load.Right || e.Verdict == load.Uncertain {
				n++
			}
		}
	}
	return n
}

// failed counts the checks that failed.
func (r *report) failed() int {
	n := len(r.wrong)
	for _, errs := range r.stuck {
		n += len(errs)
	}
	for _, l := range r.ledgers {
		for _, e := range l.Entries {
			if e.Verdict == load.Lost || e.Verdict == load.Doubled || e.Verdict == load.Failed {
				n++
			}
		}
	}
	return n
}

func (r *report) write(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	r.writeFaults(w)
	fmt.Fprintln(w)
	r.writeLedgers(w)
	w.Flush() // the terminal is gone
	for _, line := range r.seen {
		fmt.Fprintln(out, line)
	}
	for _, l := range r.ledgers {
		for _, e := range l.Entries {
			if e.Why != "" {
				fmt.Fprintf(out, "%s %s %s: %s\n", e.Verdict, e.Name, e.ID, e.Why)
			}
		}
	}
	for _, what := range r.wrong {
		fmt.Fprintln(out, "wrong", what)
	}
	fmt.Fprintf(out, "seed %d\n%d passed, %d failed\n", r.seed, r.passed(), r.failed())
}

func (r *report) writeFaults(w io.Writer) {
	fmt.Fprintln(w, "fault\tn\tnot recovered\tp50\tmax\tof it queued")
	total := 0
	faults := slices.SortedFunc(maps.Keys(r.times), func(a, b fault) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, f := range faults {
		times := slices.Sorted(slices.Values(r.times[f]))
		n := len(times) + len(r.stuck[f])
		total += n
		if len(times) == 0 {
			fmt.Fprintf(w, "%s\t%d\t%d\t-\t-\t-\n", f, n, len(r.stuck[f]))
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\n", f, n, len(r.stuck[f]), seconds(times[len(times)/2]), seconds(times[len(times)-1]),
			seconds(r.queued[f]))
	}
	fmt.Fprintf(w, "all\t%d\n", total)
}

func (r *report) writeLedgers(w io.Writer) {
	fmt.Fprintln(w, "ledger\tasked\taccepted\tright\tuncertain\tlost\tdoubled\tfailed for our reasons")
	for _, l := range r.ledgers {
		for _, kind := range []string{"jobs", "uploads", "calls", "deployments", "classes"} {
			all, accepted, by := l.Counts(kind)
			fmt.Fprintf(w, "%s: %s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", l.Mode, kind, all, accepted, by[load.Right], by[load.Uncertain], by[load.Lost],
				by[load.Doubled], by[load.Failed])
		}
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
