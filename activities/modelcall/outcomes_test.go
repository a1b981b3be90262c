package modelcall_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
)

// record is a store of calls that reads one call in a given state.
type record struct {
	modelcall.Calls
	call call.Call
}

func (r record) Load(context.Context, string, call.ID) (call.Call, error) { return r.call, nil }

// The state of a call decides its next step, and the end of a call its outcome with the cause. A state that is not known is an error.
func TestTheStateOfACallDecidesItsNextStep(t *testing.T) {
	t.Parallel()
	failure := &call.Failure{Type: call.ProviderError}
	over := func(outcome modelcall.Outcome, cause string) modelcall.Step {
		return modelcall.Step{Next: modelcall.NextNothing, Outcome: outcome, Cause: cause}
	}
	for state, want := range map[call.State]modelcall.Step{
		call.Waiting: {Next: modelcall.NextSend}, call.Admitted: {Next: modelcall.NextSend}, call.Running: {Next: modelcall.NextPoll},
		call.Answered: {Next: modelcall.NextHost}, call.Succeeded: over(modelcall.OutcomeSucceeded, ""),
		call.Failed: over(modelcall.OutcomeFailed, call.ProviderError), call.Unknown: over(modelcall.OutcomeUnknown, call.ProviderError),
		call.Canceled: over(modelcall.OutcomeCanceled, ""), "strange": {},
	} {
		l := newLine(t, func(d *modelcall.Deps) { d.Calls = record{d.Calls, call.Call{State: state, Failure: failure}} })
		resolve := map[string]func(context.Context, call.Run) (modelcall.Step, error){"resolve": l.Resolve}
		if state != call.Running {
			resolve["poll"] = l.Activities.Poll
		}
		if state != call.Answered {
			resolve["host"], resolve["deliver"] = l.Activities.Host, l.Deliver
		}
		for name, next := range resolve {
			step, err := next(t.Context(), l.run)
			if state == "strange" {
				require.ErrorContains(t, err, `is in state "strange"`, name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, want, step, "%s of a call that is %s", name, state)
		}
	}
}

// A step of a call whose state cannot be read, or whose end cannot be recorded, is an error: the step is repeated.
func TestAStepThatIsNotRecordedIsAnError(t *testing.T) {
	t.Parallel()
	answered := []any{call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.AnsweredV1{Answer: call.Body{Size: 1}}}
	for name, step := range map[string]func(*line) (modelcall.Step, error){
		"resolve": func(l *line) (modelcall.Step, error) { return l.Resolve(l.t.Context(), l.run) },
		"poll":    func(l *line) (modelcall.Step, error) { return l.Activities.Poll(l.t.Context(), l.run) },
		"host":    func(l *line) (modelcall.Step, error) { return l.Activities.Host(l.t.Context(), l.run) },
		"deliver": func(l *line) (modelcall.Step, error) { return l.Deliver(l.t.Context(), l.run) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for f := range faulttest.Each {
				l := newLine(t, func(d *modelcall.Deps) { d.Calls = failingCalls{d.Calls, f} }, answered...)
				got, err := step(l)
				if f.Failed() {
					require.ErrorIs(t, err, faulttest.ErrAway, "call %d", f.Fail)
					require.Zero(t, got)
					continue
				}
				require.NoError(t, err)
				require.NotZero(t, got)
			}
		})
	}
}

// noHosts does not copy assets.
type noHosts struct{ modelcall.Hosts }

func (noHosts) Host(context.Context, call.Call) (call.HostedV1, error) {
	return call.HostedV1{}, faulttest.ErrAway
}

// An answer whose assets could not be copied does not end its call.
func TestAnAnswerThatIsNotCopiedDoesNotEndItsCall(t *testing.T) {
	t.Parallel()
	l := newLine(t, func(d *modelcall.Deps) { d.Hosts = noHosts{} }, call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.AnsweredV1{})
	_, err := l.Activities.Host(t.Context(), l.run)
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.ErrorContains(t, err, "copy the assets of call ")
	step, err := l.Resolve(t.Context(), l.run)
	require.NoError(t, err)
	require.Equal(t, modelcall.Step{Next: modelcall.NextHost}, step)
}

