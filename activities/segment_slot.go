package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Slots gives the slots of jobs that wait for ComfyUI servers to other jobs; jobstore.Store implements it.
type Slots interface {
	// ReleaseSlot reports false if the job keeps its slot for now. version is that of the job's stream which the caller has read.
	ReleaseSlot(ctx context.Context, ref job.RunRef, version int64, bounds job.Bounds) (bool, error)
	// TakeSlot reports whether the job has a slot now. If not, it records wait with the reason.
	TakeSlot(ctx context.Context, ref job.RunRef, bounds job.Bounds, wait job.SegmentWaitingV1) (bool, error)
}

const (
	releaseEvery = time.Second            // between two attempts to give the slot of a waiting job back
	idleFor      = time.Second            // a job gives its slot back if nothing happened to it for this time
	takeEvery    = 500 * time.Millisecond // between two attempts to take a slot again
)

// releaseSlot gives the slot of the job back as soon as the job does nothing but wait for servers. It ends with the wait.
func (s *segmentRun) releaseSlot(ctx context.Context) {
	tick := time.NewTicker(releaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		released, err := s.tryRelease(ctx)
		if err != nil && ctx.Err() == nil {
			s.g.Log.Warn("slot of a waiting job not released; it will be retried", "job_id", s.key.Job, "error", err)
		}
		if released {
			return
		}
	}
}

func (s *segmentRun) tryRelease(ctx context.Context) (bool, error) {
	j, err := eventlog.Fold(s.g.Types, eventlog.Read(ctx, s.g.Events, s.params.Job.Stream(), 0), job.Job{}, job.Fold)
	if err != nil || j.State != job.Running || len(j.Running) > 0 || time.Since(j.UpdatedAt) < idleFor {
		return false, err
	}
	bounds, err := s.g.Tiers.Bounds(ctx, s.params.Account)
	if err != nil {
		return false, err
	}
	return s.Slots.ReleaseSlot(ctx, s.params.RunRef, j.Version, bounds)
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
	tick := time.NewTicker(takeEvery)
	defer tick.Stop()
	for {
		if taken, err := s.takeSlot(ctx); taken || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (s *segmentRun) takeSlot(ctx context.Context) (bool, error) {
	bounds, err := s.g.Tiers.Bounds(ctx, s.params.Account)
	if err != nil {
		return false, err
	}
	return s.Slots.TakeSlot(ctx, s.params.RunRef, bounds, job.SegmentWaitingV1{
		Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: s.wait.Attempt,
	})
}
