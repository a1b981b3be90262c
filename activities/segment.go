package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Segments are the dependencies for running segments of graphs on ComfyUI servers.
type Segments struct {
	Pool        *placement.Pool
	Driver      *driving.Driver
	Credentials ServerCredentials // nil = servers get no credentials
	Slots       Slots             // nil = jobs that wait for a server keep their slots
	Sources     WeightSources     // nil = weights come from operators alone

	weights       *expirable.LRU[string, int] // shares of accounts in the queue
	firstSegments chan struct{}               // a token for each activity that plans a run and drives its first segment
}

// ServerCredentials returns the credentials of jobs that servers may get.
type ServerCredentials interface {
	// ForServer returns the credentials of Comfy.org that the server at an address gets with a prompt of a job, by their
	// names in extra_data.
	ForServer(ctx context.Context, ref job.RunRef, address string) (map[string]string, error)
}

const (
	maxWeights = 1024             // shares in memory
	weightFor  = 30 * time.Second // how long a share is used before the tier is read again
)

// NewSegments returns the dependencies of running segments.
func NewSegments(pool *placement.Pool, driver *driving.Driver) *Segments {
	return &Segments{
		Pool: pool, Driver: driver, weights: expirable.NewLRU[string, int](maxWeights, nil, weightFor),
		firstSegments: newFirstSegmentSlots(),
	}
}

// RunSegment runs one segment on a ComfyUI server, as an activity with heartbeats, however long the segment must
// wait. If the worker stops, it returns at once: the server continues, and the next driver finds the prompt.
func (g *Graph) RunSegment(ctx context.Context, p RunParams) (RunResult, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stopped := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-stopped:
			stop(errWorkerStops)
		}
	}()
	return g.RunLong(ctx, p)
}

// errWorkerStops is the cause of a context that ended because the worker is stopping.
var errWorkerStops = fault.Wrap(driving.ErrHandedOver, fault.Canceled, fault.CodeWorkerStops,
	"the worker is stopping; another one continues")

// stepSegment runs a segment and reports whether the chain continues.
func (c *chain) stepSegment(ctx context.Context, unit int, pn *graph.PlanNode) (bool, error) {
	if c.g.Segments == nil {
		return false, fault.New(fault.Unavailable, "", "this worker cannot reach ComfyUI servers")
	}
	args, goesOn, err := c.readyInputs(ctx, unit, pn)
	if args == nil {
		return goesOn, err
	}
	c.current = &job.NodeRef{Node: pn.Segment.Nodes[0].ID, Class: pn.Segment.Nodes[0].Class}
	key, err := pn.Segment.Key()
	if err != nil {
		return false, err
	}
	s := &segmentRun{
		chain: c, Segments: c.g.Segments, unit: unit, pn: pn, args: args,
		key: server.Key{Job: c.params.Job, Run: c.params.Run, Unit: key},
	}
	refs, err := s.run(ctx)
	var failed *segmentFailure
	switch {
	case errors.As(err, &failed):
		return c.failSegment(unit, failed)
	case err != nil:
		return false, err
	}
	c.result.Units = append(c.result.Units, graph.UnitResult{Unit: unit, Status: graph.Done, Values: refs})
	c.current = nil
	return true, nil
}

// failSegment records the failure of a node of a segment.
func (c *chain) failSegment(unit int, f *segmentFailure) (bool, error) {
	c.g.Log.Warn("node failed", "job_id", c.params.Job, "node_id", f.Node, "class", f.Class, "error", f.cause)
	c.events.add(f.Node, job.TypeNodeFailed, job.NodeFailedV1{Run: c.params.Run, Failure: f.Failure})
	c.result.Units = append(c.result.Units, graph.UnitResult{Unit: unit, Status: graph.Failed})
	c.result.Failed = f.Node
	return false, nil
}

// segmentRun runs one segment to its end, on as many servers as necessary.
type segmentRun struct {
	*chain
	*Segments
	unit int
	pn   *graph.PlanNode
	args node.Args
	key  server.Key
	wait server.Wait

	absent []absentWeight // fetched while the segment waits
}