// refusing is a log that takes no event.
type refusing struct {
	eventlog.Store
	refuse func() error
	tries  int
}

func (r *refusing) Append(context.Context, eventlog.Append) ([]eventlog.Recorded, error) {
	r.tries++
	return nil, r.refuse()
}

// A call that cannot be announced is not sent. The announcement is repeated a few times if other events come first or the log is away, and
// not after its activity has ended.
func TestACallThatIsNotAnnouncedIsNotSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal  error
		canceled bool
		tries    int
		fails    string
	}{
		"other events come first":    {eventlog.ErrVersion, false, 5, "keeps changing"},
		"it was closed and reopened": {eventlog.ErrClosed, false, 5, "keeps changing"},
		"the log is away":            {faulttest.ErrAway, false, 5, "keeps changing"},
		"the log is away for longer": {faulttest.ErrAway, true, 1, "announce call "},
		"the log refuses it":         {errors.New("a bug"), false, 1, "a bug"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				log := &refusing{}
				l := newLine(t, func(d *modelcall.Deps) { log.Store, d.Events = d.Events, log })
				log.refuse = func() error {
					if c.canceled {
						cancel()
					}
					return c.refusal
				}
				_, err := l.Activities.Dispatch(ctx, l.run)
				require.ErrorContains(t, err, c.fails)
				require.Equal(t, c.tries, log.tries)
				require.Empty(t, l.sent)
				require.Zero(t, l.disk.open.Load())
			})
		})
	}
}

// A call is sent although its stream has grown since its run was made.
func TestACallIsSentAfterOtherEvents(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l := newLine(t, nil)
		l.run.Version, l.dispatch = 1, answers("x")
		step, err := l.Activities.Dispatch(t.Context(), l.run)
		require.NoError(t, err)
		require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, step)
		require.Equal(t, []string{"a request"}, l.sent)
	})
}

// A request that cannot be opened by an activity that was interrupted is not taken for lost.
func TestAnInterruptedActivityEndsNoCall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l := newLine(t, nil)
		l.run.Request.Ref[0]++
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := l.Activities.Dispatch(ctx, l.run)
		require.ErrorContains(t, err, "open the request of call ")
		state, _ := l.state()
		require.Equal(t, call.Admitted, state.State)
	})
}

// An exchange goes on when its activity ends. Other activities of its call wait for it, and so does a process that shuts down, for a while.
func TestAnExchangeOutlivesItsActivity(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l := newLine(t, nil)
		l.dispatch = func(sink io.Writer) (call.Exchange, error) {
			<-time.After(time.Minute)
			return answers("x")(sink)
		}
		began := time.Now()
		within := func(wait func(context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, wait(ctx), context.DeadlineExceeded)
		}
		within(func(ctx context.Context) error {
			_, err := l.Activities.Dispatch(ctx, l.run)
			return err
		})
		within(l.Drain)
		step, err := l.Resolve(t.Context(), l.run)
		require.NoError(t, err)
		require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, step)
		require.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, l.Drain(t.Context()))
		require.Len(t, l.sent, 1)
	})
}

// No call begins while answers that wait for space fill half of their memory. Calls begin again once an answer is stored.
func TestNoCallBeginsWhileAnswersWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l := newLine(t, func(d *modelcall.Deps) { d.AnswerMemory = 20 })
		l.disk.writes = 1
		l.dispatch = func(sink io.Writer) (call.Exchange, error) {
			out, err := answers("eleven byte")(sink)
			<-time.After(time.Minute)
			return out, err
		}
		go func() { _, _ = l.Activities.Dispatch(t.Context(), l.run) }()
		synctest.Wait()
		other := l.run
		other.Call = "another"
		attempt, err := l.Prepare(t.Context(), other)
		require.Equal(t, fault.CodeDiskFull, fault.CodeOf(err))
		require.Nil(t, attempt)
		<-time.After(time.Minute)
		synctest.Wait()
		attempt, err = l.Prepare(t.Context(), other)
		require.NoError(t, err)
		attempt.Discard(false)
	})
}

