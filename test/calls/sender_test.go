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

// dying is a process that accepts and sends calls, and dies before it records what came of one: what
// it does on the wire nobody hears of.
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
	gone.SetAlive(true) // and it never gave a sign of life
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
	require.NoError(t, s.pool.QueryRow(t.Context(), `select in_flight from call_lanes where account = 'a'`).Scan(&inFlight))
	require.Zero(t, inFlight)
}

// unsure records calls and says that it could not tell.
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
	_, err := s.Run(t.Context(), inv) // until the worker beats, workflows send
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

// late records a call after its caller was answered that the outcome is not known: the database commits what it was sent,
// also when the connection is gone.
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

// watched tells when a call was looked for and was not there.
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

// broken is a provider whose answer trips us up.
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

// leaving is a store of calls whose caller leaves once the first call is about to be recorded, and is given up by whoever
// gives up what it does.
type leaving struct {
	call.Store
	leave context.CancelFunc
}

func (l leaving) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	l.leave()
	return l.Store.Accept(ctx, n)
}

// A caller that leaves while its call is being recorded is answered by its key: the call is sent, and once only.
func TestCallWhoseCallerLeavesWhileItIsRecordedIsSent(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	_, err := s.Run(t.Context(), invocation("a", "", "fast x")) // until the worker beats, workflows send
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
