package modelcall_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

const id = call.ID("0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d")

// line is a call, the log that records it, and its provider.
type line struct {
	*modelcall.Activities
	t     *testing.T
	log   *eventlogtest.Memory
	types *eventlog.Registry
	disk  *disk
	run   call.Run

	alive      bool // the process that sent the call, if it is another one
	absent     int  // reads at which the call is not recorded yet
	failingEnd int  // ends that are not recorded at first
	loads      atomic.Int64

	dispatch   func(io.Writer) (call.Exchange, error)
	poll       func(call.Conversation, io.Writer) (call.Exchange, error)
	cancel     error
	idempotent bool
	hosted     call.HostedV1
	ended      call.Ending

	mu   sync.Mutex // guards sent
	sent []string   // bodies that the provider got
}

// newLine returns a call that was accepted and admitted, and after that has the given events.
func newLine(t *testing.T, change func(*modelcall.Deps), events ...any) *line {
	t.Helper()
	l := &line{t: t, types: eventlog.NewRegistry(), disk: &disk{Store: mem.New()}}
	require.NoError(t, call.Register(l.types))
	l.log = eventlogtest.NewMemory(l.types)
	body, err := blob.PutBytes(t.Context(), l.disk.Store, []byte("a request"))
	require.NoError(t, err)
	l.run = call.Run{Call: id, Account: "a", Run: 1, Model: "sim/echo", Request: call.Body{Ref: body, Size: 9}}
	for _, data := range append([]any{call.AcceptedV1{Model: "sim/echo"}, call.AdmittedV1{Run: 1}}, events...) {
		l.append(data)
	}
	l.run.Version = 2
	deps := modelcall.Deps{
		Events: l.log, Types: l.types, Calls: l, Blobs: l.disk, Provider: l, Hosts: l, Tiers: l, Worker: "this",
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&deps)
	}
	l.Activities = modelcall.New(deps)
	l.SetAlive(true)
	return l
}

var eventTypes = map[string]func(any) bool{
	call.TypeAccepted:         func(d any) bool { _, ok := d.(call.AcceptedV1); return ok },
	call.TypeAdmitted:         func(d any) bool { _, ok := d.(call.AdmittedV1); return ok },
	call.TypeDispatching:      func(d any) bool { _, ok := d.(call.DispatchingV1); return ok },
	call.TypeRerouted:         func(d any) bool { _, ok := d.(call.ReroutedV1); return ok },
	call.TypeProviderAccepted: func(d any) bool { _, ok := d.(call.ProviderAcceptedV1); return ok },
	call.TypeAnswered:         func(d any) bool { _, ok := d.(call.AnsweredV1); return ok },
	call.TypeRepeated:         func(d any) bool { _, ok := d.(call.RepeatedV1); return ok },
	call.TypeCancelRequested:  func(d any) bool { _, ok := d.(call.CancelRequestedV1); return ok },
}

func (l *line) append(data any) {
	l.t.Helper()
	for eventType, is := range eventTypes {
		if is(data) {
			_, err := l.log.Append(context.WithoutCancel(l.t.Context()), eventlog.Append{
				Stream: id.Stream(), Account: "a", Expected: eventlog.AnyVersion,
				Events: []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}},
			})
			require.NoError(l.t, err)
		}
	}
}

func (l *line) Load(ctx context.Context, account string, of call.ID) (call.Call, error) {
	l.loads.Add(1)
	if l.absent--; l.absent >= 0 {
		return call.Call{}, fault.New(fault.NotFound, "", "no call")
	}
	return eventlog.Fold(l.types, eventlog.Read(ctx, l.log, of.Stream(), 0), call.Call{}, call.Fold)
}

