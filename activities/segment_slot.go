package activities

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Slots gives the slots of jobs that wait for ComfyUI servers to other jobs; jobstore.Store implements it.
type Slots interface {
	// ReleaseSlot reports false if the job keeps its slot for now. version is that of the job's stream which the caller has read.
	ReleaseSlot(ctx context.Context, ref job.RunRef, version int64, bounds job.Bounds) (bool, error)
	// TakeSlot reports whether the job has a slot now. If not, it records wait, to whose reason it adds the lack of a slot.
	TakeSlot(ctx context.Context, ref job.RunRef, bounds job.Bounds, wait job.SegmentWaitingV1) (bool, error)
}

const (
	releaseEvery = time.Second            // between two attempts to give the slot of a waiting job back
	idleFor      = time.Second            // a job gives its slot back if nothing happened to it for this time
	takeEvery    = 500 * time.Millisecond // between two attempts of a segment to take a slot again
	retakeAfter  = time.Second            // between two attempts of other nodes, each of which is an attempt of an activity
)

// waitingJob is the job of a waiting segment, as far as the segment has read its stream.
type waitingJob struct {
	job.Job
	released bool // the slot was given back, and nothing wants it again
}

// read reads the events that the job has had since the last call.
func (w *waitingJob) read(ctx context.Context, s *segmentRun) error {
	events := eventlog.Read(ctx, s.g.Events, s.params.Job.Stream(), w.Version)
	read, err := eventlog.Fold(s.g.Types, events, *w, func(w waitingJob, rec eventlog.Recorded, data any) waitingJob {
		w.Job = job.Fold(w.Job, rec, data)
		switch e := data.(type) {
		case job.SlotReleasedV1:
			w.released = true
		case job.SlotTakenV1:
			w.released = false
		case job.SegmentWaitingV1:
			w.released = w.released && !e.Slot
		}
		return w
	})
	if err == nil {
		read.Outputs = nil // they may be large, and nothing reads them
		*w = read
	}
	return err
}

// idle reports whether the job does nothing but wait for servers. Nodes of segments do not count: one that began on a server that
// was lost counts as running until it begins again, and a segment that runs has a lease, for which the store looks.
func (w *waitingJob) idle(s *segmentRun) bool {
	if w.State != job.Running || time.Since(w.UpdatedAt) < idleFor {
		return false
	}
	for _, wait := range w.Waiting {
		if wait.Slot && wait.Segment != s.unit {
			return false // other nodes want the slot
		}
	}
	for id := range w.Running {
		if !s.plan.onServer(id) {
			return false
		}
	}
	return true
}

// onServer reports whether a node is part of a segment.
func (p *planned) onServer(id string) bool {
	return slices.ContainsFunc(p.Nodes, func(pn graph.PlanNode) bool {
		return pn.Segment != nil && slices.ContainsFunc(pn.Segment.Nodes, func(n graph.PlanNode) bool { return n.ID == id })
	})
}

// releaseSlot gives the slot of the job back whenever the job does nothing but wait for servers, until the wait ends. w is what the
// segment knows of its job.
func (s *segmentRun) releaseSlot(ctx context.Context, w *waitingJob) {
	for range pause.Every(ctx, releaseEvery) {
		if err := s.tryRelease(ctx, w); err != nil && ctx.Err() == nil {
			s.g.Log.Warn("slot of a waiting job not released; it will be retried", "job_id", s.key.Job, "error", err)
		}
	}
}

func (s *segmentRun) tryRelease(ctx context.Context, w *waitingJob) error {
	if err := w.read(ctx, s); err != nil || w.released || !w.idle(s) {
		return err
	}
	bounds, err := s.g.Tiers.Bounds(ctx, s.params.Account)
	if err != nil {
		return err
	}
	_, err = s.Slots.ReleaseSlot(ctx, s.params.RunRef, w.Version, bounds)
	return err
}

// withSlot has the job take a slot again before it uses a lease. If none is free, it gives the server back, and waits for a slot
// and then for a server.
func (s *segmentRun) withSlot(ctx context.Context, l server.Lease) (server.Lease, error) {
	for s.Slots != nil && !s.firstSegment { // a run has a slot when it is planned
		taken, err := s.takeSlot(ctx)
		if taken || err != nil {
			return l, err
		}
		if err := s.Pool.Store().Drop(ctx, l); err != nil {
			return l, err
		}
		s.Pool.Freed()
		if err := s.waitForSlot(ctx); err != nil {
			return l, err
		}
		if l, err = s.waitForServer(ctx, nil); err != nil {
			return l, err
		}
	}
	return l, nil
}

// waitForSlot waits until the job has a slot.
func (s *segmentRun) waitForSlot(ctx context.Context) error {
	for {
		if taken, err := s.takeSlot(ctx); taken || err != nil {
			return err
		}
		if pause.For(ctx, takeEvery) != nil {
			return context.Cause(ctx)
		}
	}
}

func (s *segmentRun) takeSlot(ctx context.Context) (bool, error) {
	return s.Segments.takeSlot(ctx, s.chain, job.SegmentWaitingV1{
		Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: s.wait.Attempt, Reason: "a ComfyUI server is free",
	})
}

func (s *Segments) takeSlot(ctx context.Context, c *chain, wait job.SegmentWaitingV1) (bool, error) {
	bounds, err := c.g.Tiers.Bounds(ctx, c.params.Account)
	if err != nil {
		return false, err
	}
	return s.Slots.TakeSlot(ctx, c.params.RunRef, bounds, wait)
}

// needSlot has a job whose segments may have given its slot back take a slot before a batch of other nodes runs. If none is free, the
// attempt ends with an error, and a later one asks again: a worker's places are not occupied by batches that wait.
func (c *chain) needSlot(ctx context.Context) error {
	first := c.params.Units[0]
	inSegment := func(pn graph.PlanNode) bool { return pn.Segment != nil }
	s := c.g.Segments
	if s == nil || s.Slots == nil || inSegment(c.plan.Nodes[first]) || !slices.ContainsFunc(c.plan.Nodes, inSegment) {
		return nil
	}
	taken, err := s.takeSlot(ctx, c, job.SegmentWaitingV1{
		Run: c.params.Run, Segment: first, Node: c.plan.Nodes[first].ID, Attempt: c.attempt, Reason: "its inputs are ready",
	})
	if taken || err != nil {
		return err
	}
	return temporal.NewApplicationErrorWithOptions("the slots of the account are in use", attempt.ErrNoSlot,
		temporal.ApplicationErrorOptions{NextRetryDelay: retakeAfter})
}
