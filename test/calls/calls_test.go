package calls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

func TestACallIsAnsweredAndReplayed(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"sent by its workflow": false, "sent as it is accepted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answeredAndReplayed(t, together)
		})
	}
}

func answeredAndReplayed(t *testing.T, together bool) {
	s := newDeployment(t, openTiers)
	s.workInProcess(t, together)
	for _, how := range []string{"fast ", "async "} {
		res, err := s.Run(t.Context(), invocation("a", "key "+how, how+"one"+how[:1]))
		require.NoError(t, err)
		require.Equal(t, answerTo("one"+how[:1]), read(t, res))
		require.Equal(t, "text/plain; charset=utf-8", res.ContentType)
		require.False(t, res.Replayed)
		require.EqualValues(t, price, *res.Charged)
		res, err = s.Run(t.Context(), invocation("a", "key "+how, how+"one"+how[:1]))
		require.NoError(t, err)
		require.True(t, res.Replayed)
		require.Equal(t, answerTo("one"+how[:1]), read(t, res))
		require.Equal(t, 1, s.provider.count("one"+how[:1]))
	}
}

func TestIdempotencyKeyBelongsToOneRequestOfOneAccount(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	first := invocation("a", "k", "fast x")
	_, err := s.Run(t.Context(), first)
	require.NoError(t, err)
	for name, change := range map[string]func(*call.Invocation){
		"another byte":   func(inv *call.Invocation) { inv.Body = []byte("fast y") },
		"another path":   func(inv *call.Invocation) { inv.Target = "/v2/models/test/other" },
		"another query":  func(inv *call.Invocation) { inv.Target += "?strict_mode=true" },
		"another method": func(inv *call.Invocation) { inv.Method = "PUT" },
	} {
		inv := invocation("a", "k", "fast x")
		change(&inv)
		_, err := s.Run(t.Context(), inv)
		r := refused(t, err)
		require.Equal(t, 409, statusOf(r), name)
		require.Equal(t, call.InvalidInput, r.Type, name)
		require.Zero(t, r.RetryAfter, name)
	}
	res, err := s.Run(t.Context(), invocation("b", "k", "fast x"))
	require.NoError(t, err)
	require.False(t, res.Replayed)
	require.Equal(t, 2, s.provider.count("x"))
}

func TestRecordedRefusalsOfTheProviderReplay(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	for _, replayed := range []bool{false, true} {
		_, err := s.Run(t.Context(), invocation("a", "k", "refuse x"))
		r := refused(t, err)
		require.Equal(t, 400, statusOf(r))
		require.Equal(t, call.PolicyViolation, r.Type)
		require.Equal(t, replayed, r.Replayed)
	}
	require.Equal(t, 1, s.provider.count("x"))
}

func TestARefusalBeforeDispatchReleasesTheKey(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	inv := invocation("a", "k", "fast x")
	inv.Model = "no/such"
	_, err := s.Run(t.Context(), inv)
	require.Equal(t, 404, statusOf(refused(t, err)))
	s.Tiers = limits(func(account string) call.Limits {
		l := openTiers(account)
		l.Unfunded = true
		return l
	})
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, 402, statusOf(refused(t, err)))
	s.Tiers = openTiers
	res, err := s.Run(t.Context(), invocation("a", "k", "fast other"))
	require.NoError(t, err)
	require.False(t, res.Replayed)
}

func TestRetryOfARunningCallWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	ctx, hangUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx, invocation("a", "k", "gate x"))
		first <- err
	}()
	require.Equal(t, "x", <-s.provider.begun)
	_, err := s.Run(t.Context(), invocation("a", "k", "gate x"))
	r := refused(t, err)
	require.Equal(t, 409, statusOf(r))
	require.Equal(t, call.ConcurrencyLimit, r.Type)
	require.GreaterOrEqual(t, r.RetryAfter, 1)
	hangUp()
	require.Equal(t, call.ClientDisconnected, refused(t, <-first).Type)
	collected := make(chan *call.Result, 1)
	go func() {
		res, err := s.Run(context.WithoutCancel(t.Context()), invocation("a", "k", "gate x"))
		if err != nil {
			t.Error(err)
		}
		collected <- res
	}()
	close(s.provider.gate("x"))
	res := <-collected
	require.NotNil(t, res)
	require.True(t, res.Replayed)
	require.Equal(t, answerTo("x"), read(t, res))
	require.Equal(t, 1, s.provider.count("x"))
}

func TestDeadlineAnswerAsksToRetryOnlyWithAHandle(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	s.Deadline = time.Second
	first := invocation("a", "k", "endless a")
	_, err := s.Run(t.Context(), first)
	require.Equal(t, call.DeadlineExceeded, refused(t, err).Type)
	s.awaitState(t, "a", call.ID(first.RequestID), func(c call.Call) bool { return c.State == call.Running })
	for _, tc := range []struct {
		key, body string
		retry     bool
	}{{"k", "endless a", true}, {"", "endless b", false}, {"g", "gate c", false}} {
		_, err := s.Run(t.Context(), invocation("a", tc.key, tc.body))
		r := refused(t, err)
		require.Equal(t, 504, statusOf(r))
		require.Equal(t, call.DeadlineExceeded, r.Type)
		require.Equal(t, tc.retry, r.RetryAfter > 0, tc.body)
	}
	close(s.provider.gate("c"))
}

