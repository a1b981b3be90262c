package modelcall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/golden"
	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

type failingLog struct {
	eventlog.Store
	*faulttest.Calls
}

func (f failingLog) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	return faulttest.Try(f.Calls, "append", func() ([]eventlog.Recorded, error) { return f.Store.Append(ctx, a) })
}

type failingCalls struct {
	modelcall.Calls
	of *faulttest.Calls
}

func (f failingCalls) Load(ctx context.Context, account string, id call.ID) (call.Call, error) {
	return faulttest.Try(f.of, "load", func() (call.Call, error) { return f.Calls.Load(ctx, account, id) })
}

func (f failingCalls) End(ctx context.Context, e call.Ending) (call.Ended, error) {
	return faulttest.Try(f.of, "end", func() (call.Ended, error) { return f.Calls.End(ctx, e) })
}

func (f failingCalls) Alive(ctx context.Context, worker string) (bool, error) {
	return faulttest.Try(f.of, "alive", func() (bool, error) { return f.Calls.Alive(ctx, worker) })
}

type failingBlobs struct {
	blob.Store
	*faulttest.Calls
	commits bool // only commits fail
}

func (f failingBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	if !f.commits && f.Fails("create") {
		return nil, faulttest.ErrAway
	}
	w, err := f.Store.Create(ctx, d)
	return failingWriter{w, f.Calls}, err
}

func (f failingBlobs) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	if !f.commits && f.Fails("open") {
		return nil, faulttest.ErrAway
	}
	return f.Store.Open(ctx, ref)
}

type failingWriter struct {
	blob.Writer
	*faulttest.Calls
}

func (f failingWriter) Commit(ctx context.Context) (blob.Stored, error) {
	if f.Fails("commit") {
		return blob.Stored{}, faulttest.ErrAway
	}
	return f.Writer.Commit(ctx)
}

// reply is what a provider does with a request.
type reply struct {
	text string
	out  call.Exchange
	err  error
}

// provider answers dispatches and polls by a script, of which the last reply repeats.
type provider struct {
	*line
	dispatches, polls []reply
	cancels           []error
	idempotent        bool

	mu  sync.Mutex // guards all below and the scripts
	got []string
}

func (p *provider) reply(script *[]reply, what string, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, fmt.Sprintf("%s at %q: model %s, handle %q, quoted %v, size %d, %s, held %v", what, c.Server, c.Model, c.Handle,
		c.Quoted, c.Size, c.ContentType, c.Held))
	next := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	if next.text == "panic" {
		panic("a bug")
	}
	if _, err := io.WriteString(sink, next.text); err != nil {
		return call.Exchange{}, err
	}
	return next.out, next.err
}

func (p *provider) Dispatch(_ context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	body, err := io.ReadAll(c.Body)
	if err != nil {
		return call.Exchange{}, err
	}
	return p.reply(&p.dispatches, "sent "+string(body), c, sink)
}

func (p *provider) Poll(_ context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	return p.reply(&p.polls, "polled", c, sink)
}

func (p *provider) Cancel(_ context.Context, c call.Conversation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, fmt.Sprintf("canceled at %q: handle %q", c.Server, c.Handle))
	if len(p.cancels) == 0 {
		return nil
	}
	err := p.cancels[0]
	p.cancels = p.cancels[1:]
	return err
}

func (p *provider) Idempotent(call.Conversation) bool { return p.idempotent }

// follow takes a call to its end as its workflow does, and returns the steps.
func (p *provider) follow(t *testing.T, cancelAt modelcall.Next) (steps []modelcall.Step) {
	t.Helper()
	step, stopped := modelcall.Step{Next: modelcall.NextSend}, false
	stop := func(ctx context.Context, r call.Run) (next modelcall.Step, err error) {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(time.Minute)
		env.RegisterActivity(p.Activities.Stop)
		value, err := env.ExecuteActivity(p.Activities.Stop, r)
		if err == nil {
			err = value.Get(&next)
		}
		return next, err
	}
	until := func(activity func(context.Context, call.Run) (modelcall.Step, error)) modelcall.Step {
		for range 20 {
			next, err := activity(t.Context(), p.run)
			if err == nil {
				return next
			}
			<-time.After(time.Second)
		}
		t.Fatal("the activity goes on failing")
		return modelcall.Step{}
	}
	for range 100 {
		steps = append(steps, step)
		<-time.After(step.After)
		if step.Next == cancelAt {
			cancelAt = ""
			p.line.append(call.CancelRequestedV1{})
		}
		switch step.Next {
		case modelcall.NextNothing:
			synctest.Wait()
			return steps
		case modelcall.NextSend:
			next, err := p.Activities.Dispatch(t.Context(), p.run)
			if err != nil {
				<-time.After(time.Second)
				next = until(p.Activities.Resolve)
			}
			step = next
		case modelcall.NextWait:
			step = until(p.Activities.Resolve)
		case modelcall.NextPoll:
			if step.Stop && !stopped {
				stopped = true
				step = until(stop)
				continue
			}
			step = until(p.Activities.Poll)
		case modelcall.NextHost:
			step = until(p.Activities.Host)
		}
	}
	t.Fatal("the call does not end")
	return nil
}