func (l *line) End(ctx context.Context, e call.Ending) (call.Ended, error) {
	if l.failingEnd--; l.failingEnd >= 0 {
		return call.Ended{}, fault.New(fault.Unavailable, "", "the database is away")
	}
	recorded, err := l.log.Append(ctx, eventlog.Append{
		Stream: e.Call.Stream(), Account: e.Account, Expected: eventlog.AnyVersion,
		Events: append(e.Before, eventlog.Event{ID: call.EventID(e.Call, 0, e.Type), Type: e.Type, Data: e.Data}),
	})
	l.ended = e
	return call.Ended{Applied: err == nil, Recorded: recorded}, err
}

func (l *line) Alive(context.Context, string) (bool, error) { return l.alive, nil }

func (l *line) Dispatch(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	body, err := io.ReadAll(c.Body)
	if err != nil {
		return call.Exchange{}, err
	}
	l.mu.Lock()
	l.sent = append(l.sent, string(body))
	l.mu.Unlock()
	return l.dispatch(sink)
}

func (l *line) Poll(_ context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	return l.poll(c, sink)
}
func (l *line) Cancel(context.Context, call.Conversation) error { return l.cancel }
func (l *line) Idempotent(call.Conversation) bool               { return l.idempotent }
func (l *line) Total(string) time.Duration                      { return time.Hour }

func (l *line) Host(context.Context, call.Call) (call.HostedV1, error) { return l.hosted, nil }

func (l *line) CallLimits(context.Context, string) (call.Limits, error) { return call.Limits{}, nil }

func (l *line) CallBounds(string) call.Limits { return call.Limits{Backlog: 7} }

// state returns the call as the log has it, and its answer.
func (l *line) state() (call.Call, string) {
	l.t.Helper()
	c, err := l.Load(context.WithoutCancel(l.t.Context()), "a", id)
	require.NoError(l.t, err)
	if c.Answer == nil {
		return c, ""
	}
	r, err := l.disk.Store.Open(l.t.Context(), c.Answer.Ref)
	require.NoError(l.t, err)
	raw, err := io.ReadAll(r)
	require.NoError(l.t, err)
	return c, string(raw)
}

// disk is a store of blobs that has no space for some writes and some commits at first. It counts what was not closed.
type disk struct {
	*mem.Store
	creates, writes, commits int  // that fail
	repeated                 int  // commits of a writer after one that failed
	opens, reads             int  // of blobs, and of staged bytes, that fail
	garbled                  bool // staged bytes are not those that were written
	open                     atomic.Int64
}

var errFull = fault.New(fault.Exhausted, fault.CodeDiskFull, "no space left")

func (d *disk) Create(ctx context.Context, how blob.Durability) (blob.Writer, error) {
	if d.creates--; d.creates >= 0 {
		return nil, errFull
	}
	w, err := d.Store.Create(ctx, how)
	d.open.Add(1)
	return &onDisk{Writer: w, disk: d, ended: sync.OnceFunc(func() { d.open.Add(-1) })}, err
}

func (d *disk) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	if d.opens--; d.opens >= 0 {
		return nil, errFull
	}
	r, err := d.Store.Open(ctx, ref)
	if err == nil {
		d.open.Add(1)
	}
	return &opened{r, d}, err
}

type opened struct {
	blob.Reader
	disk *disk
}

func (o *opened) Close() error {
	o.disk.open.Add(-1)
	return o.Reader.Close()
}

type onDisk struct {
	blob.Writer
	disk  *disk
	ended func()

	failed bool // a commit
}

func (w *onDisk) Write(p []byte) (int, error) {
	if w.disk.writes--; w.disk.writes >= 0 {
		n, _ := w.Writer.Write(p[:len(p)/2])
		return n, errFull
	}
	return w.Writer.Write(p)
}

func (w *onDisk) ReadAt(p []byte, at int64) (int, error) {
	if w.disk.reads--; w.disk.reads >= 0 {
		return 0, errFull
	}
	n, err := w.Writer.ReadAt(p, at)
	if w.disk.garbled {
		clear(p[:n])
	}
	return n, err
}

