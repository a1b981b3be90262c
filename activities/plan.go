package activities

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// planned is a job's plan with the further data for running it.
type planned struct {
	*graph.Plan
	classes    *node.Registry // the classes with which the plan was made: the catalog may change while the job runs
	hash       string
	source     job.Source
	submitted  time.Time
	surface    job.Surface
	number     float64                    // order of the job in the queue
	order      map[string]int             // of nodes in the document
	keys       []nodecache.Key            // by unit: the keys under which results are cached
	searchKeys []nodecache.Key            // by unit: the keys under which results of earlier jobs are searched
	rerun      []string                   // nodes that run even if their results are cached
	outputs    *outputSizes               // of the nodes that ran in this process
	expanded   map[int]*expandedNode      // by unit: expanded nodes
	positions  map[int]*expansionPosition // by unit: nodes of expansions
	latest     *latestPlan                // of this plan, with the most expansions
}

// plan returns the plan of a job, from memory or made again from the submission. Planning is deterministic for one
// version of this program; another version may produce a plan with another hash.
func (g *Graph) plan(ctx context.Context, ref job.RunRef) (*planned, error) {
	if p, ok := g.plans.Get(ref.Job); ok {
		return p, nil
	}
	j, err := g.readJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return g.planFrom(ctx, ref, j)
}

// forgetPlan has the next plan of a job made with the servers of now. Workers that planned it when different servers were registered
// agree then.
func (g *Graph) forgetPlan(ctx context.Context, id job.ID) error {
	g.plans.Remove(id)
	if g.Segments == nil {
		return nil
	}
	_, err := g.Segments.Pool.Refresh(ctx)
	return err
}

// planFrom is plan for a job that was read before.
func (g *Graph) planFrom(ctx context.Context, ref job.RunRef, j found) (*planned, error) {
	if p, ok := g.plans.Get(ref.Job); ok {
		return p, nil
	}
	state, parsed := j.state, j.graph
	source, err := j.doc.Load(ctx, g.Sources.Blobs)
	if err != nil {
		return nil, err
	}
	if parsed == nil { // another process accepted the job, or this one long ago
		if parsed, err = graph.Parse(source.Runs(), g.Limits); err != nil {
			return nil, fmt.Errorf("parse the graph of job %s again: %w", ref.Job, err)
		}
	}
	if err := g.Assets.ResolveForJob(ctx, ref, parsed); err != nil {
		return nil, err
	}
	plan, classes, err := g.buildPlan(ctx, ref, parsed, state.Targets)
	if err != nil {
		return nil, fmt.Errorf("plan job %s: %w", ref.Job, err)
	}
	if g.Segments != nil {
		able := g.Segments.Pool.Able(source.Labels(), func(pn *graph.PlanNode) server.Need { return need(classes, pn) })
		if plan, err = segment.Cut(plan, classes, g.Segments.Pool.Side(classes), able); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "", "plan job %s: %s", ref.Job, err.Error())
		}
	}
	hash, err := hashPlan(plan)
	if err != nil {
		return nil, err
	}
	p := &planned{
		Plan: plan, classes: classes, hash: hash, source: source, submitted: state.SubmittedAt, surface: state.Surface,
		number: state.Number, outputs: &outputSizes{}, latest: &latestPlan{},
	}
	g.identify(ctx, ref, p, parsed, state.Origin, state.Calls)
	g.plans.Add(ref.Job, p)
	return p, nil
}

// buildPlan plans a graph and returns the classes with which it planned. The registry may lack a class that servers
// had when the job was accepted: a server may have been registered or removed meanwhile.
func (g *Graph) buildPlan(ctx context.Context, ref job.RunRef, parsed *graph.Graph, targets []string) (*graph.Plan, *node.Registry, error) {
	classes := g.Classes.Frozen()
	plan, err := graph.BuildPlan(parsed, classes, targets, g.filePixels(ctx, ref))
	if !fault.Is(err, fault.Invalid) || g.Segments == nil {
		return plan, classes, err
	}
	if _, err := g.Segments.Pool.Refresh(ctx); err != nil {
		return nil, nil, err
	}
	classes = g.Classes.Frozen()
	if plan, err = graph.BuildPlan(parsed, classes, targets, g.filePixels(ctx, ref)); !fault.Is(err, fault.Invalid) {
		return plan, classes, err
	}
	known, missing := g.Segments.Pool.WithRemoved(ctx, classes)
	if missing != nil {
		return nil, nil, missing
	}
	if plan, again := graph.BuildPlan(parsed, known, targets, g.filePixels(ctx, ref)); again == nil {
		return plan, known, nil
	}
	return nil, nil, err
}

// filePixels returns the sizes of the files that a graph loads. The size of a file that cannot be read now is
// unknown; the node that loads it reports the error.
func (g *Graph) filePixels(ctx context.Context, ref job.RunRef) graph.FilePixels {
	files := g.Files(ref, "")
	return func(name string) int64 {
		info, err := files.Stat(ctx, name)
		if err != nil {
			return 0
		}
		return info.Pixels
	}
}

func hashPlan(plan *graph.Plan) (string, error) {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(plan); err != nil {
		return "", fmt.Errorf("hash a plan: %w", err)
	}
	sum := blake3.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:16]), nil
}

// maxPlans bounds the plans in memory, above the number of jobs that a worker runs at the same time.
const maxPlans = 256

// newPlans returns an empty cache of plans by job. The plan of a running job, which every batch reads, is not evicted
// by short jobs.
func newPlans() *lru.Cache[job.ID, *planned] {
	plans, err := lru.New[job.ID, *planned](maxPlans)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return plans
}