// A call whose answer is lost ends with an unknown outcome and is not repeated, since its provider has answered. An answer that does not
// wait any more takes no memory.
func TestAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		memory  int64
		writes  int
		commits int
		reads   int
		garbled bool
		reports bool // the provider reports that it could not write
		want    call.State
	}{
		"no memory for its bytes":           {memory: 1, writes: 1, want: call.Unknown},
		"no memory, as is reported":         {memory: 1, writes: 1, reports: true, want: call.Unknown},
		"memory for its beginning":          {memory: 5, writes: 1, want: call.Unknown},
		"its file is damaged":               {memory: 20, commits: 1, garbled: true, want: call.Unknown},
		"its file cannot be read for a bit": {memory: 20, commits: 1, reads: 1, want: call.Succeeded},
		"its file is damaged as it is full": {memory: 20, writes: 1, garbled: true, want: call.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				l := newLine(t, func(d *modelcall.Deps) { d.AnswerMemory = c.memory })
				l.disk.writes, l.disk.commits, l.disk.reads, l.disk.garbled = c.writes, c.commits, c.reads, c.garbled
				l.idempotent, l.dispatch = true, func(sink io.Writer) (call.Exchange, error) {
					var failed error
					for _, text := range []string{"one ", "two ", "three"} {
						n, err := io.WriteString(sink, text)
						if failed != nil {
							require.Error(t, err, "no byte comes after one that is lost")
							require.Zero(t, n)
						}
						failed = errors.Join(failed, err)
					}
					require.Equal(t, c.writes > 0, failed != nil)
					if c.reports {
						return call.Exchange{}, failed
					}
					return call.Exchange{Phase: call.PhaseAnswered, ContentType: "text/plain"}, nil
				}
				_, err := l.Activities.Dispatch(t.Context(), l.run)
				require.NoError(t, err)
				require.Len(t, l.sent, 1)
				state, text := l.state()
				require.Equal(t, c.want, state.State)
				if c.want == call.Unknown {
					require.Equal(t, call.OutcomeUnknownV1{Model: "sim/echo", Failure: call.Failure{
						Type: call.InternalError, Detail: "the provider answered, but the router could not store the answer",
					}}, l.ended.Data)
					require.Equal(t, call.KeepReserved, l.ended.Reservation)
				} else {
					require.Equal(t, "one two three", text)
				}
				synctest.Wait()
				require.Zero(t, l.disk.open.Load())
				next := l.run
				next.Call = "another"
				attempt, err := l.Prepare(t.Context(), next)
				require.NoError(t, err, "the memory is free again")
				attempt.Discard(false)
			})
		})
	}
}

// An answer in JSON that names an address elsewhere is not given again for its key, however its bytes come.
func TestAnAnswerThatNamesAnAddressIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	for address, linked := range map[string]bool{
		`"http://x"`: true, `"https://x"`: true, `"http:\/\/x"`: true, `"https:\/\/x"`: true, `"http:/x"`: false, `"see http://x"`: false,
	} {
		text := `{"a":"b","of":` + address + `,"and":"a longer end"}`
		for at := range text {
			l := newLine(t, nil)
			l.dispatch = func(sink io.Writer) (call.Exchange, error) {
				out, err := answers(text[:at], text[at:min(at+1, len(text))], text[min(at+1, len(text)):])(sink)
				out.ContentType = "application/json"
				return out, err
			}
			_, err := l.Activities.Dispatch(t.Context(), l.run)
			require.NoError(t, err)
			done, ok := l.ended.Data.(call.SucceededV1)
			require.True(t, ok)
			require.Equal(t, !linked, done.Replayable, "%s, cut at %d", text, at)
		}
	}
}