func (w *onDisk) Commit(ctx context.Context) (blob.Stored, error) {
	if w.failed {
		w.disk.repeated++
	}
	if w.disk.commits--; w.disk.commits >= 0 {
		w.failed = true
		return blob.Stored{}, errFull
	}
	stored, err := w.Writer.Commit(ctx)
	if err == nil {
		w.ended()
	}
	return stored, err
}

func (w *onDisk) Abort() error {
	w.ended()
	return w.Writer.Abort()
}

// answers is a provider that answers.
func answers(text ...string) func(io.Writer) (call.Exchange, error) {
	return func(sink io.Writer) (call.Exchange, error) {
		for _, t := range text {
			if _, err := io.WriteString(sink, t); err != nil {
				return call.Exchange{}, err
			}
		}
		return call.Exchange{Phase: call.PhaseAnswered, ContentType: "text/plain", Price: 5}, nil
	}
}

// bubble runs a test by its own clock.
func bubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		run(t)
		synctest.Wait()
	})
}

// An answer is recorded whole and once, whatever the disk and the database do meanwhile, and nothing is left open.
func TestAnAnswerIsStoredWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ memory, writes, commits, ends int }{
		"nothing fails":                  {},
		"no space for a part":            {writes: 1},
		"no space for a commit":          {commits: 1},
		"no space for two commits":       {commits: 2},
		"nor memory for the bytes":       {commits: 2, memory: 1},
		"no database after a commit":     {ends: 3},
		"no space and then no database":  {writes: 2, ends: 2},
		"no commit and then no database": {commits: 1, ends: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				l := newLine(t, func(d *modelcall.Deps) { d.AnswerMemory = int64(c.memory) })
				l.dispatch = answers("one ", "two ", "three")
				l.disk.writes, l.disk.commits, l.failingEnd = c.writes, c.commits, c.ends
				step, err := l.Activities.Dispatch(t.Context(), l.run)
				require.NoError(t, err)
				require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, step)
				c, text := l.state()
				require.Equal(t, call.Succeeded, c.State)
				require.Equal(t, "one two three", text)
				require.EqualValues(t, 5, *c.Charged)
				require.Equal(t, []string{"a request"}, l.sent)
				synctest.Wait()
				require.Zero(t, l.disk.open.Load(), "readers and writers that are open")
				require.Zero(t, l.disk.repeated, "a sync that is repeated may report bytes as stored that the disk has dropped")
				read := l.loads.Load()
				again, err := l.Activities.Dispatch(t.Context(), l.run)
				require.NoError(t, err)
				require.Equal(t, step, again)
				require.Equal(t, read, l.loads.Load(), "the workflow that starts after the exchange reads nothing")
			})
		})
	}
}