// An answer with the provider's own links is repeated for five minutes after its delivery, since the connection may
// have broken before the client read the last byte. After that, the key is used up.
func TestAnswerWithLinksIsGivenAgainForSomeMinutes(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	for range 2 { // the answer can be collected until it was delivered
		res, err := s.Run(t.Context(), invocation("a", "k", "link x"))
		require.NoError(t, err)
		defer func() { require.NoError(t, res.Delivered(context.WithoutCancel(t.Context()))) }()
	}
	for range 2 {
		res, err := s.Run(t.Context(), invocation("a", "k", "link x"))
		require.NoError(t, err)
		require.True(t, res.Replayed)
		require.NoError(t, res.Delivered(t.Context()))
	}
	age := func(of string) {
		_, err := s.pool.Exec(t.Context(), `update call_keys set delivered_at = delivered_at - $1::interval where account = 'a' and key = 'k'`,
			of)
		require.NoError(t, err)
	}
	age("4 minutes")
	_, err := s.Run(t.Context(), invocation("a", "k", "link x"))
	require.NoError(t, err, "the first delivery counts")
	age("61 seconds")
	_, err = s.Run(t.Context(), invocation("a", "k", "link x"))
	r := refused(t, err)
	require.Equal(t, 409, statusOf(r))
	require.Equal(t, call.InvalidInput, r.Type)
	require.Equal(t, 1, s.provider.count("x"))
}

func TestInterruptedAnswerIsNotRequestedAgain(t *testing.T) { // outcome unknown
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	_, err := s.Run(t.Context(), invocation("a", "k", "drop x"))
	require.Equal(t, 502, statusOf(refused(t, err)))
	_, err = s.Run(t.Context(), invocation("a", "k", "drop x"))
	r := refused(t, err)
	require.Equal(t, 409, statusOf(r))
	require.Equal(t, call.InvalidInput, r.Type)
	require.Equal(t, 1, s.provider.count("x"))
}

func TestConcurrencyAndSpendGates(t *testing.T) {
	t.Parallel()
	two := limits(func(account string) call.Limits {
		l := call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 2}}, Backlog: 1, QueueFor: time.Hour}
		if account == "spender" {
			l.Steps[0].Concurrent, l.Ceiling = 100, 2*price+price/2
		}
		return l
	})
	s := newDeployment(t, two)
	s.work(t)
	for _, account := range []string{"counter", "spender"} {
		done := make(chan error, 2)
		for _, name := range []string{account + "1", account + "2"} {
			go func() {
				_, err := s.Run(context.WithoutCancel(t.Context()), invocation(account, "", "gate "+name))
				done <- err
			}()
			<-s.provider.begun
		}
		_, err := s.Run(t.Context(), invocation(account, "", "fast x"))
		r := refused(t, err)
		require.Equal(t, 429, statusOf(r))
		require.Equal(t, call.ConcurrencyLimit, r.Type)
		if account == "spender" {
			require.Equal(t, &call.Spend{Limit: 10, Current: 8, Remaining: 2}, r.Spend)
		} else {
			require.Nil(t, r.Spend)
		}
		close(s.provider.gate(account + "1"))
		close(s.provider.gate(account + "2"))
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		res, err := s.Run(t.Context(), invocation(account, "", "fast x"))
		require.NoError(t, err)
		require.Equal(t, account == "spender", res.Spend != nil)
	}
}

func TestRateWindows(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, limits(func(string) call.Limits {
		const years = 20 * 365 * 24 * time.Hour // keeps the test within one window
		return call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 10}}, Windows: []call.Window{{Name: "day", Length: years, Calls: 2}}}
	}))
	s.work(t)
	for range 2 {
		_, err := s.Run(t.Context(), invocation("a", "", "fast x"))
		require.NoError(t, err)
	}
	for range 2 { // a refused call does not count
		_, err := s.Run(t.Context(), invocation("a", "", "fast x"))
		r := refused(t, err)
		require.Equal(t, call.RateLimited, r.Type)
		require.Contains(t, r.Detail, "day")
		require.Positive(t, r.RetryAfter)
	}
	q, err := s.Enqueue(t.Context(), invocation("b", "", "fast x"))
	require.NoError(t, err)
	_, err = s.Status(t.Context(), call.Handle{Account: "b", Call: q.Call}) // polls count as well
	require.NoError(t, err)
	_, _, err = s.Result(t.Context(), call.Handle{Account: "b", Call: q.Call})
	require.Equal(t, call.RateLimited, refused(t, err).Type)
}

