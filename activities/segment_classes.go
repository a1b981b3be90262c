package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// errClassesChanged ends the wait of a segment for which the servers now define a class differently than when it was
// planned.
var errClassesChanged = fault.New(fault.Conflict, fault.CodeClassesChanged,
	"the classes of the servers have changed since the job was planned")

// classesEvery is how often a waiting segment checks that its classes are those with which it was planned.
const classesEvery = time.Second

// watchClasses ends a wait when a class of the segment has changed. If a class is missing, the segment keeps waiting:
// a server with the class may return.
func (s *segmentRun) watchClasses(ctx context.Context, changed context.CancelCauseFunc) {
	for range pause.Every(ctx, classesEvery) {
		now := s.g.Classes.Frozen()
		if slices.ContainsFunc(s.pn.Segment.Nodes, func(n graph.PlanNode) bool { return s.changed(now, &n) }) {
			changed(errClassesChanged)
			return
		}
	}
}

// changed reports whether the class of a node has other outputs, or other types of the inputs that the node uses.
func (s *segmentRun) changed(now *node.Registry, n *graph.PlanNode) bool {
	was, _ := s.plan.classes.Lookup(n.Class)
	is, ok := now.Lookup(n.Class)
	if was == nil || !was.Remote || !ok {
		return false
	}
	if !slices.EqualFunc(was.Outputs, is.Outputs, func(a, b node.Output) bool { return a.Type == b.Type && a.IsList == b.IsList }) {
		return true
	}
	types := map[string]node.Type{}
	for _, in := range is.Inputs {
		types[in.Name] = in.Type
	}
	for _, in := range was.Inputs {
		_, constant := n.Constants[in.Name]
		_, linked := n.Links[in.Name]
		if (constant || linked) && types[in.Name] != in.Type {
			return true
		}
	}
	return false
}

// replan lets the run be planned again with the current classes if its graph is valid with them. Otherwise it fails
// the first node of the segment with the validation error.
func (s *segmentRun) replan(ctx context.Context) error {
	s.g.plans.Remove(s.params.Job)
	_, err := s.g.plan(ctx, s.params.RunRef)
	if err == nil {
		return planChanged(errClassesChanged.Error())
	}
	var prompt *graph.PromptError
	if !fault.Is(err, fault.Invalid) && !errors.As(err, &prompt) {
		return err
	}
	return s.failureOf("", "ValidationError", fmt.Sprintf("the classes of the servers have changed, and the graph is not valid with them: %s",
		publicMessage(err)), err)
}
