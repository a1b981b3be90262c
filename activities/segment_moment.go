package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

const (
	// moment is how long the activity that plans a run drives its first segment. It is a local activity: the workflow task
	// waits for it, which must not take long.
	moment = time.Second
	// momentsPerCPU bounds the activities that plan runs and drive segments at once, so that others can plan meanwhile.
	momentsPerCPU = 4
)

// errMomentOver is the cause of a context that ends because RunSegment goes on with a segment.
var errMomentOver = fmt.Errorf("RunSegment continues: %w", driving.ErrHandedOver)

func newMoments() chan struct{} { return make(chan struct{}, momentsPerCPU*runtime.NumCPU()) }

// beginMoment reports whether a segment may be driven for a moment. The caller calls end after it.
func (s *Segments) beginMoment() (end func(), ok bool) {
	if s == nil {
		return nil, false
	}
	select {
	case s.moments <- struct{}{}:
		return func() { <-s.moments }, true
	default:
		return nil, false
	}
}

// driveFirst runs a segment, the first batch of its run, if a server is free and runs it within a moment. A short segment
// then costs no activity of its own. Otherwise RunSegment goes on: with the segment's place in the queue, or with its
// prompt on the server.
func (g *Graph) driveFirst(ctx context.Context, c *chain, sched *graph.Scheduler, batch int, res BeginResult) (BeginResult, error) {
	c.moment = true
	brief, cancel := context.WithTimeoutCause(ctx, moment, errMomentOver)
	defer cancel()
	first, err := g.runChain(brief, c)
	switch {
	case errors.Is(err, errMomentOver):
		c.events.lease = nil // it may be another driver's by now
		return res, c.events.flush(ctx)
	case err != nil:
		return BeginResult{}, err
	}
	return g.afterFirst(ctx, c, sched, batch, res, first)
}
