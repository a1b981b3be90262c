package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Marks name the node that a worker process runs, so that a process that dies leaves behind what it died of. A mark
// belongs to one process and one node of one run.
type Marks interface {
	// Set marks a node as run by this process. It returns how many other processes have left a mark at it.
	Set(ctx context.Context, ref job.RunRef, nodeID string) (others int, err error)
	// Clear takes back the mark of this process. It is called however the node ended, and gives up when ctx ends: the
	// mark then goes with a later call.
	Clear(ctx context.Context, ref job.RunRef, nodeID string)
	// Dead returns how many of the processes that left a mark at the node give no sign of life. It is asked every few
	// seconds: only a silence that lasts while it is watched counts, so that an outage kills nobody.
	Dead(ctx context.Context, ref job.RunRef, nodeID string) (int, error)
}

const (
	// markedNode is the cost from which a node is marked: two statements are nothing beside it, and what can exhaust a
	// worker is not cheap.
	markedNode = time.Second
	// mostDeaths is how many worker processes may die while they run the same node of the same run. A node that needs
	// more memory than there is would otherwise take down every worker, in turn and for ever.
	mostDeaths = 5
	// deathWatch is how long processes are watched before they count as dead, and watchEvery how often they are
	// looked at: longer than the store takes to believe in a silence.
	deathWatch = 20 * time.Second
	watchEvery = 2 * time.Second
	// clearWithin bounds taking a mark back.
	clearWithin = 5 * time.Second
)

// mark says that this process runs the node. It returns what takes that back, and CodeWorkerLost if too many
// processes have died of the node.
func (c *chain) mark(ctx context.Context, pn *graph.PlanNode, class *node.Class) (clear func(), err error) {
	if c.g.Marks == nil || pn.Cost < markedNode || class.Partner { // a partner node waits rather than works
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
	if others < mostDeaths {
		return clear, nil
	}
	dead, err := c.deaths(ctx, pn)
	if err == nil && dead >= mostDeaths {
		err = fault.New(fault.Exhausted, CodeWorkerLost, "workers were lost %d times while they ran this node; it may need more memory than they have", dead)
	}
	if err != nil {
		clear()
		return nil, err
	}
	return clear, nil
}

// CodeWorkerLost is that of a node of which too many worker processes died.
const CodeWorkerLost = "worker_lost"

// deaths watches the processes that left a mark at the node until it is known which of them are dead.
func (c *chain) deaths(ctx context.Context, pn *graph.PlanNode) (int, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for until := time.Now().Add(deathWatch); ; {
		dead, err := c.g.Marks.Dead(ctx, c.params.RunRef, pn.ID)
		if err != nil || dead >= mostDeaths || time.Now().After(until) {
			return dead, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
