// Package modelcall contains the activities of RunModel, which run one call to a partner model: they send it, poll
// for its answer, copy its assets and record its end. It promises that a provider runs a call at most once, even if processes
// die: a request is repeated only if the provider recognises it, or certainly did not process it. Package workflows decides the
// order of the activities; internal/partner implements the providers' protocols.
package modelcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// Calls is the part of the store of calls that the activities use.
type Calls interface {
	Load(ctx context.Context, account string, id call.ID) (call.Call, error)
	End(ctx context.Context, e call.Ending) (call.Ended, error)
	// Alive reports whether a dispatching process still records heartbeats. It is called every few seconds.
	Alive(ctx context.Context, worker string) (bool, error)
}

// Hosts copies assets of answers to the storage of this service.
type Hosts interface {
	// Host copies the assets that the model's rules name, each as best effort, and returns the answer with the
	// addresses of the copies.
	Host(ctx context.Context, c call.Call) (call.HostedV1, error)
}

// Deps are the dependencies of the activities of model calls.
type Deps struct {
	Events   eventlog.Store
	Types    *eventlog.Registry
	Calls    Calls
	Blobs    blob.Store
	Provider call.Provider
	Hosts    Hosts
	Tiers    call.Tiers
	OnEnd    func([]eventlog.Recorded) // is shown the end of a call as soon as it is recorded; nil: nobody waits in this process
	Space    func() error              // fails while the disk has too little space for answers; nil: it always has enough
	// AnswerMemory is the number of bytes of answers that may wait in memory for the blob store; 0 = 256 MiB.
	AnswerMemory int64
	Worker       string // unique name of this process, under which it records heartbeats
	Log          *slog.Logger
}

// Activities holds the activities of RunModel.
type Activities struct {
	Deps
	exchanges       *exchanges
	memory          *memory
	sendsHeartbeats atomic.Bool // this process sends heartbeats, so others wait for its calls
}

// SetAlive records whether this process sends heartbeats. Only a process with heartbeats sends calls itself.
func (m *Activities) SetAlive(yes bool) { m.sendsHeartbeats.Store(yes) }

// New returns the activities over their dependencies.
func New(deps Deps) *Activities {
	return &Activities{Deps: deps, exchanges: newExchanges(), memory: newMemory(deps.AnswerMemory)}
}

// Next is the next step of a call.
type Next string

// The steps.
const (
	NextNothing Next = "nothing" // the call has ended
	NextSend    Next = "send"    // nothing was sent yet
	NextWait    Next = "wait"    // another process sends the call
	NextPoll    Next = "poll"    // the provider is working on the call
	NextHost    Next = "host"    // the answer has assets to copy
)

// Step is the next step of a call for its workflow.
type Step struct {
	Next  Next
	After time.Duration // wait before the step
	Stop  bool          `json:",omitempty"` // according to the log, the call was canceled

	Outcome Outcome `json:",omitempty"` // outcome of a call that has ended
	Cause   string  `json:",omitempty"` // type of the failure of a call that failed or whose outcome is unknown
}

// Outcome is the outcome of a call for the result of its workflow.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeCanceled  Outcome = "canceled"
	OutcomeUnknown   Outcome = "unknown"
)

// stepDone returns the step after the end of a call.
func stepDone(outcome Outcome, failure *call.Failure) Step {
	step := Step{Next: NextNothing, Outcome: outcome}
	if failure != nil {
		step.Cause = failure.Type
	}
	return step
}

// stepAfter returns the step after an event that ended a call.
func stepAfter(ending any) Step {
	switch e := ending.(type) {
	case call.FailedV1:
		return stepDone(OutcomeFailed, &e.Failure)
	case call.OutcomeUnknownV1:
		return stepDone(OutcomeUnknown, &e.Failure)
	case call.CanceledV1:
		return stepDone(OutcomeCanceled, nil)
	default:
		return stepDone(OutcomeSucceeded, nil)
	}
}

// waitElsewhere is the interval of checking a call that another process sends.
const waitElsewhere = 2 * time.Second

// Dispatch sends the call to its provider, at most once in the life of the call, and records the outcome. It records
// the event call.dispatching first, and only the process that recorded it sends the call.
func (m *Activities) Dispatch(ctx context.Context, r call.Run) (Step, error) {
	step, err := m.dispatch(ctx, r)
	return step, attempt.Error(err)
}

