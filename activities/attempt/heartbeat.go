package attempt

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// heartbeatEvery is a third of the heartbeat timeout: a worker counts as dead only after two lost heartbeats.
	heartbeatEvery = 3 * time.Second
	// heartbeatWithin bounds one heartbeat. After this time, Temporal has ended the attempt or is down.
	heartbeatWithin = 10 * time.Second
	// doubtAfter is how long after the last answer to a heartbeat it is not known whether another attempt has begun. It is shorter than
	// the heartbeat timeout. confirmWithin bounds the question.
	doubtAfter    = 2 * heartbeatEvery
	confirmWithin = 2 * time.Second
)

// Record tells Temporal that the attempt of an activity is alive, and returns the answer.
type Record func(ctx context.Context) error

// Pulse keeps an attempt of an activity alive, and knows when Temporal was last heard of.
type Pulse struct {
	record Record
	mu     sync.Mutex // guards heard
	heard  time.Time
}

// NewPulse returns the pulse of an attempt that begins. If record is nil, heartbeats are sent by the worker's client of Temporal.
func NewPulse(record Record) *Pulse {
	if record == nil {
		record = func(ctx context.Context) error {
			return activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken)
		}
	}
	return &Pulse{record: record, heard: time.Now()}
}

// Heartbeat sends heartbeats to Temporal until ctx ends. The activity is canceled when Temporal answers that it must
// end or that another attempt has begun. A heartbeat without an answer changes nothing: Temporal may be restarting,
// and the finished work is kept if Temporal returns in time.
//
// The heartbeats of the SDK do not have this property: the SDK cancels the activity when a heartbeat takes longer
// than the interval.
func Heartbeat(ctx context.Context) { NewPulse(nil).Run(ctx) }

// Run is Heartbeat of an attempt with a pulse.
func (p *Pulse) Run(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if isOver(p.send(ctx, heartbeatWithin)) {
				activity.RecordHeartbeat(ctx) // the SDK gets the same answer and cancels the activity
			}
		}
	}
}

// Confirm returns an error if another attempt of the activity has begun, because this process was stopped for longer than the
// heartbeat timeout. It asks Temporal only after a silence. Without an answer the attempt continues.
func (p *Pulse) Confirm(ctx context.Context) error {
	p.mu.Lock()
	doubt := time.Since(p.heard) > doubtAfter
	p.mu.Unlock()
	if !doubt {
		return nil
	}
	var absent *serviceerror.NotFound
	if errors.As(p.send(ctx, confirmWithin), &absent) {
		return fault.Wrap(absent, fault.Canceled, "", "another attempt of the activity has begun")
	}
	p.hear() // without an answer, the next question waits as well
	return nil
}

func (p *Pulse) send(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := p.record(ctx)
	if err == nil {
		p.hear()
	}
	return err
}

func (p *Pulse) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
}

// isOver reports whether the answer to a heartbeat ends the activity.
func isOver(err error) bool {
	var absent *serviceerror.NotFound
	return temporal.IsCanceledError(err) || errors.As(err, &absent) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