// A call is not sent while its answer could not be kept, nor twice, nor after its cancellation. What was opened for it is closed.
func TestACallIsNotSent(t *testing.T) {
	t.Parallel()
	other := call.DispatchingV1{Run: 1, Token: "theirs", Worker: "other"}
	ended := func(outcome modelcall.Outcome, cause string) modelcall.Step {
		return modelcall.Step{Next: modelcall.NextNothing, Outcome: outcome, Cause: cause}
	}
	for name, c := range map[string]struct {
		events []any
		alive  bool
		change func(*line, *modelcall.Deps)
		want   modelcall.Step
		outage bool
		fails  string
	}{
		"its record cannot be read": {
			change: func(_ *line, d *modelcall.Deps) { d.Types = eventlog.NewRegistry() }, fails: "call.dispatching",
		},
		"its request is lost": {
			change: func(l *line, _ *modelcall.Deps) { l.run.Request.Ref = blob.Sum([]byte("lost")) },
			want:   ended(modelcall.OutcomeFailed, call.InternalError),
		},
		"no space on the disk": {change: func(_ *line, d *modelcall.Deps) { d.Space = func() error { return errFull } }, outage: true},
		"no space for a file":  {change: func(l *line, _ *modelcall.Deps) { l.disk.creates = 1 }, outage: true},
		"another one sends it": {events: []any{other}, alive: true, want: modelcall.Step{Next: modelcall.NextWait, After: 2 * time.Second}},
		"the other one is not known": {
			events: []any{other}, change: func(l *line, _ *modelcall.Deps) { l.absent = 1 }, fails: "no call",
		},
		"the other one is dead": {events: []any{other}, want: ended(modelcall.OutcomeUnknown, call.InternalError)},
		"it was canceled":       {events: []any{call.CancelRequestedV1{}}, want: ended(modelcall.OutcomeCanceled, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				var deps modelcall.Deps
				l := newLine(t, func(d *modelcall.Deps) { deps = *d }, c.events...)
				if c.change != nil {
					c.change(l, &deps)
					l.Activities = modelcall.New(deps)
				}
				l.alive, l.dispatch = c.alive, answers("x")
				step, err := l.Activities.Dispatch(t.Context(), l.run)
				require.Empty(t, l.sent)
				require.Zero(t, l.disk.open.Load())
				if c.outage {
					require.ErrorIs(t, err, errFull)
					l.SetAlive(true)
					attempt, err := l.Prepare(t.Context(), l.run)
					require.Equal(t, deps.Space != nil, err != nil, "a later attempt is made anew: %v", err)
					require.Equal(t, deps.Space == nil, attempt != nil)
					return
				}
				if c.fails != "" {
					require.ErrorContains(t, err, c.fails)
					_, _ = l.Activities.Dispatch(t.Context(), l.run) // does not wait for the attempt that failed
					require.Empty(t, l.sent)
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.want, step)
				if c.want.Outcome == modelcall.OutcomeFailed {
					require.Equal(t, call.Ending{
						Run: l.run, Type: call.TypeFailed, ReleaseKey: true, Limits: call.Limits{Backlog: 7}, Actor: "this",
						Data: call.FailedV1{Model: "sim/echo", Unsent: true, Failure: call.Failure{
							Type: call.InternalError, Detail: "the router failed before it sent the request; the same request may be sent again",
						}},
					}, l.ended)
				}
			})
		})
	}
}

// A call of unknown outcome is asked for once more if the provider recognises it, by the process that sent it or by the one that finds
// it dead, and by nobody else.
func TestACallOfUnknownOutcomeIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		idempotent, dead bool
		failures         int // of requests
		sent             int
		want             call.State
	}{
		"a provider that recognises it":    {true, false, 1, 2, call.Succeeded},
		"it breaks again":                  {true, false, 2, 2, call.Unknown},
		"a provider that does not":         {false, false, 1, 1, call.Unknown},
		"after the sender died":            {true, true, 0, 1, call.Succeeded},
		"it breaks, after the sender died": {true, true, 1, 1, call.Unknown},
		"the sender of another died":       {false, true, 0, 0, call.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				var events []any
				if c.dead {
					events = append(events, call.DispatchingV1{Run: 1, Token: "theirs", Worker: "other"})
				}
				l := newLine(t, nil, events...)
				left := c.failures
				l.idempotent, l.dispatch = c.idempotent, func(sink io.Writer) (call.Exchange, error) {
					if left--; left >= 0 {
						return call.Exchange{}, broken
					}
					return answers("x")(sink)
				}
				_, err := l.Activities.Dispatch(t.Context(), l.run)
				require.NoError(t, err)
				require.Len(t, l.sent, c.sent)
				state, _ := l.state()
				require.Equal(t, c.want, state.State)
			})
		})
	}
}

