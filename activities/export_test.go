package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
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
	if g.Tiers == nil {
		segments.weights.Add("", 1) // of the account without a name
	}
	s := &segmentRun{
		chain: &chain{g: g, plan: &planned{}}, Segments: segments, pn: &graph.PlanNode{Segment: &graph.Segment{}},
	}
	return s.run(ctx)
}

// RunWithSlots runs a segment of one node, whose lease is kept in a store and whose job may have to take a slot again.
func (g *Graph) RunWithSlots(ctx context.Context, store placement.Store, ref job.RunRef, slots Slots) error {
	s := g.waitingSegment(ref, 0, "1", slots)
	s.Segments = NewSegments(placement.New(store, nil, nil, "", placement.Options{}), nil)
	s.Slots, s.key = slots, server.Key{Job: ref.Job, Run: ref.Run}
	_, err := s.run(ctx)
	return err
}

// ErrFirstSegmentTime ends the first segment of a run in the activity that planned it.
var ErrFirstSegmentTime = errFirstSegmentTime

// DriveFirst begins a run, of which the first batch is a segment. The lease under which its events are recorded is lost.
func (g *Graph) DriveFirst(ctx context.Context, store placement.Store, ref job.RunRef) error {
	s := g.waitingSegment(ref, 0, "1", nil)
	g.Segments = NewSegments(placement.New(store, nil, nil, "", placement.Options{}), nil)
	c := newChain(g, s.plan, RunParams{RunRef: ref, Units: []int{0}}, 1, g.newRecorder(ref))
	c.events.add("", job.TypeStarted, job.StartedV1{Run: ref.Run})
	c.events.lease = func(context.Context, eventlog.Append) ([]eventlog.Recorded, error) { return nil, errTakenOver }
	_, err := g.driveFirst(ctx, c, graph.NewScheduler(graph.Shape{Units: []graph.Unit{{Segment: true}}}), 0, BeginResult{})
	return err
}

// PlaceFirst waits for a server for a segment that is the first batch of its run.
func (g *Graph) PlaceFirst(ctx context.Context, store placement.Store, ref job.RunRef) error {
	s := g.waitingSegment(ref, 0, "1", nil)
	s.Segments, s.firstSegment = NewSegments(placement.New(store, nil, nil, "", placement.Options{}), nil), true
	serving, stop := context.WithCancel(ctx)
	served := make(chan error)
	go func() { served <- s.Pool.Serve(serving) }()
	_, err := s.waitForServer(ctx, nil)
	stop()
	return errors.Join(err, <-served)
}

// KeepForRetry keeps what a retry of a job takes from its original job.
func (g *Graph) KeepForRetry(ctx context.Context, id job.ID, key nodecache.Key, taken nodecache.Entry) {
	p := &planned{keys: []nodecache.Key{key}, searchKeys: []nodecache.Key{taken.Key}}
	g.keepForRetries(ctx, p, job.Job{ID: id}, nodecache.Answer{Units: []int{0}, Hits: map[int]nodecache.Entry{0: taken}})
}

// SearchesElsewhere reports whether a job with one node of a class on a server looks for results under other keys than its own.
func (g *Graph) SearchesElsewhere(ctx context.Context, ref job.RunRef, class string, origin *job.Origin) bool {
	p := g.waitingSegment(ref, 0, "1", nil).plan
	p.Nodes[0].Segment.Nodes[0].Class = class
	g.identify(ctx, ref, p, &graph.Graph{}, origin, nil)
	return p.searchKeys[0] != p.keys[0]
}

// AbsentWeights returns the names of the model files to fetch for a node on a server.
func (g *Graph) AbsentWeights(ctx context.Context, sources WeightSources, class string, constants node.Args) (names []string) {
	s := g.waitingSegment(job.RunRef{}, 0, "1", nil)
	s.Sources = sources
	s.pn.Segment.Nodes[0].Class, s.pn.Segment.Nodes[0].Constants = class, constants
	for _, w := range s.absentWeights(ctx) {
		names = append(names, w.Name)
	}
	return names
}

// WaitWithoutSlot has a segment of one node wait for a server, as far as the slot of its job is concerned.
func (g *Graph) WaitWithoutSlot(ctx context.Context, ref job.RunRef, unit int, id string, slots Slots) {
	g.waitingSegment(ref, unit, id, slots).releaseSlot(ctx, &waitingJob{})
}

