package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/workflows"
)

// ExportQueue returns the task queue of exports beside the given one. It is a queue of its own: an archive may take
// minutes of a disk, and takes no place from jobs, scans and sweeps.
func ExportQueue(queue string) string { return queue + "-exports" }

// ExportOptions tune the worker for exports. The zero value works.
type ExportOptions struct {
	TaskQueue  string        // that of jobs; the worker polls ExportQueue of it. Default "millrace"
	Concurrent int           // archives packed at once; default 2: the disk is what they wait for
	StopAfter  time.Duration // as in Options
}

// ExportWorker packs exports.
type ExportWorker struct{ inner worker.Worker }

// NewExports returns a worker on the client's namespace. Run starts it.
func NewExports(c client.Client, exports *upkeep.Exports, opts ExportOptions) *ExportWorker {
	if opts.TaskQueue == "" {
		opts.TaskQueue = "millrace"
	}
	if opts.Concurrent == 0 {
		opts.Concurrent = 2
	}
	w := worker.New(c, ExportQueue(opts.TaskQueue), worker.Options{
		MaxConcurrentActivityExecutionSize: opts.Concurrent,
		MaxConcurrentWorkflowTaskPollers:   2, // the least there can be
		MaxConcurrentActivityTaskPollers:   1,
		WorkerStopTimeout:                  orElse(opts.StopAfter, 10*time.Second),
	})
	RegisterExportWorkflows(w)
	for name, fn := range map[string]any{"PackExport": exports.PackExport, "GiveUpExport": exports.GiveUpExport} {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	return &ExportWorker{inner: w}
}

// RegisterExportWorkflows gives the workflows of exports their stored names.
func RegisterExportWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.ExportAssets, workflow.RegisterOptions{Name: workflows.ExportAssetsName})
}

// Run works until ctx ends.
func (w *ExportWorker) Run(ctx context.Context) error {
	if err := w.inner.Start(); err != nil {
		return fmt.Errorf("start the worker for exports: %w", err)
	}
	<-ctx.Done()
	w.inner.Stop()
	return nil
}

// ExportRecords knows the exports that are not done.
type ExportRecords interface {
	// Unfinished returns exports, in order of their ids from behind after, that have waited for at least age.
	Unfinished(ctx context.Context, after export.ID, age time.Duration, limit int) ([]export.Ref, error)
	// Restart records that one is begun again, and the intent to do so.
	Restart(ctx context.Context, ref export.Ref, actor, reason string) ([]outbox.Intent, error)
}

// ExportSweeper finds exports that were accepted and that nothing packs, since their workflow was closed from outside
// or went with the engine's database, and has them begun again.
type ExportSweeper struct {
	Client  client.Client
	Exports ExportRecords
	Kick    func([]outbox.Intent)
	Log     *slog.Logger
	Every   time.Duration // default 30 s
	Age     time.Duration // of an export before it is looked at; default 30 s
}

// Run sweeps until ctx ends. Several sweepers may run at once.
func (s *ExportSweeper) Run(ctx context.Context) error {
	s.Age = orElse(s.Age, 30*time.Second)
	return everySo(ctx, orElse(s.Every, 30*time.Second), s.Log, "exports", s.Sweep)
}

// Sweep does one round.
func (s *ExportSweeper) Sweep(ctx context.Context) error {
	return walk(ctx, func(after export.ID) ([]export.Ref, error) {
		return s.Exports.Unfinished(ctx, after, s.Age, sweepLimit)
	}, func(ref export.Ref) export.ID { return ref.Export }, func(ref export.Ref) error { return s.check(ctx, ref) })
}

func (s *ExportSweeper) check(ctx context.Context, ref export.Ref) error {
	at, err := StandingOf(ctx, s.Client, ref.Export.WorkflowID())
	if err != nil || at.GoesOn() {
		return err
	}
	intents, err := s.Exports.Restart(ctx, ref, "sweeper", "nothing was packing it")
	if err != nil || len(intents) == 0 {
		return err
	}
	s.Log.Warn("beginning an export again that nothing was packing", "export", ref.Export)
	s.Kick(intents)
	return nil
}