// A generation is polled at the server that has it, in the pauses that the provider asks for, and its workflow learns of a cancellation.
func TestAGenerationIsPolled(t *testing.T) {
	t.Parallel()
	accepted := []any{
		call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.ReroutedV1{Server: "second"}, call.ProviderAcceptedV1{Handle: "h"},
	}
	pending := func(after time.Duration) func(call.Conversation, io.Writer) (call.Exchange, error) {
		return func(call.Conversation, io.Writer) (call.Exchange, error) {
			return call.Exchange{Phase: call.PhasePending, PollAfter: after}, nil
		}
	}
	answered := func(_ call.Conversation, sink io.Writer) (call.Exchange, error) { return answers("x")(sink) }
	silent := func(call.Conversation, io.Writer) (call.Exchange, error) { return call.Exchange{}, errors.New("away") }
	wait := func(d time.Duration, stop bool) modelcall.Step {
		return modelcall.Step{Next: modelcall.NextPoll, After: d, Stop: stop}
	}
	for name, c := range map[string]struct {
		poll     func(call.Conversation, io.Writer) (call.Exchange, error)
		canceled bool
		change   func(*line)
		want     modelcall.Step
	}{
		"no space for a file":    {nil, false, func(l *line) { l.disk.creates = 1 }, wait(2*time.Second, false)},
		"no space for an answer": {answered, false, func(l *line) { l.disk.commits = 1 }, wait(2*time.Second, false)},
		"a request not readable": {nil, false, func(l *line) { l.disk.opens = 1 }, wait(2*time.Second, false)},
		"no pause":               {pending(0), false, nil, wait(2*time.Second, false)},
		"a pause":                {pending(7 * time.Second), false, nil, wait(7*time.Second, false)},
		"canceled":               {pending(7 * time.Second), true, nil, wait(7*time.Second, true)},
		"no answer":              {silent, false, nil, wait(2*time.Second, false)},
		"an answer":              {answered, false, nil, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}},
		"one to host": {func(_ call.Conversation, sink io.Writer) (call.Exchange, error) {
			out, err := answers("x")(sink)
			out.Host = true
			return out, err
		}, false, nil, modelcall.Step{Next: modelcall.NextHost}},
		"no space": {answered, false, func(l *line) { l.disk.writes = 1 }, wait(2*time.Second, false)},
		"no request": {func(conv call.Conversation, sink io.Writer) (call.Exchange, error) {
			read, err := io.ReadAll(conv.Body)
			require.Error(t, err)
			require.Empty(t, read)
			_, err = conv.Body.Seek(0, io.SeekStart)
			require.Error(t, err)
			return answers("x")(sink)
		}, false, func(l *line) { l.run.Request.Ref = blob.Sum([]byte("lost")) }, modelcall.Step{
			Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := accepted
			if c.canceled {
				events = append(events[:3:3], call.CancelRequestedV1{})
			}
			l := newLine(t, nil, events...)
			if c.change != nil {
				c.change(l)
			}
			var servers, handles []string
			l.poll = func(conv call.Conversation, sink io.Writer) (call.Exchange, error) {
				servers, handles = append(servers, conv.Server), append(handles, conv.Handle)
				return c.poll(conv, sink)
			}
			step, err := l.Activities.Poll(t.Context(), l.run)
			require.NoError(t, err)
			require.Equal(t, c.want, step)
			require.Zero(t, l.disk.open.Load())
			if c.poll == nil {
				require.Empty(t, servers)
				return
			}
			require.Equal(t, []string{"second"}, servers)
			require.Equal(t, []string{"h"}, handles)
			if done, ok := l.ended.Data.(call.SucceededV1); ok {
				require.Equal(t, "second", done.Fallback)
			}
			recorded, err := l.log.ReadStream(t.Context(), id.Stream(), 0, 100)
			require.NoError(t, err)
			for _, rec := range recorded {
				if rec.Type == call.TypeAnswered {
					require.Equal(t, call.EventID(id, 0, call.TypeAnswered), rec.ID, "another attempt records the same event")
				}
			}
		})
	}
}

