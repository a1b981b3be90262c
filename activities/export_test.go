package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
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
