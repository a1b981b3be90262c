package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Timeline breaks a job's time down into waits, nodes and servers. Durations are nanoseconds in Go and
// milliseconds in JSON.
type Timeline struct {
	Job         job.ID       `json:"id"`
	Public      job.PublicID `json:"public_id,omitempty"` // where the client chose one
	Account     string       `json:"account"`
	State       job.State    `json:"state"`
	SubmittedAt time.Time    `json:"submitted_at"`
	Until       time.Time    `json:"until"`       // when the job ended; now if it has not
	WaitedSlot  Millis       `json:"waited_slot"` // from the submission to the last admission
	WaitedStart Millis       `json:"waited_start"`
	Ran         Millis       `json:"ran"`
	InNodes     Millis       `json:"in_nodes"` // at least one node was running
	Total       Millis       `json:"total"`
	Worker      string       `json:"worker,omitempty"` // worker that started the last run
	Run         int          `json:"run"`
	Executed    int          `json:"executed"`   // nodes of the last run that ran to their end
	CacheHits   int          `json:"cache_hits"` // nodes of the last run with a cached result
	Nodes       []NodeSpan   `json:"nodes"`

	Waiting  []job.SegmentWait `json:"waiting,omitempty"`  // parts of the graph that wait for a ComfyUI server, and the reasons
	Warnings []job.Warning     `json:"warnings,omitempty"` // of a job that succeeded

	Servers []ServerSpan `json:"servers,omitempty"` // ComfyUI servers that ran parts of the graph
}

// ServerSpan is one attempt of a part of the graph on a ComfyUI server.
type ServerSpan struct {
	Run     int       `json:"run"`
	Segment int       `json:"segment"` // index of the unit in the plan
	Nodes   int       `json:"nodes"`
	Attempt int       `json:"attempt"`
	URL     string    `json:"url"`
	Reason  string    `json:"reason"`
	Outcome string    `json:"outcome"` // "running" until the attempt has ended
	Problem string    `json:"problem,omitempty"`
	Began   time.Time `json:"began"`
	Took    Millis    `json:"took"`
	Cost    int64     `json:"cost_micros,omitempty"` // at the server's price, in USD millionths
}

// servers returns the attempts on servers. Attempts that have not ended are measured up to until.
func (h History) servers(until time.Time) []ServerSpan {
	var spans []ServerSpan
	for _, f := range h.Events {
		switch e := f.decoded.(type) {
		case job.SegmentPlacedV1:
			spans = append(spans, ServerSpan{
				Run: e.Run, Segment: e.Segment, Nodes: e.Count, Attempt: e.Attempt, URL: e.URL, Reason: e.Reason,
				Outcome: NodeRunning, Began: f.At, Took: Millis(max(0, until.Sub(f.At))),
			})
		case job.SegmentEndedV1:
			for i := range spans {
				if s := &spans[i]; s.Run == e.Run && s.Segment == e.Segment && s.Attempt == e.Attempt {
					s.Outcome, s.Problem, s.Took = e.Outcome, e.Problem, Millis(time.Duration(e.Millis)*time.Millisecond)
					s.Cost = e.Cost(math.MaxInt64)
				}
			}
		}
	}
	return spans
}

// Millis is a duration that JSON shows in milliseconds.
type Millis time.Duration

// MarshalJSON implements json.Marshaler.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// Outcomes of a node.
const (
	NodeExecuted    = "executed"
	NodeCached      = "cached"
	NodeFailed      = "failed"
	NodeRunning     = "running"
	NodeInterrupted = "interrupted" // the job ended while the node ran
)

// NodeSpan is one node in one run.
type NodeSpan struct {
	Run   int       `json:"run"`
	Node  string    `json:"node"`
	Class string    `json:"class,omitempty"`
	State string    `json:"state"`
	Began time.Time `json:"began"` // start of the attempt that ended the node
	Ended time.Time `json:"ended"`
	Took  Millis    `json:"took"` // measured by the worker, or else the time between the node's events
	// part of the time, at its beginning: waiting for a slot among the account's calls of partner models
	Waited  Millis `json:"waited,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`
	Retried bool   `json:"retried,omitempty"` // the node ended on another worker than it started on
	Files   int    `json:"files,omitempty"`
}

// Timeline measures the history. A job that has not ended is measured up to now.
func (h History) Timeline(now time.Time) Timeline {
	j := h.final
	t := Timeline{Job: h.Job(), Public: h.Public, Account: h.Account, State: j.State, SubmittedAt: j.SubmittedAt, Until: now, Run: j.Run}
	if !j.State.Final() {
		t.Waiting = j.Waiting
	}
	t.Warnings = j.Warnings()
	if j.EndedAt != nil {
		t.Until = *j.EndedAt
	}
	admitted, started := t.Until, t.Until
	if j.AdmittedAt != nil {
		admitted = *j.AdmittedAt
	}
	if j.StartedAt != nil {
		started = *j.StartedAt
	}
	t.WaitedSlot = Millis(admitted.Sub(j.SubmittedAt))
	t.WaitedStart = Millis(max(0, started.Sub(admitted)))
	t.Ran, t.Total = Millis(t.Until.Sub(started)), Millis(t.Until.Sub(j.SubmittedAt))
	t.Nodes, t.Servers = h.spans(t.Until), h.servers(t.Until)
	t.InNodes = Millis(covered(t.Nodes, started))
	for _, n := range t.Nodes {
		switch {
		case n.Run != j.Run:
		case n.State == NodeExecuted:
			t.Executed++
		case n.State == NodeCached:
			t.CacheHits++
		}
	}
	for _, f := range h.Events {
		if e, ok := f.decoded.(job.StartedV1); ok && e.Run == j.Run {
			t.Worker = e.Worker
		}
	}
	return t
}

