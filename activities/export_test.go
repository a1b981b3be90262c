package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// ExceptionType is how a failure of a node is reported in the cloud contract's words.
var ExceptionType = exceptionType

// RuntimeType is the name of ComfyUI's exception.
var RuntimeType = runtimeType

// WatchProcesses sets how long processes with a mark are watched before they count as dead, and how often.
func (g *Graph) WatchProcesses(lasts, every time.Duration) {
	g.watch = watch{lasts: lasts, every: every}
}

// RunEmptySegment runs a segment without nodes, whose lease is kept in a store.
func (g *Graph) RunEmptySegment(ctx context.Context, store placement.Store) ([]string, error) {
	segments := NewSegments(placement.New(store, nil, nil, "", placement.Options{}), nil)
	segments.weights.Add("", 1) // of the account without a name
	s := &segmentRun{
		chain: &chain{g: g, plan: &planned{}}, Segments: segments, pn: &graph.PlanNode{Segment: &graph.Segment{}},
	}
	return s.run(ctx)
}

// WaitWithoutSlot has a segment of one node wait for a server, as far as the slot of its job is concerned.
func (g *Graph) WaitWithoutSlot(ctx context.Context, ref job.RunRef, unit int, node string, slots Slots) {
	g.waitingSegment(ref, unit, node, slots).releaseSlot(ctx, &waitingJob{})
}

func (g *Graph) waitingSegment(ref job.RunRef, unit int, node string, slots Slots) *segmentRun {
	pn := graph.PlanNode{ID: node, Segment: &graph.Segment{Nodes: []graph.PlanNode{{ID: node}}}}
	return &segmentRun{
		chain: &chain{g: g, plan: &planned{Plan: &graph.Plan{Nodes: []graph.PlanNode{pn}}}, params: RunParams{RunRef: ref}},
		unit:  unit, pn: &pn, Segments: &Segments{Slots: slots},
	}
}

// InputsOf returns the inputs of a node of a segment that failed.
func InputsOf(s *graph.Segment, failed *driving.NodeError) json.RawMessage {
	return (&segmentRun{pn: &graph.PlanNode{Segment: s}}).inputsOf(failed)
}

// AddSegment adds a segment to the plan of a job that was planned.
func (g *Graph) AddSegment(id job.ID, slots Slots) {
	g.Segments = &Segments{Slots: slots}
	p, _ := g.plans.Get(id)
	p.Nodes = append(p.Nodes, graph.PlanNode{ID: "on a server", Segment: &graph.Segment{}})
}

// PlanOtherwise changes the plan of a job that was planned, as if other servers had been registered then.
func (g *Graph) PlanOtherwise(id job.ID) {
	p, _ := g.plans.Get(id)
	p.hash = "other"
}

// FailAttempt lets an attempt of a segment of one node fail, and reports whether another attempt follows. If none does, the error is
// the failure of the node.
func (g *Graph) FailAttempt(
	ctx context.Context, store placement.Store, ref job.RunRef, l server.Lease, cause error,
) (again bool, err error) {
	segments := NewSegments(placement.New(store, nil, nil, "", placement.Options{}), nil)
	c := newChain(g, &planned{}, RunParams{RunRef: ref}, 1, g.newRecorder(ref))
	node := graph.PlanNode{ID: "5", Class: "KSampler"}
	s := &segmentRun{chain: c, Segments: segments, pn: &graph.PlanNode{Segment: &graph.Segment{Nodes: []graph.PlanNode{node}}}}
	a := &segmentAttempt{segmentRun: s, lease: l, row: &server.Server{ID: l.Server, URL: "http://" + string(l.Server)}}
	if err := a.begin(ctx); err != nil {
		return false, err
	}
	_, next, err := a.failed(ctx, "", cause)
	return next != nil, err
}

// RunConfirmed runs a batch as RunLong does, with another answer to the question whether the attempt still counts.
func (g *Graph) RunConfirmed(ctx context.Context, p RunParams, confirm func(context.Context) error) (RunResult, error) {
	t := deadline(g.Turn)
	t.confirm = confirm
	return g.run(ctx, p, t)
}
