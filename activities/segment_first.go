package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

const (
	// firstSegmentTime bounds how long the activity that plans a run drives its first segment. It is a local activity, and the
	// workflow task waits for it.
	firstSegmentTime = time.Second
	// firstSegmentsPerCPU bounds the activities that plan runs and drive segments at the same time, so that other runs can
	// be planned meanwhile.
	firstSegmentsPerCPU = 4
)

// errFirstSegmentTime is the cause of a context that ends because RunSegment continues the segment.
var errFirstSegmentTime = fmt.Errorf("RunSegment continues: %w", driving.ErrHandedOver)

func newFirstSegmentSlots() chan struct{} {
	return make(chan struct{}, firstSegmentsPerCPU*runtime.NumCPU())
}

// beginFirstSegment reports whether the segment of a unit may be driven for a moment. The caller must call end afterwards. Between two
// drivers no socket is open, so a segment has one driver if its classes may send pictures and messages that a server does not repeat.
func (s *Segments) beginFirstSegment(p *planned, unit int) (end func(), ok bool) {
	if s == nil || slices.ContainsFunc(p.Nodes[unit].Segment.Nodes, p.ofPack) {
		return nil, false
	}
	select {
	case s.firstSegments <- struct{}{}:
		return func() { <-s.firstSegments }, true
	default:
		return nil, false
	}
}

// ofPack reports whether a node has a class of a node pack.
func (p *planned) ofPack(n graph.PlanNode) bool {
	class, ok := p.classes.Lookup(n.Class)
	return ok && class.OfPack()
}

// driveFirst runs a segment that is the first batch of its run, if a server is free and finishes it within a moment.
// A short segment then needs no activity of its own. Otherwise RunSegment continues with the segment's position in
// the queue, or with its prompt on the server.
func (g *Graph) driveFirst(ctx context.Context, c *chain, sched *graph.Scheduler, batch int, res BeginResult) (BeginResult, error) {
	c.firstSegment = true
	brief, cancel := context.WithTimeoutCause(ctx, firstSegmentTime, errFirstSegmentTime)
	defer cancel()
	first, err := g.runChain(brief, c)
	switch {
	case errors.Is(err, errFirstSegmentTime):
		c.events.lease = nil // another driver may have the lease by now
		return res, c.events.flush(ctx)
	case err != nil:
		return BeginResult{}, err
	}
	return g.afterFirst(ctx, c, sched, batch, res, first)
}
