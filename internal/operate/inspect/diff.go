package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Side is one of two jobs that are compared. Source is nil if its submission cannot be read.
type Side struct {
	History History
	Source  *job.Source
}

// Difference is a value that differs between two jobs. "" means that the value is absent.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// NodeDifference compares the outcome of one node in both jobs.
type NodeDifference struct {
	Node   string `json:"node"`
	Class  string `json:"class"`
	StateA string `json:"state_a"`
	StateB string `json:"state_b"`
	TookA  Millis `json:"took_a"`
	TookB  Millis `json:"took_b"`
}

// Comparison holds the differences between two jobs.
type Comparison struct {
	A          job.ID           `json:"a"`
	B          job.ID           `json:"b"`
	Job        []Difference     `json:"job"`   // state, account, error, …
	Graph      []Difference     `json:"graph"` // nodes, classes, inputs
	GraphKnown bool             `json:"graph_known"`
	Nodes      []NodeDifference `json:"nodes"`
	Divergence *Divergence      `json:"parted,omitempty"` // nil if both have the same events in the same order
}

// Divergence is the first version at which two histories differ.
type Divergence struct {
	Version int64  `json:"version"`
	A       string `json:"a"` // "" if the history has fewer versions
	B       string `json:"b"`
}

// Diff compares two jobs by submission, by events and by duration.
func Diff(a, b Side) (Comparison, error) {
	c := Comparison{A: a.History.Job(), B: b.History.Job(), Job: jobDifferences(a.History.final, b.History.final), Graph: []Difference{}}
	if a.Source != nil && b.Source != nil {
		graph, err := graphDifferences(a.Source.Prompt, b.Source.Prompt)
		if err != nil {
			return Comparison{}, err
		}
		c.Graph, c.GraphKnown = graph, true
	}
	c.Nodes, c.Divergence = nodeDifferences(a.History, b.History), divergence(a.History, b.History)
	return c, nil
}

func jobDifferences(a, b job.Job) []Difference {
	out := []Difference{}
	add := func(what, va, vb string) {
		if va != vb {
			out = append(out, Difference{what, va, vb})
		}
	}
	add("state", string(a.State), string(b.State))
	add("account", a.Account, b.Account)
	add("surface", string(a.Surface), string(b.Surface))
	add("outputs", IDs(a.Targets), IDs(b.Targets))
	add("nodes", fmt.Sprint(a.NodesTotal), fmt.Sprint(b.NodesTotal))
	add("cached", IDs(a.Cached), IDs(b.Cached))
	add("error", failureOf(a), failureOf(b))
	add("files", hashes(a), hashes(b))
	return out
}

func failureOf(j job.Job) string {
	if j.Error == nil {
		return ""
	}
	return FailureText(*j.Error)
}

// hashes lists the saved files by node and content hash, so that equal files with different names compare equal.
func hashes(j job.Job) string {
	var all []string
	for _, out := range j.Outputs {
		for _, f := range out.Files {
			all = append(all, out.Node+" "+strings.TrimPrefix(f.Hash, "blake3:")[:min(12, len(strings.TrimPrefix(f.Hash, "blake3:")))])
		}
	}
	return strings.Join(all, ", ")
}

// graphNode holds the parts of a node that affect its run. Titles and positions are ignored.
type graphNode struct {
	Class  string                     `json:"class_type"`
	Inputs map[string]json.RawMessage `json:"inputs"`
}

func graphDifferences(a, b json.RawMessage) ([]Difference, error) {
	var ga, gb map[string]graphNode
	if err := errors.Join(json.Unmarshal(Redact(a), &ga), json.Unmarshal(Redact(b), &gb)); err != nil {
		return nil, fmt.Errorf("read a graph: %w", err)
	}
	out := []Difference{}
	for _, id := range keysOf(ga, gb) {
		na, inA := ga[id]
		nb, inB := gb[id]
		if !inA || !inB || na.Class != nb.Class {
			out = append(out, Difference{id, na.Class, nb.Class})
			continue
		}
		for _, name := range keysOf(na.Inputs, nb.Inputs) {
			va, vb := compact(na.Inputs[name]), compact(nb.Inputs[name])
			if va != vb {
				out = append(out, Difference{id + "." + name, va, vb})
			}
		}
	}
	return out, nil
}

// keysOf returns the keys of both maps in order, numbers before words.
func keysOf[V any](a, b map[string]V) []string {
	seen := map[string]bool{}
	for _, m := range []map[string]V{a, b} {
		for k := range m {
			seen[k] = true
		}
	}
	keys := make([]string, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, byNumber)
	return keys
}

// byNumber orders numeric node ids by value: 2 before 10.
func byNumber(a, b string) int {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if digits(a) && digits(b) && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// compact returns a JSON value without insignificant space.
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if len(raw) == 0 || json.Compact(&out, raw) != nil {
		return ""
	}
	return out.String()
}

// nodeDifferences lists every node of either job with its outcome and time in both jobs.
func nodeDifferences(a, b History) []NodeDifference {
	sa, sb := lastSpans(a), lastSpans(b)
	out := []NodeDifference{}
	for _, id := range keysOf(sa, sb) {
		d := NodeDifference{Node: id, Class: sa[id].Class, StateA: sa[id].State, StateB: sb[id].State, TookA: sa[id].Took, TookB: sb[id].Took}
		d.Class = cmp.Or(d.Class, sb[id].Class)
		out = append(out, d)
	}
	return out
}

// lastSpans returns the node spans of the last run.
func lastSpans(h History) map[string]NodeSpan {
	spans := map[string]NodeSpan{}
	for _, s := range h.spans(h.final.UpdatedAt) {
		if s.Run == h.final.Run {
			spans[s.Node] = s
		}
	}
	return spans
}

// divergence compares the events of two histories without their times and durations.
func divergence(a, b History) *Divergence { return divergenceOf(a.Events, b.Events) }

func divergenceOf(a, b []Event) *Divergence {
	describe := func(events []Event, i int) string {
		if i >= len(events) {
			return ""
		}
		return strings.TrimSpace(shortType(events[i].Type) + " " + subject(events[i].decoded))
	}
	for i := range max(len(a), len(b)) {
		if sa, sb := describe(a, i), describe(b, i); sa != sb {
			return &Divergence{Version: int64(i + 1), A: sa, B: sb}
		}
	}
	return nil
}

// subject returns the node that an event refers to, or the reason of a failure.
func subject(data any) string {
	switch e := data.(type) {
	case job.NodeStartedV1:
		return e.Node + " " + e.Class
	case job.NodeExecutedV1:
		return e.Node + " " + e.Class
	case job.NodeFailedV1:
		return FailureText(e.Failure)
	case job.FailedV1:
		return FailureText(e.Failure)
	case job.NodesCachedV1:
		return IDs(e.Nodes)
	case call.FailedV1:
		return callFailure(e.Failure)
	case call.ReroutedV1:
		return e.Server
	case asset.VerifiedV1:
		if e.Scan != nil {
			return string(e.Scan.Verdict)
		}
	case asset.ScannedV1:
		return string(e.Scan.Verdict)
	}
	return ""
}