func (g *Graph) waitingSegment(ref job.RunRef, unit int, id string, slots Slots) *segmentRun {
	pn := graph.PlanNode{ID: id, Segment: &graph.Segment{Nodes: []graph.PlanNode{{ID: id}}}}
	return &segmentRun{
		chain: &chain{
			g: g, plan: &planned{Plan: &graph.Plan{Nodes: []graph.PlanNode{pn}}, classes: g.Classes}, params: RunParams{RunRef: ref},
		},
		unit: unit, pn: &pn, Segments: &Segments{Slots: slots},
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

// ExpandedNodes plans a run with its first expansion, then with its second, and so on, and at last with the first again. It returns the
// number of expanded nodes of each of these plans after all have been made.
func (g *Graph) ExpandedNodes(ctx context.Context, p RunParams) (counts []int) {
	base, _ := g.plans.Get(p.Job)
	base.latest.plan, base.latest.expansions = nil, nil
	var plans []*planned
	for n := range len(p.Expansions) + 1 {
		some := p
		some.Expansions = slices.Clone(p.Expansions[:n%len(p.Expansions)+1])
		if plan, err := g.expandPlan(ctx, base, some); err == nil {
			plans = append(plans, plan)
		}
	}
	for _, plan := range plans {
		counts = append(counts, len(plan.expanded))
	}
	return counts
}

// AttemptFailure is how an attempt of a segment fails.
type AttemptFailure struct {
	Cause   error
	Ran     string         // the node that ran, "" = not known
	Began   string         // the node that began last, "" = none
	Server  comfyui.Server // nil = it is not asked for anything
	Classes *node.Registry // nil = there are no servers
}

// FailAttempt lets an attempt of a segment of one node fail, and returns the wait of the next attempt. If none follows, it is nil, and the
// error is the failure of the node.
func (g *Graph) FailAttempt(
	ctx context.Context, store placement.Store, ref job.RunRef, l server.Lease, f AttemptFailure,
) (*server.Wait, error) {
	a, err := g.Attempt(ctx, store, ref, l, f.Classes)
	if err != nil {
		return nil, err
	}
	a.srv = f.Server
	if f.Began != "" {
		if err := a.Started(ctx, f.Began, nil); err != nil {
			return nil, err
		}
	}
	_, next, err := a.failed(ctx, cmp.Or(f.Ran, a.running), f.Cause)
	if next == nil {
		return nil, err
	}
	wait := a.wait
	next.change(&wait)
	return &wait, err
}

// SegmentAttempt is an attempt of a segment on a server.
type SegmentAttempt = segmentAttempt

// Attempt returns an attempt of a segment of one node, which begins. Without classes there are no servers.
func (g *Graph) Attempt(
	ctx context.Context, store placement.Store, ref job.RunRef, l server.Lease, classes *node.Registry,
) (*SegmentAttempt, error) {
	segments := NewSegments(placement.New(store, nil, classes, "", placement.Options{Log: g.Log}), driving.New(driving.Options{}))
	if classes != nil {
		if _, err := segments.Pool.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	c := newChain(g, &planned{outputs: &outputSizes{}}, RunParams{RunRef: ref}, 1, g.newRecorder(ref))
	sampler := graph.PlanNode{ID: "5", Class: "KSampler"}
	s := &segmentRun{chain: c, Segments: segments, pn: &graph.PlanNode{Segment: &graph.Segment{Nodes: []graph.PlanNode{sampler}}}}
	row := &server.Server{ID: l.Server, URL: "http://" + string(l.Server), Devices: []server.Device{{Total: 8 << 30}}}
	a := &segmentAttempt{segmentRun: s, lease: l, row: row}
	return a, a.begin(ctx)
}

// Measure records what was learned about the server when the segment has ended.
func (s *segmentAttempt) Measure(ctx context.Context) { s.measure(ctx) }

// FreeServer frees the server for another segment while the outputs of this one are copied.
func (s *segmentAttempt) FreeServer() { s.freeServer() }

// Renew keeps the lease until ctx ends or the lease is lost.
func (s *segmentAttempt) Renew(ctx context.Context, lost context.CancelCauseFunc) {
	s.renew(ctx, s.lease, lost)
}

// Cancel ends the attempt, which records its events under its lease, on a server.
func (s *segmentAttempt) Cancel(ctx context.Context, srv comfyui.Server) error {
	s.srv, s.events.lease = srv, func(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
		return s.record(ctx, s.lease, a, nil)
	}
	return s.canceled(ctx)
}

// RecordWaiting records why the segment waits.
func (s *segmentAttempt) RecordWaiting(ctx context.Context) { s.recordWaiting(ctx, &waitingJob{}) }

// Extra returns the extra data of the prompt, with credentials.
func (s *segmentAttempt) Extra(
	ctx context.Context, given ServerCredentials, source job.Source,
) (extra map[string]json.RawMessage, secrets []string, err error) {
	s.Credentials, s.plan.source = given, source
	return s.extra(ctx, s.row)
}

// CacheResult keeps the result of the segment in a cache, and returns the references of its values.
func (s *segmentAttempt) CacheResult(ctx context.Context, cache *nodecache.Cache, refs []string) ([]string, error) {
	s.g.Cache, s.plan.keys = cache, []nodecache.Key{{1}}
	s.plan.Plan = &graph.Plan{Nodes: []graph.PlanNode{*s.pn}}
	return s.cacheResult(ctx, s, refs)
}

// Need is what a node of a segment needs of its server.
var Need = need

// ErrStopped is the cause of the end of a canceled job.
var ErrStopped = errStopped

// ErrTakenOver ends a driver whose lease another one has.
var ErrTakenOver = errTakenOver

// StoredResult reads the result that an earlier driver of a segment stored.
func StoredResult(raw []byte) ([]string, error) {
	return (*segmentRun)(nil).storedResult(server.Lease{Result: raw})
}

// Watched returns the number of jobs that stops has not forgotten.
func (s *Stops) Watched() int { return len(s.running) }

// OfNode returns the models for one node of a run.
func (p *Partners) OfNode(ref job.RunRef, id string) node.Models { return p.of(ref, id) }

// FailureOf returns the failure of a node on a server.
func FailureOf(err error) job.Failure {
	var failed *segmentFailure
	if errors.As(err, &failed) {
		return failed.Failure
	}
	return job.Failure{}
}
