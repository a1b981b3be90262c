package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Marks record which node a worker process runs, so that the node is known after the process dies. A mark belongs to
// one process and one node of one run.
type Marks interface {
	// Set marks a node as run by this process. It returns the number of marks of other processes at the node.
	Set(ctx context.Context, ref job.RunRef, nodeID string) (others int, err error)
	// Clear removes the mark of this process. It is called for every outcome of the node. If ctx ends first, a later
	// call removes the mark.
	Clear(ctx context.Context, ref job.RunRef, nodeID string)
	// Dead returns the number of processes with a mark at the node that have stopped their heartbeats. It is called
	// every few seconds, because only silence during observation counts. An outage alone makes no process dead.
	Dead(ctx context.Context, ref job.RunRef, nodeID string) (int, error)
}

const (
	// markedNode is the cost from which a node is marked: two statements cost little in comparison, and a node that
	// can exhaust a worker is not cheap.
	markedNode = time.Second
	// maxDeaths bounds the worker processes that may die while they run the same node of the same run. A node that
	// needs more memory than a worker has would otherwise kill every worker, one after the other.
	maxDeaths = 5
	// deathWatch is how long processes are observed before they count as dead, longer than the store needs to detect
	// missing heartbeats. watchEvery is how often they are checked.
	deathWatch = 20 * time.Second
	watchEvery = 2 * time.Second
	// clearWithin bounds the removal of a mark.
	clearWithin = 5 * time.Second
)

// mark marks the node as run by this process and returns a function that removes the mark. It fails with
// CodeWorkerLost if too many processes died while running the node.
func (c *chain) mark(ctx context.Context, pn *graph.PlanNode, class *node.Class) (clear func(), err error) {
	if c.g.Marks == nil || pn.Cost < markedNode || class.Partner { // a partner node waits and uses little memory
		return func() {}, nil
	}
	others, err := c.g.Marks.Set(ctx, c.params.RunRef, pn.ID)
	if err != nil {
		return nil, err
	}
	clear = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
		defer cancel()
		c.g.Marks.Clear(ctx, c.params.RunRef, pn.ID)
	}
	if others < maxDeaths {
		return clear, nil
	}
	dead, err := c.deaths(ctx, pn)
	if err == nil && dead >= maxDeaths {
		err = fault.New(fault.Exhausted, fault.CodeWorkerLost,
			"workers were lost %d times while they ran this node; it may need more memory than they have", dead)
	}
	if err != nil {
		clear()
		return nil, err
	}
	return clear, nil
}

// watch is how long processes are observed and how often they are checked.
type watch struct {
	lasts, every time.Duration
}

// deaths observes the processes that left a mark at the node until it is known which of them have died.
func (c *chain) deaths(ctx context.Context, pn *graph.PlanNode) (int, error) {
	for until := time.Now().Add(c.g.watch.lasts); ; {
		dead, err := c.g.Marks.Dead(ctx, c.params.RunRef, pn.ID)
		if err != nil || dead >= maxDeaths || time.Now().After(until) {
			return dead, err
		}
		if pause.For(ctx, c.g.watch.every) != nil {
			return 0, context.Cause(ctx)
		}
	}
}
