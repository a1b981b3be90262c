package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// TaskRecords stores the progress and the end of tasks of one kind.
type TaskRecords[State, Failure any] interface {
	// Begin records that a worker carries out a task and returns it. open is false if the task has ended.
	Begin(ctx context.Context, ref task.Ref) (state State, open bool, err error)
	// Fail ends the task without a result. It does not change a task that has ended.
	Fail(ctx context.Context, ref task.Ref, failure Failure) error
}

// carryOut does the work of a task that has not ended. An error that no attempt can fix ends the task with the failure
// of that error.
func carryOut[State, Failure any](ctx context.Context, ref task.Ref, records TaskRecords[State, Failure], log *slog.Logger,
	work func(context.Context, State) error, failure func(State, error) Failure,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go attempt.Heartbeat(ctx)
	state, open, err := records.Begin(ctx, ref)
	if err == nil && open {
		err = work(ctx, state)
	}
	if refused(err) {
		log.Info("task failed", "task", ref.Task, "account", ref.Account, "error", err)
		err = records.Fail(ctx, ref, failure(state, err))
	}
	return attempt.Error(err)
}

// refused reports whether another attempt would fail with the same error, whose text is for the owner of the task.
func refused(err error) bool {
	if attempt.IsOutage(err) {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Exhausted:
		return true
	case fault.Internal, fault.Unavailable, fault.Unauthenticated, fault.Canceled:
	}
	return false
}

// publicly returns the public text of an error, or otherwise if it has none.
func publicly(err error, otherwise string) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return otherwise
}

// reportEvery is how often progress is published, and recordEvery how often it is recorded.
const (
	reportEvery = 250 * time.Millisecond
	recordEvery = time.Second
)

// reporter publishes the progress of a task of an account at a bounded rate. A lost report is harmless, so errors are
// ignored.
type reporter struct {
	account string
	bus     stream.Publisher
	record  func(context.Context, task.Progress) // nil = progress is not recorded
	log     *slog.Logger

	mu             sync.Mutex // guards last and recorded
	last, recorded time.Time
}

func (r *reporter) report(ctx context.Context, p task.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	if err := r.bus.Publish(ctx, stream.Frame{Account: r.account, Kind: stream.FrameTask, Task: &p}); err != nil {
		r.log.Debug("frame dropped", "task", p.Task, "error", err)
	}
	if r.record != nil && now.Sub(r.recorded) >= recordEvery {
		r.recorded = now
		r.record(ctx, p)
	}
}