// run returns the references of the values that nodes outside the segment read.
func (s *segmentRun) run(ctx context.Context) ([]string, error) {
	lease, err := s.lease(ctx)
	for err == nil {
		if lease.Result != nil {
			return s.storedResult(lease)
		}
		if lease, err = s.withSlot(ctx, lease); err != nil {
			break
		}
		var refs []string
		var again *retry
		if refs, again, err = s.attempt(ctx, lease); err != nil || again == nil {
			return refs, err
		}
		lease, err = s.waitForServer(ctx, again)
	}
	return nil, err
}

// lease takes over the lease of an earlier driver, or waits for a server.
func (s *segmentRun) lease(ctx context.Context) (server.Lease, error) {
	s.wait = s.newWait(ctx)
	l, err := s.Pool.Store().Retake(ctx, s.key, s.g.Worker)
	if fault.Is(err, fault.NotFound) {
		if err := s.continueAttempts(ctx); err != nil {
			return l, err
		}
		return s.waitForServer(ctx, nil)
	}
	if err == nil && l.Result != nil {
		res, err := readSegmentResult(l.Result)
		if err != nil {
			return l, err
		}
		for _, ref := range res.Values {
			if _, err := s.g.Values.Get(ctx, ref); fault.CodeOf(err) == fault.CodeValueMissing {
				s.wait.Cause = "its values were lost"
				s.wait.Attempt, s.wait.Fence = l.Attempt+1, l.Fence
				return s.waitForServer(ctx, nil)
			}
		}
	}
	s.wait.Attempt = l.Attempt
	return l, err
}

// continueAttempts numbers the attempts after those of an earlier driver whose lease is gone, because its server was removed.
func (s *segmentRun) continueAttempts(ctx context.Context) error {
	_, err := eventlog.Fold(s.g.Types, eventlog.Read(ctx, s.g.Events, s.params.Job.Stream(), 0), s,
		func(s *segmentRun, _ eventlog.Recorded, data any) *segmentRun {
			if e, ok := data.(job.SegmentPlacedV1); ok && e.Run == s.params.Run && e.Segment == s.unit {
				s.wait.Attempt = max(s.wait.Attempt, e.Attempt+1)
			}
			return s
		})
	if err != nil {
		return fmt.Errorf("read the earlier attempts of a segment of job %s: %w", s.params.Job, err)
	}
	return nil
}

// newWait returns the requirements of the segment for its server.
func (s *segmentRun) newWait(ctx context.Context) server.Wait {
	w := server.Wait{
		Key: s.key, Account: s.params.Account, Number: s.plan.number, Since: time.Now().UTC(), Attempt: 1,
		Labels: s.plan.source.Labels(), Weight: s.weight(ctx),
	}
	seen := map[string]bool{}
	for i := range s.pn.Segment.Nodes {
		n := &s.pn.Segment.Nodes[i]
		need := need(s.plan.classes, n)
		if raw, err := json.Marshal(need); err == nil && !seen[string(raw)] {
			seen[string(raw)] = true
			w.Needs = append(w.Needs, need)
		}
		for _, model := range s.Pool.Models(n.Class, n.Constants) {
			if !seen["model "+model] {
				seen["model "+model] = true
				w.Models = append(w.Models, model)
			}
		}
	}
	if s.absent = s.absentWeights(ctx); len(s.absent) > 0 {
		w.Fetching = s.absent[0].status(task.Progress{})
	}
	return w
}

// weight returns the share of the account in the queue: the number of jobs that its tier runs at the same time.
func (s *segmentRun) weight(ctx context.Context) int {
	if known, ok := s.weights.Get(s.params.Account); ok {
		return known
	}
	bounds, err := s.g.Tiers.Bounds(ctx, s.params.Account)
	if err != nil {
		s.g.Log.Warn("tier of an account not read; its segment waits with the least share", "account", s.params.Account, "error", err)
		return 1
	}
	s.weights.Add(s.params.Account, max(bounds.Slots, 1))
	return max(bounds.Slots, 1)
}