type spanKey struct {
	run  int
	node string
}

// spans returns the nodes in the order in which they started.
func (h History) spans(until time.Time) []NodeSpan {
	c := spanCollector{at: map[spanKey]int{}}
	for _, f := range h.Events {
		c.see(f)
	}
	for i := range c.spans {
		s := &c.spans[i]
		if s.State != NodeRunning {
			continue
		}
		if h.final.State.Final() || s.Run != h.final.Run {
			s.State = NodeInterrupted
		}
		s.Ended, s.Took = until, Millis(max(0, until.Sub(s.Began)))
	}
	slices.SortStableFunc(c.spans, func(a, b NodeSpan) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), a.Began.Compare(b.Began))
	})
	return c.spans
}

type spanCollector struct {
	spans []NodeSpan
	at    map[spanKey]int
}

// of returns the span of a node, and adds one if the node's start was not recorded.
func (c *spanCollector) of(run int, node string, at time.Time) *NodeSpan {
	key := spanKey{run, node}
	i, ok := c.at[key]
	if !ok {
		i = len(c.spans)
		c.at[key] = i
		c.spans = append(c.spans, NodeSpan{Run: run, Node: node, State: NodeRunning, Began: at})
	}
	return &c.spans[i]
}

func (c *spanCollector) see(f Event) {
	switch e := f.decoded.(type) {
	case job.NodesCachedV1:
		for _, node := range e.Nodes {
			s := c.of(e.Run, node, f.At)
			s.State, s.Ended, s.Worker = NodeCached, f.At, f.Actor
		}
	case job.NodeStartedV1:
		c.of(e.Run, e.Node, f.At).start(f, e)
	case job.NodeExecutedV1:
		s := c.of(e.Run, e.Node, f.At)
		s.Class, s.Files = e.Class, len(e.Files)
		s.end(f, NodeExecuted)
		s.Waited = Millis(time.Duration(e.Waited) * time.Millisecond)
		if s.Took = Millis(time.Duration(e.Millis) * time.Millisecond); e.Cached {
			s.State = NodeCached
		}
		// The recorded start may be late or early: events of short nodes are appended in one batch, and not every
		// retry records a second start.
		if measured := f.At.Add(-time.Duration(s.Took)); s.Retried || measured.Before(s.Began) {
			s.Began = measured
		}
	case job.NodeFailedV1:
		s := c.of(e.Run, cmp.Or(e.Inner, e.Failure.Node), f.At)
		s.Class = cmp.Or(s.Class, e.Failure.Class)
		s.end(f, NodeFailed)
	}
}

// start starts the span or its next attempt. A node whose end is recorded does not change: it may run again to
// replace an in-memory result that was lost, but its end is then not recorded a second time.
func (s *NodeSpan) start(f Event, e job.NodeStartedV1) {
	if s.State != NodeRunning {
		return
	}
	s.Retried = s.Retried || s.Worker != "" && s.Worker != f.Actor
	s.Class, s.Attempt, s.Worker, s.Began = e.Class, e.Attempt, f.Actor, f.At
}

func (s *NodeSpan) end(f Event, state string) {
	s.Retried = s.Retried || s.Worker != "" && s.Worker != f.Actor
	s.State, s.Worker, s.Ended = state, f.Actor, f.At
	s.Took = Millis(f.At.Sub(s.Began))
}

// covered returns for how long after from at least one node was running.
func covered(spans []NodeSpan, from time.Time) time.Duration {
	var sum time.Duration
	ordered := slices.Clone(spans)
	slices.SortFunc(ordered, func(a, b NodeSpan) int { return a.Began.Compare(b.Began) })
	for _, s := range ordered {
		began, ended := s.Began, s.Began.Add(time.Duration(s.Took))
		if began.Before(from) {
			began = from
		}
		if ended.After(began) {
			sum += ended.Sub(began)
			from = ended
		}
	}
	return sum
}

// NameClasses fills in the classes of cached nodes, whose events do not name them, from the graph that runs.
// A nil source leaves them empty.
func (t *Timeline) NameClasses(source *job.Source) error {
	if source == nil {
		return nil
	}
	var graph map[string]graphNode
	if err := json.Unmarshal(source.Runs(), &graph); err != nil {
		return fmt.Errorf("read a graph: %w", err)
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Class == "" {
			n.Class = graph[n.Node].Class
		}
	}
	return nil
}

// Duration returns m as a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// Span formats a duration for people, in one or two units.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}
