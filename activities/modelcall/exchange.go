package modelcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// exchanges are the running exchanges of this process with providers. They belong to the process, not to an activity:
// if Temporal ends the activity, by a shutdown or a timeout, the provider's answer is still recorded.
type exchanges struct {
	active sync.WaitGroup

	recent *lru.Cache[call.ID, Step] // outcomes of the latest exchanges: a workflow that starts after its exchange need not read the log

	mu   sync.Mutex // guards open
	open map[call.ID]*exchange
}

// maxRecent bounds the remembered outcomes.
const maxRecent = 4096

type exchange struct {
	id   call.ID
	done chan struct{} // closed after step and err are set
	step Step
	err  error
}

func newExchanges() *exchanges {
	recent, err := lru.New[call.ID, Step](maxRecent)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &exchanges{open: map[call.ID]*exchange{}, recent: recent}
}

// outcome returns the outcome of a recent exchange of this process.
func (e *exchanges) outcome(id call.ID) (Step, bool) { return e.recent.Get(id) }

// Ended returns the last step of a call that this process has brought to its end. The workflow of such a call, if it has
// not started yet, has nothing left to do. Only recent calls are known.
func (m *Activities) Ended(id call.ID) (Step, bool) {
	step, known := m.exchanges.outcome(id)
	return step, known && step.Next == NextNothing
}

// close removes an exchange whose outcome is recorded, and remembers the outcome for a while.
func (e *exchanges) close(x *exchange) {
	if x.err == nil {
		e.recent.Add(x.id, x.step)
	}
	e.mu.Lock()
	delete(e.open, x.id)
	e.mu.Unlock()
	close(x.done)
}

// claim returns the exchange of a call, and whether it is new.
func (e *exchanges) claim(id call.ID) (*exchange, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.open[id]; ok {
		return x, false
	}
	x := &exchange{id: id, done: make(chan struct{})}
	e.open[id] = x
	return x, true
}

func (e *exchanges) find(id call.ID) (*exchange, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.open[id]
	return x, ok
}

// drop removes an exchange that did not begin. The activities that joined it read the log.
func (e *exchanges) drop(id call.ID) {
	e.mu.Lock()
	x := e.open[id]
	delete(e.open, id)
	e.mu.Unlock()
	x.step = Step{Next: NextWait}
	close(x.done)
}

// run performs the exchange in the background. Activities find the exchange until its outcome is recorded.
func (e *exchanges) run(x *exchange, converse func(context.Context) (Step, error)) {
	e.active.Go(func() {
		x.step, x.err = converse(context.Background())
		e.close(x)
	})
}

func (x *exchange) wait(ctx context.Context) (Step, error) {
	select {
	case <-x.done:
		return x.step, x.err
	case <-ctx.Done():
		return Step{}, ctx.Err()
	}
}

// Drain waits until all exchanges have ended, or ctx ends.
func (m *Activities) Drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		m.exchanges.active.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// converse performs the exchange with the provider and records its outcome. It is not interrupted.
func (m *Activities) converse(ctx context.Context, r call.Run, conv call.Conversation, a *answer) (Step, error) {
	defer closeConversation(conv, a)
	out, err := m.dispatchRecovering(ctx, conv, a)
	if cause := untouched(out, err); cause != "" && r.Fallback != "" {
		return m.reroute(ctx, r, cause, m.outcomeRecorder(ctx, r, out, err, a))
	}
	return m.settle(ctx, r, conv, out, err, a)
}

