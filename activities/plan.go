package activities

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// planned is a job's plan with what running it needs beside.
type planned struct {
	*graph.Plan
	classes   *node.Registry // as they were when the plan was made: the catalog may change while the job runs
	hash      string
	source    job.Source
	submitted time.Time
	surface   job.Surface
	number    float64               // order of the job in the queue
	order     map[string]int        // of nodes in the document
	keys      []nodecache.Key       // by unit, under which results are kept
	asked     []nodecache.Key       // by unit, under which results of earlier jobs are looked for
	anew      []string              // nodes that run whatever the cache holds
	outputs   *outputSizes          // by what ran in this process
	expanded  map[int]*expandedNode // by unit: those that expanded
	within    map[int]*placed       // by unit: those of expansions
	latest    *latestPlan           // with most expansions, of this plan
}

// plan returns the plan of a job: from memory, or made again from the submission. Making it is
// deterministic for one version of this program; another version of the program gives another hash.
func (g *Graph) plan(ctx context.Context, ref job.RunRef) (*planned, error) {
	if p, ok := g.plans.Get(ref.Job); ok {
		return p, nil
	}
	state, doc, err := g.readJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return g.planFrom(ctx, ref, state, doc)
}

// planFrom is plan for a job that was just read.
func (g *Graph) planFrom(ctx context.Context, ref job.RunRef, state job.Job, doc job.Document) (*planned, error) {
	if p, ok := g.plans.Get(ref.Job); ok {
		return p, nil
	}
	source, err := doc.Load(ctx, g.Sources.Blobs)
	if err != nil {
		return nil, err
	}
	parsed := g.Graphs.Take(string(ref.Job))
	if parsed == nil { // another process accepted it, or long ago
		if parsed, err = graph.Parse(source.Prompt, g.Limits); err != nil {
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
		if plan, err = segment.Cut(plan, classes, g.Segments.Pool.Side(classes)); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "", "plan job %s: %s", ref.Job, err.Error())
		}
	}
	hash, err := hashPlan(plan)
	if err != nil {
		return nil, err
	}
	p := &planned{Plan: plan, classes: classes, hash: hash, source: source, submitted: state.SubmittedAt, surface: state.Surface, number: state.Number, outputs: &outputSizes{}, latest: &latestPlan{}}
	g.identify(ctx, ref, p, parsed, state.Origin)
	g.plans.Add(ref.Job, p)
	return p, nil
}

// buildPlan plans a graph, and returns the classes that it is planned with. The registry may lack a class that servers had
// when the job was accepted: a server may have been registered since this process looked, or removed.
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

// filePixels sizes the files that a graph loads. What cannot be looked at now counts as unknown: the
// node that loads it will say why.
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
	h := blake3.New()
	if err := json.NewEncoder(h).Encode(plan); err != nil {
		return "", fmt.Errorf("hash a plan: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// keptPlans is how many plans stay in memory: those of the jobs that this worker runs now, with space to spare.
const keptPlans = 256

// newPlans returns an empty cache of plans by job. A plan that every batch of a running job asks for outlives any
// number of short jobs.
func newPlans() *lru.Cache[job.ID, *planned] {
	plans, err := lru.New[job.ID, *planned](keptPlans)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return plans
}
