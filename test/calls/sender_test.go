package calls_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// dying is a process that accepts and sends calls, and dies before it records the outcome of a call: nobody sees its
// requests.
type dying struct{ *modelcall.Activities }

func (d dying) Prepare(ctx context.Context, r call.Run) (call.Attempt, error) {
	attempt, err := d.Activities.Prepare(ctx, r)
	return unsent{attempt, r}, err
}

type unsent struct {
	call.Attempt
	run call.Run
}

func (unsent) Send(func()) {}

func TestAProcessThatDiesAsItAcceptsLeavesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	gone := s.place.models(s.parts)
	gone.SetAlive(true) // and it never sent a heartbeat
	s.Sender = dying{gone}
	s.workInProcess(t, false)
	_, err := s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, call.InternalError, refused(t, err).Type)
	s.Sender = nil
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	r := refused(t, err)
	require.Equal(t, 409, statusOf(r))
	require.Equal(t, call.InvalidInput, r.Type)
	require.Zero(t, s.provider.count("x"))
	var inFlight int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select in_flight from call_admissions where account = 'a'`).Scan(&inFlight))
	require.Zero(t, inFlight)
}

// unsure records calls, but reports that the outcome is unknown.
type unsure struct{ call.Store }

func (u unsure) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	if _, err := u.Store.Accept(ctx, n); err != nil {
		return call.Admission{}, err
	}
	return call.Admission{}, fault.New(fault.Unavailable, "", "the connection broke at the commit")
}

func TestCallOfAnAmbiguousCommitIsDiscarded(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	inv := invocation("a", "k", "fast x")
	_, err := s.Run(t.Context(), inv) // until the worker's heartbeat arrives, workflows send
	require.NoError(t, err)
	store := s.Store
	s.Store = unsure{store}
	inv = invocation("a", "k2", "fast y")
	_, err = s.Run(t.Context(), inv)
	require.Equal(t, call.ServiceUnavailable, call.RefusalOf(err).Type)
	s.Store = store
	s.awaitEnd(t, "a", call.ID(inv.RequestID))
	res, err := s.Run(t.Context(), invocation("a", "k2", "fast y"))
	require.NoError(t, err)
	require.False(t, res.Replayed)
	require.Equal(t, 1, s.provider.count("y"))
}

// late records a call after its caller got the answer that the outcome is unknown: the database may commit statements of a
// broken connection.
type late struct {
	call.Store
	after <-chan struct{}
	done  chan error
}

func (l late) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	go func() {
		<-l.after
		_, err := l.Store.Accept(context.WithoutCancel(ctx), n)
		l.done <- err
	}()
	return call.Admission{}, fault.New(fault.Unavailable, "", "the connection broke at the commit")
}

// watched signals when a call was looked up and not found.
type watched struct {
	modelcall.Calls
	missed func()
}

func (w watched) Load(ctx context.Context, account string, id call.ID) (call.Call, error) {
	c, err := w.Calls.Load(ctx, account, id)
	if fault.Is(err, fault.NotFound) {
		w.missed()
	}
	return c, err
}

func TestCallRecordedAfterTheCheckIsDiscarded(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	looked := make(chan struct{})
	models := s.place.models(s.parts)
	models.Calls = watched{models.Calls, sync.OnceFunc(func() { close(looked) })}
	models.SetAlive(true)
	require.NoError(t, s.calls.Heartbeat(t.Context(), models.Worker))
	s.workInProcess(t, false)
	s.Sender = models
	store := s.Store
	committed := make(chan error, 1)
	s.Store = late{store, looked, committed}
	inv := invocation("a", "k", "fast x")
	_, err := s.Run(t.Context(), inv)
	require.Equal(t, call.ServiceUnavailable, call.RefusalOf(err).Type)
	s.Store = store
	require.NoError(t, <-committed)
	s.awaitEnd(t, "a", call.ID(inv.RequestID))
	s.Sender = nil
	res, err := s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.NoError(t, err)
	require.False(t, res.Replayed)
	require.Equal(t, 1, s.provider.count("x"))
}

// broken is a provider whose answer causes a panic.
type broken struct{ call.Provider }

func (broken) Dispatch(context.Context, call.Conversation, io.Writer) (call.Exchange, error) {
	panic("an answer that nobody thought of")
}

func TestPanicWhileReadingAnAnswerEndsOneCallOnly(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	models := s.place.models(s.parts)
	models.Provider = broken{models.Provider}
	models.SetAlive(true)
	require.NoError(t, s.calls.Heartbeat(t.Context(), models.Worker))
	s.workInProcess(t, false)
	s.Sender = models
	_, err := s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, call.ProviderError, refused(t, err).Type)
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, 409, statusOf(refused(t, err)), "nobody knows what became of it")
}

// leaving is a store of calls whose caller disconnects when the first call is about to be recorded. The store fails
// if the caller's context cancels it.
type leaving struct {
	call.Store
	leave context.CancelFunc
}

func (l leaving) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	l.leave()
	return l.Store.Accept(ctx, n)
}

// If a caller disconnects while its call is being recorded, the call is sent exactly once, and its key gives the
// answer.
func TestCallWhoseCallerLeavesWhileItIsRecordedIsSent(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	_, err := s.Run(t.Context(), invocation("a", "", "fast x")) // until the worker's heartbeat arrives, workflows send
	require.NoError(t, err)
	store := s.Store
	ctx, leave := context.WithCancel(t.Context())
	s.Store = leaving{store, leave}
	inv := invocation("a", "k", "gate y")
	_, err = s.Run(ctx, inv)
	require.Equal(t, call.ClientDisconnected, refused(t, err).Type)
	s.Store = store
	close(s.provider.gate("y"))
	res, err := s.Run(t.Context(), invocation("a", "k", "gate y"))
	require.NoError(t, err)
	require.True(t, res.Replayed)
	require.Equal(t, call.ID(inv.RequestID), res.Call)
	require.Equal(t, 1, s.provider.count("y"))
}