// endElsewhere ends the call as another process does that believes this one dead.
func (l *line) endElsewhere() {
	_, err := l.End(context.Background(), call.Ending{
		Run: l.run, Type: call.TypeOutcomeUnknown, Data: call.OutcomeUnknownV1{Failure: call.Failure{Type: call.InternalError}},
	})
	require.NoError(l.t, err)
}

// A call is not sent again, to another server or to the same one, after its caller has canceled or another process has taken it over.
func TestACallIsNotSentAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	theirs := call.RepeatedV1{Token: "theirs", Worker: "other"}
	unknown := modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeUnknown, Cause: call.ProviderError}
	for name, c := range map[string]struct {
		fails      error
		idempotent bool
		meanwhile  func(*line)
		want       modelcall.Step
	}{
		"to its fallback, canceled": {
			fails: call.ErrNotSent, meanwhile: func(l *line) { l.append(call.CancelRequestedV1{}) },
			want: modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeFailed, Cause: call.ServiceUnavailable},
		},
		"canceled": {fails: broken, idempotent: true, meanwhile: func(l *line) { l.append(call.CancelRequestedV1{}) }, want: unknown},
		"repeated by another": {
			fails: broken, idempotent: true, meanwhile: func(l *line) { l.append(theirs) },
			want: modelcall.Step{Next: modelcall.NextWait, After: 2 * time.Second},
		},
		"ended by another": {
			fails: broken, idempotent: true, meanwhile: func(l *line) { l.endElsewhere() }, want: unknown,
		},
		"to its fallback, ended by another": {
			fails: call.ErrNotSent, meanwhile: func(l *line) { l.endElsewhere() },
			want: modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeFailed, Cause: call.ServiceUnavailable},
		},
		"no space for its answer": {fails: broken, idempotent: true, meanwhile: func(l *line) { l.disk.creates = 1 }, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				l := newLine(t, nil)
				if c.fails == call.ErrNotSent { //nolint:errorlint // a value of the table
					l.run.Fallback = "second"
				}
				l.idempotent, l.dispatch = c.idempotent, func(io.Writer) (call.Exchange, error) {
					c.meanwhile(l)
					return call.Exchange{}, c.fails
				}
				step, err := l.Activities.Dispatch(t.Context(), l.run)
				require.NoError(t, err)
				require.Equal(t, c.want, step)
				require.Len(t, l.sent, 1)
			})
		})
	}
}

// asked is a provider that recognises a repeated request, and notes what it is asked about and what it gets.
type asked struct {
	call.Provider
	about *[]call.Conversation
}

func (a asked) Idempotent(c call.Conversation) bool {
	*a.about = append(*a.about, c)
	return true
}

func (a asked) Dispatch(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	*a.about = append(*a.about, c)
	return a.Provider.Dispatch(ctx, c, sink)
}

// The request of a dead process is repeated once, at the server that had it, unless the call was canceled.
func TestTheRequestOfADeadProcessIsRepeatedAtItsServer(t *testing.T) {
	t.Parallel()
	theirs := call.DispatchingV1{Run: 1, Token: "theirs", Worker: "other"}
	for name, c := range map[string]struct {
		events  []any
		repeats bool
	}{
		"sent":                {nil, true},
		"canceled":            {[]any{call.CancelRequestedV1{}}, false},
		"repeated by another": {[]any{call.RepeatedV1{Token: "x", Worker: "other"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				var about []call.Conversation
				l := newLine(t, func(d *modelcall.Deps) { d.Provider = asked{d.Provider, &about} },
					append([]any{theirs, call.ReroutedV1{Server: "second"}}, c.events...)...)
				l.run.Strict, l.run.Catalog = true, "7"
				l.dispatch = answers("x")
				began := time.Now()
				step, err := l.Resolve(t.Context(), l.run)
				require.NoError(t, err)
				if !c.repeats {
					require.Empty(t, l.sent)
					require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeUnknown, Cause: call.InternalError}, step)
					return
				}
				require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, step)
				require.Len(t, l.sent, 1)
				require.Equal(t, time.Second, time.Since(began), "the pause before it is repeated")
				require.Equal(t, call.Conversation{
					Call: id, Model: "sim/echo", Catalog: "7", Route: call.Route{Server: "second", Strict: true},
				}, about[0])
				require.Equal(t, call.Route{Server: "second", Strict: true}, about[1].Route)
				done, ok := l.ended.Data.(call.SucceededV1)
				require.True(t, ok)
				require.Equal(t, "second", done.Fallback)
			})
		})
	}
}