// dispatchRecovering sends a call. If reading the answer of the provider panics, only this call ends, with an unknown
// outcome.
func (m *Activities) dispatchRecovering(ctx context.Context, conv call.Conversation, sink io.Writer) (out call.Exchange, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = call.Exchange{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return m.Provider.Dispatch(ctx, conv, sink)
}

// outcomeRecorder returns a function that records the outcome of an exchange: an end of the call, or the acceptance by
// the provider.
func (m *Activities) outcomeRecorder(ctx context.Context, r call.Run, out call.Exchange, err error, a *answer) func() (Step, error) {
	switch {
	case a.gone():
		return func() (Step, error) { return m.endUnstored(ctx, r, a.lost) }
	case err != nil:
		return func() (Step, error) { return m.endUnanswered(ctx, r, err) }
	}
	return m.outcome(ctx, r, out, a)
}

// untilRecorded records an outcome, with retries until it succeeds, because only this process has the outcome of a
// paid call.
func (m *Activities) untilRecorded(ctx context.Context, r call.Run, record func() (Step, error)) (Step, error) {
	for delays := pause.Doubling(100*time.Millisecond, 5*time.Second); ; {
		step, err := record()
		if err == nil {
			return step, nil
		}
		m.Log.Error("recording the outcome of a call failed; trying again", "call_id", r.Call, "error", err)
		if pause.For(ctx, delays.NextBackOff()) != nil {
			return step, err
		}
	}
}

// endUnanswered ends a call whose dispatch got no answer.
func (m *Activities) endUnanswered(ctx context.Context, r call.Run, cause error) (Step, error) {
	m.Log.Warn("provider gave no answer", "call_id", r.Call, "model", r.Model, "error", cause)
	if errors.Is(cause, call.ErrNotSent) {
		return m.end(ctx, r, call.Ending{Type: call.TypeFailed, ReleaseKey: true, Data: call.FailedV1{
			Model: r.Model, Unsent: true,
			Failure: call.Failure{
				Type:   call.ServiceUnavailable,
				Detail: "the provider cannot be reached; nothing was sent, so the same request may be sent again",
			},
		}})
	}
	if errors.Is(cause, call.ErrTimeout) {
		return m.unknown(ctx, r, call.Failure{Type: call.ProviderTimeout, Detail: "the provider did not answer within its deadline"})
	}
	return m.unknown(ctx, r, call.Failure{
		Type:   call.ProviderError,
		Detail: "the connection to the provider broke before the answer was complete",
	})
}

// endUnstored ends a call whose answer the store did not take, and for which the memory budget had no space.
func (m *Activities) endUnstored(ctx context.Context, r call.Run, cause error) (Step, error) {
	m.Log.Error("storing an answer failed", "call_id", r.Call, "error", cause)
	return m.unknown(ctx, r, internalFailure("the provider answered, but the router could not store the answer"))
}

// outcome returns a function that records the outcome of an exchange.
func (m *Activities) outcome(ctx context.Context, r call.Run, out call.Exchange, a *answer) func() (Step, error) {
	switch out.Phase {
	case call.PhaseAnswered:
		return func() (Step, error) { return m.storeAnswer(ctx, r, out, a) }
	case call.PhaseAccepted:
		return func() (Step, error) { return m.accepted(ctx, r, out) }
	case call.PhaseFailed:
		if out.Unknown {
			return func() (Step, error) { return m.unknown(ctx, r, *out.Failure) }
		}
		return func() (Step, error) {
			return m.end(ctx, r, call.Ending{
				Type: call.TypeFailed, ReleaseKey: out.Unsent, Charged: out.Price,
				Data: call.FailedV1{Model: r.Model, Failure: *out.Failure, Charged: out.Price, Unsent: out.Unsent},
			})
		}
	case call.PhasePending:
	}
	return func() (Step, error) { return Step{Next: NextPoll, After: out.PollAfter}, nil }
}

func (m *Activities) accepted(ctx context.Context, r call.Run, out call.Exchange) (Step, error) {
	err := m.append(ctx, r, eventlog.Event{
		ID: call.EventID(r.Call, 0, call.TypeProviderAccepted), Type: call.TypeProviderAccepted,
		Data: call.ProviderAcceptedV1{Handle: out.Handle, Dropped: out.Dropped, Price: out.Price},
	})
	return Step{Next: NextPoll, After: out.PollAfter}, err
}

func (m *Activities) append(ctx context.Context, r call.Run, e eventlog.Event) error {
	_, err := m.Events.Append(ctx, eventlog.AppendTo(r.Call.Stream(), r.Account, eventlog.Meta{Actor: m.Worker}, e))
	return err
}

// storeAnswer stores an answer and records it. An answer without assets to copy ends the call.
func (m *Activities) storeAnswer(ctx context.Context, r call.Run, out call.Exchange, a *answer) (Step, error) {
	stored, err := a.commit(ctx)
	switch {
	case a.gone():
		return m.endUnstored(ctx, r, a.lost)
	case err != nil:
		return Step{}, err
	}
	body := call.Body{Ref: stored.Ref, Size: stored.Size, ContentType: out.ContentType}
	linked := a.links.found && isJSON(out.ContentType)
	event := eventlog.Event{
		ID: call.EventID(r.Call, 0, call.TypeAnswered), Type: call.TypeAnswered,
		Data: call.AnsweredV1{Answer: body, Price: out.Price, Linked: linked, Dropped: out.Dropped},
	}
	if out.Host {
		return Step{Next: NextHost}, m.append(ctx, r, event)
	}
	return m.end(ctx, r, call.Ending{
		Before: []eventlog.Event{event}, Type: call.TypeSucceeded, Charged: out.Price, Keep: []call.Body{body},
		Data: call.SucceededV1{Model: r.Model, Answer: body, Replayable: !linked, Charged: out.Price, Served: out.Served},
	})
}

func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
