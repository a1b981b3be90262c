package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Kind describes how to read the streams of one kind of aggregate.
type Kind[S any] struct {
	Noun string // job, call, asset
	Fold func(S, eventlog.Recorded, any) S
	// Status returns the name of the state and whether that state is final.
	Status func(S) (word string, ended bool)
	// Phase returns the phase that an event starts. Its name is "" if the event starts no phase. Jobs have no phases.
	Phase func(event any) Phase
}

// StreamHistory holds the events of one job, call or asset, from the first, without gaps.
type StreamHistory[S any] struct {
	ID      string  `json:"id"`
	Account string  `json:"account"`
	Events  []Event `json:"events"`

	kind  Kind[S]
	final S
}

// ReadStream folds a stream. Events of types that registry does not know keep their stored data. A stream that
// does not begin with version 1, or has gaps, is an error.
func ReadStream[S any](kind Kind[S], registry *eventlog.Registry, recorded []eventlog.Recorded) (StreamHistory[S], error) {
	t := StreamHistory[S]{kind: kind, Events: make([]Event, 0, len(recorded))}
	for i, rec := range recorded {
		if rec.Version != int64(i+1) {
			return t, fmt.Errorf("%s: version %d found, want version %d", rec.Stream, rec.Version, i+1)
		}
		decoded, err := registry.DecodeKnown(rec)
		if err != nil {
			return t, err
		}
		t.final = kind.Fold(t.final, rec, decoded)
		word, _ := kind.Status(t.final)
		t.ID, t.Account = strings.TrimPrefix(rec.Stream, kind.Noun+"-"), rec.Account
		t.Events = append(t.Events, eventOf(rec, decoded, word))
	}
	return t, nil
}

// State returns the state after the last event.
func (t StreamHistory[S]) State() S { return t.final }

// At returns the history as it was at p. A version beyond the last event, or a time before the first
// event, is NotFound.
func (t StreamHistory[S]) At(p Point) (StreamHistory[S], error) {
	n, err := cut(t.Events, p)
	if err != nil {
		return t, fmt.Errorf("%s %s: %w", t.kind.Noun, t.ID, err)
	}
	past := t
	past.Events = t.Events[:n]
	var state S
	for _, f := range past.Events {
		state = t.kind.Fold(state, f.recorded, f.decoded)
	}
	past.final = state
	return past, nil
}

// Phase is a span of a call's or an asset's life, from the event that starts it to the event that starts the next.
type Phase struct {
	Name    string    `json:"phase"`
	Wait    bool      `json:"wait,omitempty"` // a wait: no work was done
	Open    bool      `json:"open,omitempty"` // has not ended
	Began   time.Time `json:"began"`
	Took    Millis    `json:"took"`
	Attempt int       `json:"attempt,omitempty"` // number of the try, if a step was tried again
	Worker  string    `json:"worker,omitempty"`  // the worker that did the work, if recorded
	Detail  string    `json:"detail,omitempty"`
}

// Phases lists the phases of a call or an asset with their durations.
type Phases struct {
	Noun    string    `json:"kind"`
	ID      string    `json:"id"`
	Account string    `json:"account"`
	State   string    `json:"state"`
	Began   time.Time `json:"began"`
	Until   time.Time `json:"until"` // when it ended; now if it has not
	Total   Millis    `json:"total"`
	Waited  Millis    `json:"waited"`
	Phases  []Phase   `json:"phases"`
}

// Phases measures the history. Phases that have not ended are measured up to now.
func (t StreamHistory[S]) Phases(now time.Time) Phases {
	word, ended := t.kind.Status(t.final)
	all := Phases{Noun: t.kind.Noun, ID: t.ID, Account: t.Account, State: word, Until: now, Phases: []Phase{}}
	last := len(t.Events) - 1
	all.Began = t.Events[0].At
	for i, f := range t.Events {
		ph := t.kind.Phase(f.decoded)
		final := ended && ph.Name == "" && i == last
		if ph.Name == "" && !final {
			continue
		}
		all.close(f)
		if ph.Name != "" {
			ph.Began, ph.Open = f.At, true
			all.Phases = append(all.Phases, ph)
		}
	}
	if ended {
		all.Until = t.Events[last].At
	}
	all.finish(ended)
	return all
}

