package stream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// NodeStep is the progress of one node.
type NodeStep struct {
	Job  job.ID
	Run  int
	Node string
	Step Step
}

// StepStore keeps the latest steps of running nodes for those who poll.
type StepStore interface {
	// SaveSteps stores steps, at most one for each node. A step of an earlier run than the stored one is dropped.
	SaveSteps(ctx context.Context, steps []NodeStep) error
}

// recordEvery is how often a step is written: twice a second for each node at most.
const recordEvery = 500 * time.Millisecond

// maxRecorded bounds the nodes whose steps wait to be written; beyond, new ones wait for the next round.
const maxRecorded = 4096

// Recorder is a Bus that also keeps the progress that passes, so that a poll shows it on
// every replica. Losing a step there loses nothing but a poll's precision.
type Recorder struct {
	Bus
	store StepStore
	log   *slog.Logger

	mu     sync.Mutex // guards latest
	latest map[stepKey]NodeStep
}

type stepKey struct {
	job  job.ID
	node string
}

// NewRecorder returns a bus that passes everything to bus and records progress in store.
func NewRecorder(bus Bus, store StepStore, log *slog.Logger) *Recorder {
	return &Recorder{Bus: bus, store: store, log: log, latest: map[stepKey]NodeStep{}}
}

// Publish implements Bus. The reason why a node waits is recorded for polls only.
func (r *Recorder) Publish(ctx context.Context, f Frame) error {
	if f.Kind == FrameWaiting {
		if err := f.Validate(); err != nil {
			return err
		}
		r.keep(f, Step{Waiting: string(f.Data)})
		return nil
	}
	if err := r.Bus.Publish(ctx, f); err != nil {
		return err
	}
	if f.Kind == FrameProgress {
		r.keep(f, Step{Value: f.Value, Max: f.Max})
	}
	return nil
}

// keep remembers a step until it is written.
func (r *Recorder) keep(f Frame, step Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := stepKey{f.Job, f.Node}
	if _, known := r.latest[key]; known || len(r.latest) < maxRecorded {
		r.latest[key] = NodeStep{Job: f.Job, Run: f.Run, Node: f.Node, Step: step}
	}
}

// Run writes what was published until ctx ends.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			r.Flush(ctx)
		}
	}
}

// Flush writes the steps that wait. A failure is logged; it costs polls some precision.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	steps := make([]NodeStep, 0, len(r.latest))
	for _, s := range r.latest {
		steps = append(steps, s)
	}
	clear(r.latest)
	r.mu.Unlock()
	if len(steps) == 0 {
		return
	}
	if err := r.store.SaveSteps(ctx, steps); err != nil && ctx.Err() == nil {
		r.log.Warn("progress not recorded", "error", err)
	}
}