// A generation that its provider has stopped is canceled, unless its answer was ready.
func TestAStoppedGenerationIsCanceledUnlessItIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancel error
		ready  bool
		want   call.State
	}{
		"stopped":                  {nil, false, call.Canceled},
		"done":                     {nil, true, call.Succeeded},
		"a provider cannot cancel": {call.ErrNoCancel, false, call.Running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}
			l := newLine(t, nil, sent, call.ProviderAcceptedV1{Handle: "h"}, call.CancelRequestedV1{})
			l.cancel, l.poll = c.cancel, func(_ call.Conversation, sink io.Writer) (call.Exchange, error) {
				if c.ready {
					return answers("x")(sink)
				}
				return call.Exchange{}, errors.New("it is gone")
			}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetTestTimeout(time.Minute) // an activity has three seconds otherwise
			env.RegisterActivity(l.Activities.Stop)
			_, err := env.ExecuteActivity(l.Activities.Stop, l.run)
			require.NoError(t, err)
			state, _ := l.state()
			require.Equal(t, c.want, state.State)
		})
	}
}

// An answer whose files are not copied is delivered as it is, once. It can be given again for its key if it names no file.
func TestAnAnswerIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		l := newLine(t, nil, call.DispatchingV1{Run: 1, Token: "t", Worker: "this"})
		l.append(call.AnsweredV1{Answer: l.run.Request, Price: 5, Linked: linked})
		for range 2 {
			step, err := l.Deliver(t.Context(), l.run)
			require.NoError(t, err)
			require.Equal(t, modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, step)
		}
		require.Equal(t, call.Ending{
			Run: l.run, Type: call.TypeSucceeded, Charged: 5, Keep: []call.Body{l.run.Request}, Limits: call.Limits{Backlog: 7}, Actor: "this",
			Data: call.SucceededV1{Model: "sim/echo", Answer: l.run.Request, Charged: 5, Replayable: !linked},
		}, l.ended)
	}
}

// An answer can be given again for its key if all the files that it names are here.
func TestAnAnswerWithCopiesCanBeRepeated(t *testing.T) {
	t.Parallel()
	copied := []call.HostedAsset{{Pointer: "/image", Asset: "1"}}
	for name, c := range map[string]struct {
		linked bool
		assets []call.HostedAsset
		failed int
		want   bool
	}{
		"no link":            {false, nil, 0, true},
		"a copy":             {true, copied, 0, true},
		"a copy, not linked": {false, copied, 0, true},
		"one of two copies":  {true, copied, 1, false},
		"a link and no copy": {true, nil, 0, false},
	} {
		l := newLine(t, nil, call.DispatchingV1{Run: 1, Token: "t", Worker: "this"})
		l.append(call.AnsweredV1{Answer: l.run.Request, Linked: c.linked})
		l.hosted = call.HostedV1{Assets: c.assets, Failed: c.failed, Answer: l.run.Request}
		_, err := l.Activities.Host(t.Context(), l.run)
		require.NoError(t, err)
		done, ok := l.ended.Data.(call.SucceededV1)
		require.True(t, ok)
		require.Equal(t, c.want, done.Replayable, name)
	}
}

// The workflow of a call that this process sends starts when the exchange has ended, or after a second.
func TestTheWorkflowOfACallWaitsForItsExchange(t *testing.T) {
	t.Parallel()
	for takes, starts := range map[time.Duration]time.Duration{time.Millisecond: time.Millisecond, time.Minute: time.Second} {
		bubble(t, func(t *testing.T) {
			l := newLine(t, nil)
			l.dispatch = func(sink io.Writer) (call.Exchange, error) {
				<-time.After(takes)
				return answers("x")(sink)
			}
			attempt, err := l.Prepare(t.Context(), l.run)
			require.NoError(t, err)
			l.append(attempt.Dispatching())
			began, started := time.Now(), make(chan struct{})
			attempt.Send(func() { close(started) })
			<-started
			require.Equal(t, starts, time.Since(began))
			require.NoError(t, l.Drain(t.Context()))
			state, _ := l.state()
			require.Equal(t, call.Succeeded, state.State)
		})
	}
}