func (m *Activities) dispatch(ctx context.Context, r call.Run) (Step, error) {
	if step, known := m.exchanges.outcome(r.Call); known {
		return step, nil
	}
	x, mine := m.exchanges.claim(r.Call)
	if !mine {
		return x.wait(ctx)
	}
	conv, a, lost := m.open(ctx, r)
	if lost != nil && (attempt.IsOutage(lost) || ctx.Err() != nil) {
		m.exchanges.drop(r.Call)
		return Step{}, lost
	}
	mine, err := m.announce(ctx, r)
	if err != nil || !mine { // another process may have sent the call, even if this one cannot open the request
		m.exchanges.drop(r.Call)
		closeConversation(conv, a)
		if err != nil {
			return Step{}, err
		}
		return m.resolve(ctx, r)
	}
	m.exchanges.run(x, func(own context.Context) (Step, error) { // the exchange outlives the activity; its span is a child of the activity's
		if lost != nil {
			m.Log.Error("call cannot be sent; ending it unsent", "call_id", r.Call, "error", lost)
			return m.untilRecorded(own, r, func() (Step, error) { return m.unsent(own, r) })
		}
		return m.converse(telemetry.Along(own, ctx), r, conv, a)
	})
	return x.wait(ctx)
}

// open opens the stored request and the place for the answer, so that no part of this service can fail after the
// provider is reached.
func (m *Activities) open(ctx context.Context, r call.Run) (call.Conversation, *answer, error) {
	if m.memory.short() {
		return call.Conversation{}, nil, errNoMemory
	}
	if m.Space != nil {
		if err := m.Space(); err != nil {
			return call.Conversation{}, nil, fmt.Errorf("reserve space for an answer: %w", err)
		}
	}
	conv, err := m.conversation(ctx, r, call.Call{})
	if err != nil {
		return conv, nil, err
	}
	a, err := m.newAnswer(ctx, m.memory)
	if err != nil {
		closeConversation(conv, nil)
		return conv, nil, fmt.Errorf("reserve space for an answer: %w", err)
	}
	return conv, a, nil
}

// conversation opens the request of a call. c is the folded state of the call. A call that its provider has accepted is
// collected without the request if that is lost; its price is then the reserved amount.
func (m *Activities) conversation(ctx context.Context, r call.Run, c call.Call) (call.Conversation, error) {
	var body io.ReadSeeker
	body, err := m.Blobs.Open(ctx, r.Request.Ref)
	if err != nil {
		err = fmt.Errorf("open the request of call %s: %w", r.Call, err)
		if !fault.Is(err, fault.NotFound) || c.Handle == "" {
			return call.Conversation{}, err
		}
		body = missing{err}
	}
	return call.Conversation{
		Call: r.Call, Model: r.Model, Handle: c.Handle, Quoted: c.Price, Body: body, Size: r.Request.Size, ContentType: r.Request.ContentType,
		Held: r.Held, Catalog: r.Catalog,
		Route: r.Route,
	}, nil
}

// missing is a request that is lost.
type missing struct{ error }

// Read implements io.Reader.
func (m missing) Read([]byte) (int, error) { return 0, m.error }

// Seek implements io.Seeker.
func (m missing) Seek(int64, int) (int64, error) { return 0, m.error }

func closeConversation(conv call.Conversation, a *answer) {
	if r, ok := conv.Body.(blob.Reader); ok {
		_ = r.Close() // an error after reading has no effect
	}
	if a != nil {
		a.discard()
	}
}

// unsent ends a call that was certainly not sent, and releases its key.
func (m *Activities) unsent(ctx context.Context, r call.Run) (Step, error) {
	return m.end(ctx, r, call.Ending{
		Type: call.TypeFailed, ReleaseKey: true,
		Data: call.FailedV1{
			Model: r.Model, Unsent: true,
			Failure: internalFailure("the router failed before it sent the request; the same request may be sent again"),
		},
	})
}

func isNotFound(err error) bool { return fault.Is(err, fault.NotFound) }

func internalFailure(detail string) call.Failure {
	return call.Failure{Type: call.InternalError, Detail: detail}
}

// announceTries bounds the retries after concurrent events, for example when the caller disconnects.
const announceTries = 5

