// Package activities contains the side effects of workflows: running nodes, appending events, ending jobs. Every
// activity is idempotent: its events have the same ids on every attempt, and a repeated append returns the events
// that the first one recorded. Package workflows decides which activity runs when.
package activities

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// NodeFiles are the files of one node of one run.
type NodeFiles interface {
	node.Files
	// Saved returns the files that the node has saved so far, in order.
	Saved() []job.OutputFile
}

// Jobs ends runs.
type Jobs interface {
	End(ctx context.Context, e job.Ending) (job.Ended, error)
}

// Deps are the dependencies of the activities of graph runs.
type Deps struct {
	Events    eventlog.Store
	Types     *eventlog.Registry
	Sources   job.Sources
	Assets    RunAssets
	Jobs      Jobs
	Tiers     job.Tiers
	Classes   *node.Registry
	Partners  *Partners // nil = classes of partner models cannot run
	Segments  *Segments // nil = there are no ComfyUI servers
	Limits    graph.Limits
	Graphs    *job.Handover                                 // jobs that this process accepted; nil = it accepts no submissions
	Files     func(run job.RunRef, nodeID string) NodeFiles // saved files become assets of the job
	Values    *nodevalue.Store
	Cache     *nodecache.Cache // results of earlier jobs; nil = every node runs
	Bus       stream.Publisher
	Stops     *Stops
	Marks     Marks // nil = a node that kills its worker is retried without limit
	MaxPixels int64
	// NodeTimeout bounds the run of one node; 0 = no bound.
	NodeTimeout time.Duration
	FusedFor    time.Duration // time limit of a fused chain; another batch runs the rest; default 3 s
	// Turn is how long a batch of expensive nodes runs while other batches wait; another batch runs the rest. Default
	// 5 s.
	Turn time.Duration
	// Waiting reports whether batches of a task queue wait for a worker; nil = always.
	Waiting   func(ctx context.Context, taskQueue string) (bool, error)
	Heartbeat attempt.Record // sends a heartbeat of a long attempt; nil = by the worker's client of Temporal
	Worker    string         // name of this process in events
	Log       *slog.Logger
}

// RunAssets replaces the asset references in the graph of an accepted job by file names.
type RunAssets interface {
	ResolveForJob(ctx context.Context, run job.RunRef, g *graph.Graph) error
}

// Graph holds the activities of RunGraph.
type Graph struct {
	Deps
	plans  *lru.Cache[job.ID, *planned]
	failed *repeats
	watch  watch
}

// NewGraph returns the activities over their dependencies.
func NewGraph(deps Deps) *Graph {
	deps.FusedFor = cmp.Or(deps.FusedFor, fusedFor)
	deps.Turn = cmp.Or(deps.Turn, longTurn)
	return &Graph{Deps: deps, plans: newPlans(), failed: newRepeats(), watch: watch{lasts: deathWatch, every: watchEvery}}
}