// need returns the requirements of a node for its server: the class, the choices among its constants, and, for a
// class that only servers have, the types that the plan uses.
func need(classes *node.Registry, n *graph.PlanNode) server.Need {
	need := server.Need{Class: n.Class}
	class, ok := classes.Lookup(n.Class)
	if !ok {
		return need
	}
	if class.Remote {
		need.Inputs, need.Outputs = map[string]string{}, []string{}
		for _, out := range class.Outputs {
			need.Outputs = append(need.Outputs, string(out.Type))
		}
	}
	need.Choices = map[string]string{}
	for _, in := range class.Inputs {
		constant, given := n.Constants[in.Name]
		_, linked := n.Links[in.Name]
		if choice, ok := constant.(string); ok && in.Type == node.Combo && in.Folder == "" {
			need.Choices[in.Name] = choice
		}
		if class.Remote && (given || linked) {
			need.Inputs[in.Name] = string(in.Type)
		}
	}
	return need
}

// retry describes why and how a segment is placed again.
type retry struct {
	lease  server.Lease // lease of the attempt that failed
	change func(*server.Wait)
}

// waitingAfter is how long a segment waits before the wait is recorded.
const waitingAfter = time.Second

// waitForServer waits for a server. It records the reason for a long wait.
func (s *segmentRun) waitForServer(ctx context.Context, after *retry) (server.Lease, error) {
	var queued func() error
	if after != nil {
		after.change(&s.wait)
		s.wait.Attempt, s.wait.Fence = after.lease.Attempt+1, after.lease.Fence
		queued = func() error { return s.Pool.Store().Drop(ctx, after.lease) }
	}
	l, cause, err := s.place(ctx, queued)
	if errors.Is(err, placement.ErrNoneFree) {
		return l, errFirstSegmentTime
	}
	var failed *segmentFailure
	if err != nil && (errors.Is(cause, errStopped) || errors.Is(cause, errClassesChanged) || errors.As(cause, &failed)) {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if err := s.Pool.EndWait(leave, s.wait); err != nil {
			s.g.Log.Warn("segment not removed from the queue; its entry will expire", "job_id", s.key.Job, "error", err)
		}
	}
	if err != nil && errors.Is(cause, errClassesChanged) {
		if s.Slots != nil { // other nodes may run before the segment
			if err := s.waitForSlot(ctx); err != nil {
				return l, err
			}
		}
		return l, s.replan(ctx)
	}
	if err != nil && failed != nil {
		return l, failed
	}
	return l, err
}

// place waits for a server, and returns the cause for which the wait ended early. It returns after its goroutines have ended.
func (s *segmentRun) place(ctx context.Context, queued func() error) (l server.Lease, cause, err error) {
	waiting, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop(nil)
	watching.Go(func() { s.watchClasses(waiting, stop) })
	if len(s.absent) > 0 {
		watching.Go(func() { s.fetchWeights(waiting, s.absent, stop) })
	}
	watching.Go(func() {
		if pause.For(waiting, waitingAfter) != nil {
			return
		}
		var w waitingJob
		s.recordWaiting(ctx, &w)
		if s.Slots != nil && !s.firstSegment {
			s.releaseSlot(waiting, &w)
		}
	})
	place := s.Pool.Place
	if s.firstSegment {
		place = s.Pool.PlaceNow
	}
	l, err = place(waiting, s.wait, queued)
	return l, context.Cause(waiting), err
}