// senders is a store of calls that knows whether the process of a call lives, and lets the call go on meanwhile.
type senders struct {
	modelcall.Calls
	meanwhile func()
	away      error
}

func (s senders) Alive(context.Context, string) (bool, error) {
	s.meanwhile()
	return false, s.away
}

// A call is only taken from a process that is known to be dead, and only if the log says that it has not gone on.
func TestACallIsTakenFromADeadProcessOnly(t *testing.T) {
	t.Parallel()
	lost := modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeUnknown, Cause: call.InternalError}
	wait := modelcall.Step{Next: modelcall.NextWait, After: 2 * time.Second}
	for name, c := range map[string]struct {
		worker string
		goesOn bool
		away   error
		want   modelcall.Step
	}{
		"it is not known":        {worker: "other", away: faulttest.ErrAway, want: wait},
		"the call has gone on":   {worker: "other", goesOn: true, want: modelcall.Step{Next: modelcall.NextWait}},
		"it is an earlier this":  {worker: "this", want: lost},
		"it is another and dead": {worker: "other", want: lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l *line
			l = newLine(t, func(d *modelcall.Deps) {
				d.Calls = senders{d.Calls, func() {
					require.Equal(t, "other", c.worker, "a process knows of itself that it does not send the call")
					if c.goesOn {
						l.append(call.ProviderAcceptedV1{Handle: "h"})
					}
				}, c.away}
			}, call.DispatchingV1{Run: 1, Token: "t", Worker: c.worker})
			step, err := l.Resolve(t.Context(), l.run)
			require.ErrorIs(t, err, c.away)
			require.Equal(t, c.want, step)
		})
	}
}

// A generation that took too long ends with an unknown outcome, but not by an outage of this service: the provider may have the result.
func TestAnOutageEndsNoGeneration(t *testing.T) {
	t.Parallel()
	for _, outage := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			sent := time.Now().Add(-time.Hour - time.Nanosecond)
			l := newLine(t, nil, call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.ProviderAcceptedV1{Handle: "h"})
			state, _ := l.state()
			for _, at := range []*time.Time{nil, &sent} {
				state.SentAt = at
				deps := l.Deps
				deps.Calls = record{l, state}
				m := modelcall.New(deps)
				l.poll = func(call.Conversation, io.Writer) (call.Exchange, error) {
					return call.Exchange{Phase: call.PhasePending, PollAfter: time.Second}, nil
				}
				want := modelcall.Step{Next: modelcall.NextPoll, After: time.Second}
				if outage {
					l.disk.creates, want.After = 1, 2*time.Second
				} else if at != nil {
					want = modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeUnknown, Cause: call.ProviderTimeout}
				}
				step, err := m.Poll(t.Context(), l.run)
				require.NoError(t, err)
				require.Equal(t, want, step)
			}
		})
	}
}

// noCancel is a provider that does not answer a cancellation.
type noCancel struct {
	call.Provider
	asked *int
}

func (n noCancel) Cancel(context.Context, call.Conversation) error {
	*n.asked++
	return errors.New("away")
}

// A provider that does not answer a cancellation is asked a few times. Then the call is polled further.
func TestAProviderIsAskedToCancelAFewTimes(t *testing.T) {
	t.Parallel()
	tries := 0
	l := newLine(t, func(d *modelcall.Deps) { d.Provider = noCancel{d.Provider, &tries} },
		call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.ProviderAcceptedV1{Handle: "h"}, call.CancelRequestedV1{})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)                                             // three seconds otherwise
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // one second otherwise
	env.RegisterActivity(l.Activities.Stop)
	env.ExecuteWorkflow(func(ctx workflow.Context, r call.Run) (step modelcall.Step, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 9},
		})
		err = workflow.ExecuteActivity(ctx, l.Activities.Stop, r).Get(ctx, &step)
		return step, err
	}, l.run)
	require.NoError(t, env.GetWorkflowError())
	var step modelcall.Step
	require.NoError(t, env.GetWorkflowResult(&step))
	require.Equal(t, modelcall.Step{Next: modelcall.NextPoll}, step)
	require.Equal(t, 5, tries)
}