// announce records that the call is about to be sent, and reports whether this process must send it.
func (m *Activities) announce(ctx context.Context, r call.Run) (bool, error) {
	token, version := uuid.NewString(), r.Version
	for range announceTries {
		recorded, err := m.Events.Append(ctx, eventlog.Append{
			Stream: r.Call.Stream(), Account: r.Account, Expected: version, Meta: eventlog.Meta{Actor: m.Worker},
			Events: []eventlog.Event{{
				ID: call.EventID(r.Call, 0, call.TypeDispatching), Type: call.TypeDispatching,
				Data: call.DispatchingV1{Run: r.Run, Token: token, Worker: m.Worker},
			}},
		})
		if err == nil {
			return m.hasToken(recorded, token)
		}
		if fault.Is(err, fault.Unavailable) && ctx.Err() == nil {
			continue // the event may be recorded: the next try finds it by its token
		}
		if !errors.Is(err, eventlog.ErrVersion) && !errors.Is(err, eventlog.ErrClosed) {
			return false, fmt.Errorf("announce call %s: %w", r.Call, err)
		}
		c, err := m.Calls.Load(ctx, r.Account, r.Call)
		if err != nil || c.State != call.Admitted || c.Canceling {
			return false, err
		}
		version = c.Version
	}
	return false, fault.New(fault.Unavailable, "", "call %s keeps changing", r.Call)
}

// hasToken reports whether the recorded announcement has the token of this process.
func (m *Activities) hasToken(recorded []eventlog.Recorded, token string) (bool, error) {
	data, err := m.Types.Decode(recorded[0].Type, recorded[0].Data)
	if err != nil {
		return false, err
	}
	event, ok := data.(call.DispatchingV1)
	return ok && event.Token == token, nil
}

// Resolve reads the state of a call from the log and returns its next step. A call whose sending process died ends with
// an unknown outcome and is not sent again, unless its provider recognises a repeated request.
func (m *Activities) Resolve(ctx context.Context, r call.Run) (Step, error) {
	step, err := m.resolve(ctx, r)
	return step, attempt.Error(err)
}

func (m *Activities) resolve(ctx context.Context, r call.Run) (Step, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil {
		return Step{}, err
	}
	switch c.State {
	case call.Succeeded:
		return stepDone(OutcomeSucceeded, nil), nil
	case call.Failed:
		return stepDone(OutcomeFailed, c.Failure), nil
	case call.Unknown:
		return stepDone(OutcomeUnknown, c.Failure), nil
	case call.Canceled:
		return stepDone(OutcomeCanceled, nil), nil
	case call.Admitted, call.Waiting:
		if c.Canceling {
			return m.end(ctx, r, call.Ending{Type: call.TypeCanceled, Data: call.CanceledV1{Model: r.Model}})
		}
		return Step{Next: NextSend}, nil
	case call.Dispatching:
		return m.awaitSender(ctx, r, c)
	case call.Running:
		return Step{Next: NextPoll, Stop: c.Canceling}, nil
	case call.Answered:
		return Step{Next: NextHost}, nil
	}
	return Step{}, fmt.Errorf("call %s is in state %q", r.Call, c.State)
}

// awaitSender waits for the process that sends the call, which may be this one. If that process has died, the call
// ends with an unknown outcome.
func (m *Activities) awaitSender(ctx context.Context, r call.Run, c call.Call) (Step, error) {
	if x, here := m.exchanges.find(r.Call); here {
		return x.wait(ctx)
	}
	if c.Worker != m.Worker {
		alive, err := m.Calls.Alive(ctx, c.Worker)
		if err != nil || alive {
			return Step{Next: NextWait, After: waitElsewhere}, err
		}
	}
	// The exchange may have recorded its outcome meanwhile.
	if now, err := m.Calls.Load(ctx, r.Account, r.Call); err != nil || now.State != call.Dispatching {
		return Step{Next: NextWait}, err
	}
	m.Log.Error("outcome of a call unknown: the process that sent it died", "call_id", r.Call, "worker", c.Worker)
	return m.takeOver(ctx, r, c, func(ctx context.Context) (Step, error) {
		return m.unknown(ctx, r, internalFailure("the router was interrupted while the provider had the request, and does not send it again"))
	})
}

func (m *Activities) unknown(ctx context.Context, r call.Run, f call.Failure) (Step, error) {
	return m.end(ctx, r, call.Ending{
		Type: call.TypeOutcomeUnknown, Reservation: call.KeepReserved, Data: call.OutcomeUnknownV1{Model: r.Model, Failure: f},
	})
}

// end records the end of a call and starts the calls that get its slot.
func (m *Activities) end(ctx context.Context, r call.Run, e call.Ending) (Step, error) {
	e.Run, e.Limits, e.Actor = r, m.Tiers.CallBounds(r.Account), m.Worker
	done, err := m.Calls.End(ctx, e)
	if err != nil {
		return Step{}, err
	}
	if m.OnEnd != nil {
		m.OnEnd(done.Recorded)
	}
	return stepAfter(e.Data), nil
}