// recordWaiting records why the segment waits, unless the job says already that it waits for a server. It runs during the wait and
// has a recorder of its own.
func (s *segmentRun) recordWaiting(ctx context.Context, w *waitingJob) {
	reason, err := s.Pool.WhyWaiting(ctx, s.key)
	if err != nil || reason == "" {
		return
	}
	recorded := func(wait job.SegmentWait) bool { return wait.Segment == s.unit && !wait.Slot }
	if err = w.read(ctx, s); err == nil && !slices.ContainsFunc(w.Waiting, recorded) {
		events := s.g.newRecorder(s.params.RunRef)
		events.pending = []eventlog.Event{eventlog.NewEvent(job.TypeSegmentWaiting, job.SegmentWaitingV1{
			Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: s.wait.Attempt, Reason: reason,
		})}
		err = events.flush(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.g.Log.Warn("segment wait not recorded", "job_id", s.key.Job, "error", err)
	}
}

// errTakenOver is the cause of a driver's end after another driver took its lease.
var errTakenOver = fault.New(fault.Unavailable, fault.CodeLeaseTakenOver, "another driver has taken the segment over")

// renewEvery is a sixth of a lease.
const renewEvery = 5 * time.Second

// renew renews a lease until ctx ends. If the lease is lost, it ends the driver.
func (s *segmentRun) renew(ctx context.Context, l server.Lease, lost context.CancelCauseFunc) {
	for range pause.Every(ctx, renewEvery) {
		mine, err := s.Pool.Store().Renew(ctx, l)
		switch {
		case err == nil && !mine:
			lost(errTakenOver)
			return
		case err != nil && ctx.Err() == nil:
			s.g.Log.Warn("segment lease not renewed", "job_id", l.Job, "error", err)
		}
	}
}

// attempt runs the segment under a lease. It returns a retry if another attempt must follow.
func (s *segmentRun) attempt(ctx context.Context, l server.Lease) ([]string, *retry, error) {
	srv, row, err := s.Pool.Server(l.Server)
	if fault.Is(err, fault.NotFound) {
		return nil, &retry{lease: l, change: func(w *server.Wait) { w.Cause = "its server was removed" }}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	extra, secrets, err := s.extra(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	if len(secrets) > 0 {
		srv = srv.Withholding(secrets...)
	}
	s.result.Server = string(row.ID)
	a := &segmentAttempt{segmentRun: s, lease: l, row: row, srv: srv}
	s.events.lease = func(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
		return s.record(ctx, l, a, nil)
	}
	s.events.after = 0 // the run begins on its server, even if a cancel request was recorded meanwhile
	if err := a.begin(ctx); err != nil {
		return nil, nil, err
	}
	driven, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	go s.renew(driven, l, lost)
	res, err := s.Driver.Drive(driven, driving.Run{
		Server: srv, Name: string(row.ID), Prompt: comfyui.NewPromptID(l.Prompt(l.Attempt)), NewPrompt: l.Fresh,
		Segment: s.pn.Segment, Graph: s.plan.source.Runs(), Inputs: s.args, Classes: s.plan.classes, Offers: s.Pool.Offers(row.ID), Extra: extra,
		Recorder: a, Ended: a.freeServer, Began: a.running != "",
		Files: func(id string) driving.NodeFiles { return s.g.Files(s.params.RunRef, id) },
	})
	a.made = res.Made
	if err != nil {
		return a.failed(ctx, cmp.Or(res.Ran, a.running), err)
	}
	refs, err := s.store(ctx, res.Outputs)
	if err != nil {
		return nil, nil, err
	}
	if refs, err = s.cacheResult(ctx, a, refs); err != nil {
		return nil, nil, err
	}
	a.measure(ctx)
	a.end(job.SegmentDone, "", "", nil)
	raw, err := segmentResult{Values: refs}.encode()
	s.done = &doneSegment{run: s, lease: l, result: raw, attempt: a}
	return refs, nil, err
}

// extra returns the extra_data of the prompt: the metadata for saved files, the preview method, and the credentials
// that the server gets. secrets are the values that answers of the server must not contain.
func (s *segmentRun) extra(ctx context.Context, row *server.Server) (extra map[string]json.RawMessage, secrets []string, err error) {
	extra = map[string]json.RawMessage{}
	for _, key := range []string{"extra_pnginfo", "preview_method"} {
		if raw, ok := s.plan.source.ExtraData[key]; ok && string(raw) != "null" {
			extra[key] = raw
		}
	}
	if s.Credentials == nil {
		return extra, nil, nil
	}
	given, err := s.Credentials.ForServer(ctx, s.params.RunRef, row.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("credentials for server %s: %w", row.URL, err)
	}
	for name, value := range given {
		if extra[name], err = json.Marshal(value); err != nil {
			return nil, nil, fmt.Errorf("encode a credential: %w", err)
		}
		secrets = append(secrets, value)
	}
	return extra, secrets, nil
}
