package modelcall

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

var _ call.Sender = (*Activities)(nil)

// Prepare implements call.Sender. It claims the exchange before the call is recorded, so that the workflow of the call
// joins the exchange, however soon it starts.
func (m *Activities) Prepare(ctx context.Context, r call.Run) (call.Attempt, error) {
	if !m.sendsHeartbeats.Load() {
		return nil, nil // nil means that this process does not send the call
	}
	x, mine := m.exchanges.claim(r.Call)
	if !mine {
		return nil, nil // the call id is used twice: recording the call will be refused
	}
	conv, a, err := m.open(ctx, r)
	if err != nil {
		m.exchanges.drop(r.Call)
		return nil, err
	}
	return &prepared{m: m, run: r, x: x, conv: conv, answer: a, token: uuid.NewString()}, nil
}

// prepared is a call that this process will send.
type prepared struct {
	m      *Activities
	run    call.Run
	x      *exchange
	conv   call.Conversation
	answer *answer
	token  string
}

// Dispatching implements call.Attempt.
func (d *prepared) Dispatching() call.DispatchingV1 {
	return call.DispatchingV1{Run: d.run.Run, Token: d.token, Worker: d.m.Worker}
}

// startWithin is how long the workflow of a call that this process sends waits for the end of the exchange: well below
// the time after which a relay takes its intent from the outbox.
const startWithin = time.Second

// Send implements call.Attempt.
func (d *prepared) Send(over func()) {
	over = sync.OnceFunc(over)
	late := time.AfterFunc(startWithin, over)
	go func() {
		<-d.x.done
		late.Stop()
		over()
	}()
	d.m.exchanges.run(d.x, func(ctx context.Context) (Step, error) {
		ctx, span := telemetry.BeginFor(ctx, string(d.run.Call), "send call") // the id is that of the request
		step, err := d.m.converse(ctx, d.run, d.conv, d.answer)
		failure := ""
		if err != nil {
			failure = "failed"
		}
		telemetry.End(span, failure)
		return step, err
	})
}

// Discard implements call.Attempt. If the call may have been recorded as sent, Discard looks it up and ends it as
// unsent, because only this process knows that it was not sent.
func (d *prepared) Discard(uncertain bool) {
	closeConversation(d.conv, d.answer)
	if !uncertain {
		d.m.exchanges.drop(d.run.Call)
		return
	}
	d.m.exchanges.run(d.x, func(ctx context.Context) (Step, error) {
		d.waitForRecord(ctx)
		return d.m.untilRecorded(ctx, d.run, func() (Step, error) { return d.endUnsent(ctx) })
	})
}

const (
	// maxCommitDelay bounds the time until a transaction commits whose client has disconnected: the database executes the
	// statements that it received, and waits for locks as long as the sessions of the pool do.
	maxCommitDelay = 15 * time.Second
	// recheckEvery is the interval of looking such a call up.
	recheckEvery = 250 * time.Millisecond
)

// waitForRecord waits until the call is recorded, or certainly will not be recorded.
func (d *prepared) waitForRecord(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxCommitDelay)
	defer cancel()
	for {
		_, err := d.m.Calls.Load(ctx, d.run.Account, d.run.Call)
		if err == nil || !d.m.sendsHeartbeats.Load() || pause.For(ctx, recheckEvery) != nil {
			return
		}
	}
}

// endUnsent ends the call as unsent if the log names this process as its sender. Otherwise the workflow of the call reads
// the log again.
func (d *prepared) endUnsent(ctx context.Context) (Step, error) {
	c, err := d.m.Calls.Load(ctx, d.run.Account, d.run.Call)
	switch {
	case err != nil && !isNotFound(err):
		return Step{}, err
	case err == nil && c.State == call.Dispatching && c.Token == d.token:
		return d.m.unsent(ctx, d.run)
	}
	return Step{Next: NextWait}, nil
}