func TestQueuedCallsWaitAndStartInOrder(t *testing.T) {
	t.Parallel()
	one := limits(func(string) call.Limits {
		return call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 1}}, Backlog: 2, QueueFor: time.Hour}
	})
	s := newDeployment(t, one)
	s.work(t)
	ids := map[string]call.ID{}
	for i, name := range []string{"x", "y", "z"} {
		q, err := s.Enqueue(t.Context(), invocation("a", "key-"+name, "gate "+name))
		require.NoError(t, err)
		require.EqualValues(t, max(0, i-1), q.Ahead)
		ids[name] = q.Call
	}
	_, err := s.Enqueue(t.Context(), invocation("a", "", "fast w"))
	require.Equal(t, call.QueueBacklogFull, refused(t, err).Type)
	q, err := s.Enqueue(t.Context(), invocation("a", "key-z", "gate z"))
	require.NoError(t, err)
	require.Equal(t, call.Enqueued{Call: ids["z"], Ahead: 1, Replayed: true}, q)
	require.Equal(t, "x", <-s.provider.begun)
	p, err := s.Status(t.Context(), call.Handle{Account: "a", Call: ids["z"]})
	require.NoError(t, err)
	require.Equal(t, call.InQueue, p.Status)
	require.EqualValues(t, 1, *p.Ahead)
	active, err := s.Cancel(t.Context(), call.Handle{Account: "a", Call: ids["y"]}, "r")
	require.NoError(t, err)
	require.True(t, active)
	_, _, err = s.Result(t.Context(), call.Handle{Account: "a", Call: ids["y"]})
	require.Equal(t, call.CancelledType, refused(t, err).Type)
	close(s.provider.gate("x"))
	require.Equal(t, "z", <-s.provider.begun)
	_, progress, err := s.Result(t.Context(), call.Handle{Account: "a", Call: ids["z"]})
	require.NoError(t, err)
	require.Equal(t, call.InProgress, progress.Status)
	close(s.provider.gate("z"))
	s.awaitEnd(t, "a", ids["z"])
	res, _, err := s.Result(t.Context(), call.Handle{Account: "a", Call: ids["z"]})
	require.NoError(t, err)
	require.Equal(t, answerTo("z"), read(t, res))
	active, err = s.Cancel(t.Context(), call.Handle{Account: "a", Call: ids["z"]}, "r")
	require.NoError(t, err)
	require.False(t, active)
	_, err = s.Status(t.Context(), call.Handle{Account: "b", Call: ids["z"]})
	require.Equal(t, 404, statusOf(refused(t, err)))
	s.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	_, err = s.Status(t.Context(), call.Handle{Account: "a", Call: ids["z"]})
	require.Equal(t, 410, statusOf(refused(t, err)))
	require.Zero(t, s.provider.count("y"))
}

func TestCancelReachesTheProvider(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	q, err := s.Enqueue(t.Context(), invocation("a", "", "endless x"))
	require.NoError(t, err)
	s.awaitState(t, "a", q.Call, func(c call.Call) bool { return c.State == call.Running })
	active, err := s.Cancel(t.Context(), call.Handle{Account: "a", Call: q.Call}, "r")
	require.NoError(t, err)
	require.True(t, active)
	s.awaitEnd(t, "a", q.Call)
	c, err := s.calls.Load(t.Context(), "a", q.Call)
	require.NoError(t, err)
	require.Equal(t, call.Canceled, c.State)
	require.Zero(t, *c.Charged)
}

func TestWaitingCallTimesOut(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, limits(func(string) call.Limits {
		return call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 1}}, Backlog: 2, QueueFor: time.Millisecond}
	}))
	_, err := s.Enqueue(t.Context(), invocation("a", "", "fast x")) // no worker runs, so the call keeps its slot
	require.NoError(t, err)
	q, err := s.Enqueue(t.Context(), invocation("a", "", "fast y"))
	require.NoError(t, err)
	for p := (call.Progress{}); p.Status != call.Completed; {
		_, err = s.calls.TimeOut(t.Context(), 10)
		require.NoError(t, err)
		p, err = s.Status(t.Context(), call.Handle{Account: "a", Call: q.Call})
		require.NoError(t, err)
	}
	_, _, err = s.Result(t.Context(), call.Handle{Account: "a", Call: q.Call})
	r := refused(t, err)
	require.Equal(t, 504, statusOf(r))
	require.Equal(t, call.QueueTimeout, r.Type)
}

// patience bounds every wait, far above the usual time.
const patience = 5 * time.Minute

// until polls a condition.
func (s *deployment) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not in time: " + what)
		}
	}
}

// awaitEnd waits for the end of a call, as the API does.
func (s *deployment) awaitEnd(t *testing.T, account string, id call.ID) {
	t.Helper()
	s.awaitState(t, account, id, func(c call.Call) bool { return c.State.Final() })
}

// awaitState polls a call until it is in the wanted state.
func (s *deployment) awaitState(t *testing.T, account string, id call.ID, wanted func(call.Call) bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := s.calls.Load(t.Context(), account, id)
		require.NoError(t, err)
		if wanted(c) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("call %s stays %s", id, c.State)
		}
	}
}