// account tells what was recorded of the call, how it ended and what its provider got.
func (p *provider) account(t *testing.T) string {
	t.Helper()
	recorded, err := p.log.ReadStream(t.Context(), id.Stream(), 2, 100)
	require.NoError(t, err)
	var out []string
	for _, rec := range recorded {
		var data map[string]any
		require.NoError(t, json.Unmarshal(rec.Data, &data))
		delete(data, "token")
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		out = append(out, rec.Type+" "+string(raw))
		switch rec.Type {
		case call.TypeDispatching, call.TypeRerouted, call.TypeRepeated, call.TypeProviderAccepted:
			require.Equal(t, "this", rec.Meta.Actor, rec.Type)
			require.Equal(t, call.EventID(id, 0, rec.Type), rec.ID, "another attempt records the same event")
		}
	}
	e := p.ended
	out = append(out, fmt.Sprintf("ended: %s, release key %t, charged %s, reservation %v, keep %d, actor %s", e.Type, e.ReleaseKey,
		micros(e.Charged), e.Reservation, len(e.Keep), e.Actor))
	_, text := p.state()
	out = append(out, "answer: "+text)
	for n, got := range p.got {
		if n == 0 || !strings.HasPrefix(got, "polled") || got != p.got[n-1] { // a poll may be repeated
			out = append(out, got)
		}
	}
	require.Zero(t, p.disk.open.Load(), "readers and writers that are open")
	return strings.Join(out, "\n") + "\n"
}