// A call that was given up and may have been recorded is looked for as long as a commit may take, and only while its process sends
// heartbeats. Who waits for it reads the log.
func TestHowLongACallThatWasGivenUpIsLookedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		absent    int
		uncertain bool
		stops     bool // the process ends its heartbeats
		recorded  any
		takes     time.Duration
	}{
		"certain":             {0, false, false, nil, 0},
		"never recorded":      {1 << 20, true, false, nil, 15 * time.Second},
		"recorded late":       {3, true, false, nil, 750 * time.Millisecond},
		"the process stops":   {1 << 20, true, true, nil, 0},
		"recorded by another": {0, true, false, call.DispatchingV1{Run: 1, Token: "theirs", Worker: "other"}, 0},
		"not announced":       {0, true, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				l := newLine(t, nil)
				attempt, err := l.Prepare(t.Context(), l.run)
				require.NoError(t, err)
				if c.recorded != nil {
					l.append(c.recorded)
				}
				l.absent = c.absent
				l.SetAlive(!c.stops)
				began, steps := time.Now(), make(chan modelcall.Step, 1)
				go func() {
					step, err := l.Activities.Dispatch(t.Context(), l.run) // joins the attempt
					if err == nil {
						steps <- step
					}
				}()
				synctest.Wait()
				attempt.Discard(c.uncertain)
				require.Equal(t, modelcall.Step{Next: modelcall.NextWait}, <-steps)
				require.Equal(t, c.takes, time.Since(began))
				l.absent = 0
				state, _ := l.state()
				require.NotEqual(t, call.Failed, state.State, "only a call that this process was to send ends unsent")
			})
		})
	}
}

// heard is a provider that notes the whole of what it gets.
type heard struct {
	call.Provider
	got *[]call.Conversation
}

func (h heard) note(c call.Conversation) {
	c.Body = nil
	*h.got = append(*h.got, c)
}

func (h heard) Dispatch(context.Context, call.Conversation, io.Writer) (call.Exchange, error) {
	return call.Exchange{Phase: call.PhaseAccepted, Handle: "h", Price: 4}, nil
}

func (h heard) Poll(_ context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	h.note(c)
	return call.Exchange{Phase: call.PhasePending}, nil
}

func (h heard) Cancel(_ context.Context, c call.Conversation) error {
	h.note(c)
	return call.ErrNoCancel
}

// A provider gets all that is known of a call when it is polled and when it is canceled.
func TestAProviderGetsAllOfACall(t *testing.T) {
	t.Parallel()
	var got []call.Conversation
	l := newLine(t, func(d *modelcall.Deps) { d.Provider = heard{d.Provider, &got} })
	l.run.Request.ContentType, l.run.Held, l.run.Catalog, l.run.Strict = "text/x", 8, "7", true
	_, err := l.Activities.Dispatch(t.Context(), l.run)
	require.NoError(t, err)
	_, err = l.Activities.Poll(t.Context(), l.run)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute) // an activity has three seconds otherwise
	env.RegisterActivity(l.Activities.Stop)
	_, err = env.ExecuteActivity(l.Activities.Stop, l.run)
	require.NoError(t, err)
	route := call.Route{Strict: true}
	require.Equal(t, []call.Conversation{
		{
			Call: id, Model: "sim/echo", Handle: "h", Quoted: 4, Size: 9, ContentType: "text/x", Held: 8, Catalog: "7", Route: route,
		},
		{Call: id, Model: "sim/echo", Handle: "h", Catalog: "7", Route: route},
	}, got)
}
