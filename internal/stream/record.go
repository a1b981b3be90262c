package stream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// NodeStep is the progress of one node.
type NodeStep struct {
	Job  job.ID
	Run  int
	Node string
	Step Step
}

// StepStore stores the latest steps of running nodes for clients that poll.
type StepStore interface {
	// SaveSteps stores steps, at most one for each node. A step of an earlier run than the stored one is dropped.
	SaveSteps(ctx context.Context, steps []NodeStep) error
}

// recordEvery is how often steps are written: at most twice a second for each node.
const recordEvery = 500 * time.Millisecond

// maxRecorded bounds the nodes whose steps wait to be written. Steps of further nodes are dropped until the next
// write.
const maxRecorded = 4096

// Recorder is a Bus that also stores the progress that passes through it, so that every replica shows it to clients
// that poll. A lost step only makes a poll less precise.
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

// NewRecorder returns a bus that passes frames to bus and stores progress in store.
func NewRecorder(bus Bus, store StepStore, log *slog.Logger) *Recorder {
	return &Recorder{Bus: bus, store: store, log: log, latest: map[stepKey]NodeStep{}}
}

// Publish implements Bus. The reason why a node waits is only stored, for clients that poll.
func (r *Recorder) Publish(ctx context.Context, f Frame) error {
	if f.Kind == FrameWaiting {
		if err := f.Validate(); err != nil {
			return err
		}
		r.buffer(f, Step{Waiting: string(f.Data)})
		return nil
	}
	if err := r.Bus.Publish(ctx, f); err != nil {
		return err
	}
	if f.Kind == FrameProgress {
		r.buffer(f, Step{Value: f.Value, Max: f.Max})
	}
	return nil
}

// buffer remembers a step until the next write.
func (r *Recorder) buffer(f Frame, step Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := stepKey{f.Job, f.Node}
	if _, known := r.latest[key]; known || len(r.latest) < maxRecorded {
		r.latest[key] = NodeStep{Job: f.Job, Run: f.Run, Node: f.Node, Step: step}
	}
}

// Run writes the remembered steps until ctx ends.
func (r *Recorder) Run(ctx context.Context) error {
	for range pause.Every(ctx, recordEvery) {
		r.Flush(ctx)
	}
	return ctx.Err()
}

// Flush writes the remembered steps. An error is only logged, because it only makes polls less precise.
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