func micros(p any) string {
	raw, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// A call comes to the same whichever call of a store fails meanwhile, before or after it has done its work, and its provider gets the
// same requests. testdata/calls has all that is recorded of it, by case.
func TestACallComesToTheSameWhateverFails(t *testing.T) {
	t.Parallel()
	answered := reply{"an answer", call.Exchange{Phase: call.PhaseAnswered, ContentType: "text/plain", Price: 5}, nil}
	linked := reply{
		`{"image":"https://elsewhere/x.png"}`, call.Exchange{Phase: call.PhaseAnswered, ContentType: "application/json", Price: 6}, nil,
	}
	hosted := linked
	hosted.out.Host = true
	accepted := reply{"", call.Exchange{Phase: call.PhaseAccepted, Handle: "h", Price: 7, PollAfter: 3 * time.Second}, nil}
	hourly := reply{"", call.Exchange{Phase: call.PhasePending, PollAfter: time.Hour}, nil}
	pending := reply{"", call.Exchange{Phase: call.PhasePending, PollAfter: 4 * time.Second}, nil}
	failure := &call.Failure{Type: call.ProviderError, Detail: "it is too dark"}
	failed := reply{"", call.Exchange{Phase: call.PhaseFailed, Failure: failure, Price: 2}, nil}
	unsent, refused, unknown := failed, failed, failed
	unsent.out.Unsent, refused.out.Declined, unknown.out.Unknown = true, true, true
	broken, timeout := reply{err: errors.New("the connection broke")}, reply{err: call.ErrTimeout}
	unreachable := reply{err: call.ErrNotSent}
	for name, c := range map[string]struct {
		dispatches, polls []reply
		fallback          string
		idempotent        bool
		cancelAt          modelcall.Next
		cancels           []error
	}{
		"answered":                      {dispatches: []reply{answered}},
		"answered with a link":          {dispatches: []reply{linked}},
		"answered and hosted":           {dispatches: []reply{hosted}},
		"accepted":                      {dispatches: []reply{accepted}, polls: []reply{pending, broken, answered}},
		"accepted and hosted":           {dispatches: []reply{accepted}, polls: []reply{pending, hosted}},
		"accepted and failed":           {dispatches: []reply{accepted}, polls: []reply{failed}},
		"never done":                    {dispatches: []reply{accepted}, polls: []reply{hourly}},
		"failed":                        {dispatches: []reply{failed}},
		"failed unsent":                 {dispatches: []reply{unsent}},
		"failed unknown":                {dispatches: []reply{unknown}},
		"broken":                        {dispatches: []reply{broken}},
		"a bug":                         {dispatches: []reply{{text: "panic"}}},
		"timeout":                       {dispatches: []reply{timeout}},
		"unreachable":                   {dispatches: []reply{unreachable}},
		"unreachable, with a fallback":  {dispatches: []reply{unreachable, answered}, fallback: "second"},
		"refused, with a fallback":      {dispatches: []reply{refused, accepted}, polls: []reply{answered}, fallback: "second"},
		"unsent, with a fallback":       {dispatches: []reply{unsent, answered}, fallback: "second"},
		"failed, with a fallback":       {dispatches: []reply{failed, answered}, fallback: "second"},
		"broken, with a fallback":       {dispatches: []reply{broken, answered}, fallback: "second"},
		"both unreachable":              {dispatches: []reply{unreachable, unsent}, fallback: "second"},
		"the fallback breaks":           {dispatches: []reply{refused, broken}, fallback: "second"},
		"broken and repeated":           {dispatches: []reply{broken, answered}, idempotent: true},
		"unknown and repeated":          {dispatches: []reply{unknown, accepted}, polls: []reply{answered}, idempotent: true},
		"repeated and refused":          {dispatches: []reply{broken, failed}, idempotent: true},
		"repeated and broken":           {dispatches: []reply{timeout, broken}, idempotent: true},
		"the fallback breaks, repeated": {dispatches: []reply{refused, broken, answered}, fallback: "second", idempotent: true},
		"canceled before it is sent":    {dispatches: []reply{answered}, cancelAt: modelcall.NextSend},
		"canceled while it runs":        {dispatches: []reply{accepted}, polls: []reply{pending}, cancelAt: modelcall.NextPoll},
		"canceled when it is done":      {dispatches: []reply{accepted}, polls: []reply{pending, answered}, cancelAt: modelcall.NextPoll},
		"a provider that cannot cancel": {
			dispatches: []reply{accepted}, polls: []reply{pending, pending, answered}, cancelAt: modelcall.NextPoll,
			cancels: []error{call.ErrNoCancel},
		},
		"a provider that fails to cancel": {
			dispatches: []reply{accepted}, polls: []reply{pending, pending, pending, answered}, cancelAt: modelcall.NextPoll,
			cancels: []error{errors.New("away")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := c.fallback != "" || c.idempotent // a request that cannot be opened again is not sent again
			run := func(f *faulttest.Calls) (account string, steps []modelcall.Step) {
				bubble(t, func(t *testing.T) {
					p := &provider{idempotent: c.idempotent, dispatches: c.dispatches, polls: c.polls, cancels: c.cancels}
					p.line = newLine(t, func(d *modelcall.Deps) {
						p.line = d.Calls.(*line)
						d.Calls, d.Events, d.Blobs, d.Provider = failingCalls{p.line, f}, failingLog{d.Events, f}, failingBlobs{d.Blobs, f, again}, p
					})
					p.run.Fallback = c.fallback
					p.hosted = call.HostedV1{Answer: p.run.Request, Assets: []call.HostedAsset{{Pointer: "/image", Asset: "1"}}}
					steps = p.follow(t, c.cancelAt)
					account = p.account(t)
				})
				return account, steps
			}
			want, steps := run(&faulttest.Calls{})
			var text bytes.Buffer
			for _, s := range steps {
				fmt.Fprintln(&text, "step:", s.Next, s.After, "stop", s.Stop, s.Outcome, s.Cause)
			}
			golden.Compare(t, filepath.Join("testdata", "calls", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".txt"), text.String()+want)
			if c.cancelAt == modelcall.NextPoll {
				return // how often the provider is polled before the cancellation depends on what fails
			}
			for f := range faulttest.Each {
				got, _ := run(f)
				require.Equal(t, want, got, "call %d, after %t", f.Fail, f.After)
			}
		})
	}
}