// A call that its own process was about to send, and that was given up, is free for its workflow. If it may have been recorded
// nevertheless, it ends unsent.
func TestAnAttemptThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uncertain, recorded bool
		absent              int // reads before it is recorded
		want                call.State
		sent                int
	}{
		"nothing was recorded":             {false, false, 0, call.Succeeded, 1},
		"it was recorded, as is found out": {true, true, 0, call.Failed, 0},
		"it was recorded a while later":    {true, true, 3, call.Failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				l := newLine(t, nil)
				l.dispatch = answers("x")
				attempt, err := l.Prepare(t.Context(), l.run)
				require.NoError(t, err)
				second, err := l.Prepare(t.Context(), l.run)
				require.NoError(t, err)
				require.Nil(t, second, "a call has one attempt at a time")
				if c.recorded {
					l.append(attempt.Dispatching())
				}
				l.absent = c.absent
				attempt.Discard(c.uncertain)
				synctest.Wait()
				require.Zero(t, l.disk.open.Load())
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err = l.Activities.Dispatch(ctx, l.run)
				require.NoError(t, err)
				state, _ := l.state()
				require.Equal(t, c.want, state.State)
				require.Len(t, l.sent, c.sent)
				require.Equal(t, c.sent == 0, l.ended.ReleaseKey, "a request that was not sent may be sent again under its key")
			})
		})
	}
}

// The process that brought a call to its end knows the last step, and whoever waits there is shown what was recorded. A call that goes on
// has no last step.
func TestTheEndOfACallIsKnownToItsProcess(t *testing.T) {
	t.Parallel()
	for phase, want := range map[call.Phase]modelcall.Step{
		call.PhaseAnswered: {Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, call.PhaseAccepted: {Next: modelcall.NextPoll},
	} {
		bubble(t, func(t *testing.T) {
			var shown []string
			l := newLine(t, func(d *modelcall.Deps) {
				d.OnEnd = func(recorded []eventlog.Recorded) {
					for _, rec := range recorded {
						shown = append(shown, rec.Type)
					}
				}
			})
			l.dispatch = func(io.Writer) (call.Exchange, error) { return call.Exchange{Phase: phase}, nil }
			_, known := l.Ended(id)
			require.False(t, known)
			_, err := l.Activities.Dispatch(t.Context(), l.run)
			require.NoError(t, err)
			step, known := l.Ended(id)
			require.Equal(t, want, step)
			require.Equal(t, want.Next == modelcall.NextNothing, known)
			if known {
				require.Equal(t, []string{call.TypeAnswered, call.TypeSucceeded}, shown)
			}
		})
	}
}

// A workflow that replaces a lost one goes on where the log says that the call is.
func TestACallIsResumedWhereItsLogSays(t *testing.T) {
	t.Parallel()
	sent, accepted := call.DispatchingV1{Run: 1, Token: "t", Worker: "this"}, call.ProviderAcceptedV1{Handle: "h"}
	for name, c := range map[string]struct {
		events []any
		want   modelcall.Step
	}{
		"admitted":             {nil, modelcall.Step{Next: modelcall.NextSend}},
		"running":              {[]any{sent, accepted}, modelcall.Step{Next: modelcall.NextPoll}},
		"running and canceled": {[]any{sent, accepted, call.CancelRequestedV1{}}, modelcall.Step{Next: modelcall.NextPoll, Stop: true}},
		"answered":             {[]any{sent, accepted, call.AnsweredV1{}}, modelcall.Step{Next: modelcall.NextHost}},
	} {
		l := newLine(t, nil, c.events...)
		step, err := l.Resolve(t.Context(), l.run)
		require.NoError(t, err, name)
		require.Equal(t, c.want, step, name)
	}
}

// A process without heartbeats sends no call itself, because nobody would wait for it.
func TestAProcessWithoutHeartbeatsPreparesNoCall(t *testing.T) {
	t.Parallel()
	l := newLine(t, nil)
	l.SetAlive(false)
	attempt, err := l.Prepare(t.Context(), l.run)
	require.NoError(t, err)
	require.Nil(t, attempt)
	require.Zero(t, l.disk.open.Load())
}