// close ends the open phase at f. The actor of f did the work of the phase.
func (p *Phases) close(f Event) {
	if n := len(p.Phases); n > 0 && p.Phases[n-1].Open {
		open := &p.Phases[n-1]
		open.Took, open.Open = Millis(f.At.Sub(open.Began)), false
		open.Worker = cmp.Or(open.Worker, f.Actor)
		if open.Wait {
			open.Worker = ""
		}
	}
}

func (p *Phases) finish(ended bool) {
	p.Total = Millis(max(0, p.Until.Sub(p.Began)))
	for i := range p.Phases {
		if ph := &p.Phases[i]; ph.Open {
			ph.Took, ph.Open = Millis(max(0, p.Until.Sub(ph.Began))), !ended
		}
		if p.Phases[i].Wait {
			p.Waited += p.Phases[i].Took
		}
	}
}

// StreamComparison holds the differences between two calls or two assets.
type StreamComparison struct {
	Noun       string       `json:"kind"`
	A          string       `json:"a"`
	B          string       `json:"b"`
	State      []Difference `json:"state"`  // differences of the folded states
	Times      []Difference `json:"times"`  // by phase, in milliseconds
	Divergence *Divergence  `json:"parted"` // null if both have the same events in the same order
}

// Compare compares two calls or two assets by state, by duration of phases and by events.
func Compare[S any](a, b StreamHistory[S], now time.Time) (StreamComparison, error) {
	c := StreamComparison{Noun: a.kind.Noun, A: a.ID, B: b.ID, State: []Difference{}, Times: []Difference{}}
	fa, err := fields(a.final)
	if err != nil {
		return c, err
	}
	fb, err := fields(b.final)
	if err != nil {
		return c, err
	}
	for _, key := range keysOf(fa, fb) {
		if fa[key] != fb[key] {
			c.State = append(c.State, Difference{key, fa[key], fb[key]})
		}
	}
	pa, pb := a.Phases(now).spans(), b.Phases(now).spans()
	for _, name := range slices.Sorted(maps.Keys(keySet(pa, pb))) {
		c.Times = append(c.Times, Difference{name, pa[name], pb[name]})
	}
	c.Divergence = divergenceOf(a.Events, b.Events)
	return c, nil
}

func keySet[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for _, key := range keysOf(a, b) {
		all[key] = true
	}
	return all
}

// spans sums the phases by name.
func (p Phases) spans() map[string]string {
	sums := map[string]Millis{}
	for _, ph := range p.Phases {
		sums[ph.Name] += ph.Took
	}
	out := map[string]string{}
	for name, took := range sums {
		out[name] = Span(time.Duration(took))
	}
	return out
}

// uncomparedFields differ between any two aggregates and are not compared.
var uncomparedFields = map[string]bool{"id": true, "version": true, "position": true, "token": true}

// fields returns the leaves of a state by their paths, without secrets.
func fields(state any) (map[string]string, error) {
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode a state: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(Redact(raw), &tree); err != nil {
		return nil, fmt.Errorf("read a state: %w", err)
	}
	out := map[string]string{}
	for key, value := range tree {
		if !uncomparedFields[key] && !strings.HasSuffix(key, "_at") {
			flatten(out, key, value)
		}
	}
	return out, nil
}

func flatten(out map[string]string, path string, value any) {
	if tree, ok := value.(map[string]any); ok {
		for key, below := range tree {
			flatten(out, path+"."+key, below)
		}
		return
	}
	if text, ok := value.(string); ok {
		out[path] = text
		return
	}
	raw, err := json.Marshal(value)
	if err != nil {
		raw = []byte("?") // unreachable: value was decoded from JSON
	}
	out[path] = string(raw)
}

// Noun returns the kind of the aggregate: call or asset.
func (t StreamHistory[S]) Noun() string { return t.kind.Noun }
