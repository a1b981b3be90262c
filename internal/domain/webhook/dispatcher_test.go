package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// post is a queue with one delivery, and the wire to its endpoint.
type post struct {
	due       []*webhook.Claimed
	failing   time.Duration // how long all attempts at the endpoint have failed
	ended     []webhook.Outcome
	endFails  error // of Finish
	back      []*webhook.Claimed
	left      int // batches of old deliveries
	prunes    []time.Time
	pruneErrs []error
	retention time.Duration
	claims    []time.Time
	claim     claim

	answer *http.Response
	err    error
	takes  time.Duration // from the request to the answer
	sent   []*http.Request
	allow  []string
	counts webhook.Counts
	log    strings.Builder
}

// claim is what a dispatcher claims with.
type claim struct {
	free  int
	share webhook.AttemptLimits
	lease time.Duration
}

func (p *post) Claim(_ context.Context, free int, share webhook.AttemptLimits, lease time.Duration) ([]*webhook.Claimed, error) {
	p.claims, p.claim = append(p.claims, time.Now()), claim{free, share, lease}
	due := p.due
	p.due = nil
	return due, nil
}

func (p *post) Finish(_ context.Context, _ *webhook.Claimed, o webhook.Outcome) (time.Duration, error) {
	p.ended = append(p.ended, o)
	return p.failing, p.endFails
}

func (p *post) GiveBack(_ context.Context, c *webhook.Claimed) error {
	p.back = append(p.back, c)
	return p.endFails
}

func (p *post) Prune(_ context.Context, retention time.Duration) (bool, error) {
	p.prunes, p.retention = append(p.prunes, time.Now()), retention
	if len(p.pruneErrs) > 0 {
		err := p.pruneErrs[0]
		p.pruneErrs = p.pruneErrs[1:]
		return true, err
	}
	p.left--
	return p.left > 0, nil
}

func (p *post) RoundTrip(req *http.Request, allow []string) (*http.Response, error) {
	p.sent, p.allow = append(p.sent, req), allow
	if p.takes > 0 {
		if err := pause.For(req.Context(), p.takes); err != nil {
			return nil, err
		}
	}
	return p.answer, p.err
}

// desk is a dispatcher of one account, with what it works on.
type desk struct {
	*post
	account *account
	service *webhook.Service
	made    webhook.EndpointWithURL
	one     *webhook.Claimed
	deps    webhook.DispatcherDeps
	policy  webhook.Policy
}

// newDesk returns a dispatcher with one delivery that is due.
func newDesk(t *testing.T, p *post) *desk {
	t.Helper()
	a, s := newAccount(t)
	made := register(t, s, "https://one.example/x")
	one := &webhook.Claimed{
		Delivery: webhook.Delivery{ID: uuid.New(), Account: "acme", Webhook: made.ID, Body: []byte(`{"type":"job.completed"}`), Attempts: 1},
		Sealed:   a.sealed[made.ID],
	}
	p.due = []*webhook.Claimed{one}
	return &desk{
		post: p, account: a, service: s, made: made, one: one, deps: webhook.DispatcherDeps{
			Queue: p, Disabler: s, Sealer: s.Sealer, Wire: p, Counts: &p.counts, Allow: []string{"127.0.0.1:80"},
			Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		}, policy: webhook.Policy{Timeout: time.Second, Retries: []time.Duration{time.Minute}, DisableAfter: time.Hour, Retention: time.Hour},
	}
}

// start has the dispatcher work until it is stopped.
func (d *desk) start(t *testing.T) (dispatcher *webhook.Dispatcher, stop func()) {
	t.Helper()
	dispatcher = webhook.NewDispatcher(d.deps, d.policy)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- dispatcher.Run(ctx) }()
	return dispatcher, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// work has the dispatcher work for a while, and returns the endpoint.
func (d *desk) work(t *testing.T, works time.Duration) webhook.Endpoint {
	t.Helper()
	_, stop := d.start(t)
	passes(works)
	stop()
	e, err := d.account.book.Endpoint(d.made.ID)
	require.NoError(t, err)
	return e
}

// passes lets time pass in a bubble, and all that is due in it happen.
func passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of the bubble's clock
	synctest.Wait()
}

// deliver has a dispatcher work for a while on the delivery of an endpoint, and returns the endpoint.
func (p *post) deliver(t *testing.T, off bool, works time.Duration) webhook.Endpoint {
	t.Helper()
	d := newDesk(t, p)
	d.one.Disabled = off
	return d.work(t, works)
}

// What an endpoint answers decides whether the message is delivered, sent again or given up, and whether the endpoint is disabled.
func TestAnAnswerEndsADelivery(t *testing.T) {
	t.Parallel()
	const long = time.Hour
	busy := http.Header{"Retry-After": {"600"}}
	after := func(text string) http.Header { return http.Header{"Retry-After": {text}} }
	one := func(counted bool) int64 { return map[bool]int64{true: 1}[counted] }
	for name, c := range map[string]struct {
		status   int
		header   http.Header
		err      error
		off      bool
		failing  time.Duration
		state    webhook.State
		problem  webhook.Problem
		pause    time.Duration // before the next attempt, if the endpoint asks for it
		disabled webhook.Cause
	}{
		"the lowest success":   {status: 200, state: webhook.Delivered},
		"the highest success":  {status: 299, state: webhook.Delivered},
		"a redirect":           {status: 300, state: webhook.Pending, problem: webhook.Redirected},
		"a refusal":            {status: 400, state: webhook.Pending, problem: webhook.Refused},
		"no final status":      {status: 199, state: webhook.Pending, problem: webhook.Refused},
		"a busy endpoint":      {status: 503, header: busy, state: webhook.Pending, problem: webhook.Refused, pause: 10 * time.Minute},
		"a limited endpoint":   {status: 429, header: busy, state: webhook.Pending, problem: webhook.Refused, pause: 10 * time.Minute},
		"a broken endpoint":    {status: 500, header: busy, state: webhook.Pending, problem: webhook.Refused},
		"busy for an hour":     {status: 503, header: after("3600"), state: webhook.Pending, problem: webhook.Refused, pause: time.Hour},
		"busy for longer":      {status: 503, header: after("3601"), state: webhook.Pending, problem: webhook.Refused, pause: time.Hour},
		"busy until a date":    {status: 503, header: after("1 Jan"), state: webhook.Pending, problem: webhook.Refused},
		"busy for less":        {status: 503, header: after("1"), state: webhook.Pending, problem: webhook.Refused},
		"busy until before":    {status: 503, header: after("-600"), state: webhook.Pending, problem: webhook.Refused},
		"busy beyond numbers":  {status: 503, header: after("1" + strings.Repeat("0", 30)), state: webhook.Pending, problem: webhook.Refused},
		"the last redirect":    {status: 399, state: webhook.Pending, problem: webhook.Redirected},
		"failing for less":     {status: 500, failing: long - 1, state: webhook.Pending, problem: webhook.Refused},
		"failing for long":     {status: 500, failing: long, state: webhook.Pending, problem: webhook.Refused, disabled: webhook.Failing},
		"gone":                 {status: 410, state: webhook.Dead, problem: webhook.Refused, disabled: webhook.Gone},
		"a success after long": {status: 200, failing: long, state: webhook.Delivered},
		"disabled before":      {off: true, failing: long, state: webhook.Dead, problem: webhook.Off},
		"a name without an address": {
			err: fault.New(fault.Invalid, fault.CodeNameNotAllowed, "no"), state: webhook.Pending, problem: webhook.NoName,
		},
		"a connection that is broken": {err: errors.New("https://one.example/x?token=1"), state: webhook.Pending, problem: webhook.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &post{failing: c.failing, err: c.err}
				if c.err == nil {
					p.answer = &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader("ok"))}
				}
				e := p.deliver(t, c.off, time.Second)
				require.Len(t, p.ended, 1)
				require.Equal(t, c.state, p.ended[0].State)
				require.Equal(t, map[string]int64{
					"delivered": one(c.state == webhook.Delivered), "retried": one(c.state == webhook.Pending), "dead": one(c.state == webhook.Dead),
				}, p.counts.Read())
				require.Equal(t, c.problem, p.ended[0].Try.Error)
				require.Equal(t, c.status, p.ended[0].Try.Status)
				switch {
				case c.pause > 0:
					require.Equal(t, c.pause, p.ended[0].Retry)
				case c.state == webhook.Pending:
					require.InDelta(t, time.Minute, p.ended[0].Retry, float64(12*time.Second))
				default:
					require.Zero(t, p.ended[0].Retry)
				}
				require.Equal(t, c.disabled, e.Disabled)
				require.Equal(t, c.off, len(p.sent) == 0)
				require.Equal(t, c.disabled != "", strings.Contains(p.log.String(), `msg="webhook disabled"`), p.log.String())
				require.NotContains(t, p.log.String(), "level=WARN")
				for _, req := range p.sent {
					require.Equal(t, "POST https://one.example/x", req.Method+" "+req.URL.String())
					require.Equal(t, []string{"127.0.0.1:80"}, p.allow)
					require.Equal(t, "millrace-webhooks", req.Header.Get("User-Agent"), "its receiver knows who asks")
					require.Equal(t, "application/json", req.Header.Get("Content-Type"))
					require.NotEmpty(t, req.Header.Get("Webhook-Signature"))
					body, err := io.ReadAll(req.Body)
					require.NoError(t, err)
					require.JSONEq(t, `{"type":"job.completed"}`, string(body))
				}
			})
		})
	}
}

// Deliveries past their retention are removed, all batches of them, from time to time.
func TestOldDeliveriesAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{left: 3, answer: &http.Response{StatusCode: 200, Body: http.NoBody}}
		p.deliver(t, false, 11*time.Minute)
		require.Len(t, p.prunes, 3)
		require.Equal(t, time.Hour, p.retention)
	})
}

// What breaks an attempt is named, and the error's text, which may contain the address, is recorded nowhere.
func TestTheProblemOfAnAttemptIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want webhook.Problem
	}{
		"an address inside":      {fault.New(fault.Denied, fault.CodeAddressNotAllowed, "no"), webhook.NotAllowed},
		"a name inside":          {fault.New(fault.Denied, fault.CodeNameNotAllowed, "no"), webhook.NoName},
		"no answer in time":      {&url.Error{Err: context.DeadlineExceeded}, webhook.TimedOut},
		"a name without address": {&net.OpError{Err: &net.DNSError{Name: "one.example"}}, webhook.NoName},
		"a name in time":         {&net.DNSError{IsTimeout: true}, webhook.NoName},
		"a connection in time":   {&net.OpError{Err: os.ErrDeadlineExceeded}, webhook.TimedOut},
		"a certificate":          {&tls.CertificateVerificationError{Err: x509.HostnameError{}}, webhook.BadTLS},
		"no TLS":                 {tls.RecordHeaderError{Msg: "token=1"}, webhook.BadTLS},
		"an alert":               {&net.OpError{Err: tls.AlertError(40)}, webhook.BadTLS},
		"an unknown authority":   {x509.UnknownAuthorityError{}, webhook.BadTLS},
		"another host":           {x509.HostnameError{Certificate: &x509.Certificate{}}, webhook.BadTLS},
		"a refused connection":   {&net.OpError{Err: syscall.ECONNREFUSED}, webhook.Unreachable},
		"an end":                 {io.ErrUnexpectedEOF, webhook.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &post{err: c.err}
				began := time.Now().UTC()
				p.deliver(t, false, time.Second)
				require.Len(t, p.ended, 1)
				require.Equal(t, webhook.Try{At: began.Add(300 * time.Millisecond), Error: c.want}, p.ended[0].Try)
				require.NotContains(t, p.log.String(), "token=1")
			})
		})
	}
}

// An attempt is recorded with its time, its length and the key's timestamp, and ends at the time limit.
func TestAnAttemptIsRecordedWithItsLength(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]webhook.Try{
		700 * time.Millisecond: {Status: 204, Millis: 700},
		time.Minute:            {Error: webhook.TimedOut, Millis: 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &post{takes: takes, answer: &http.Response{StatusCode: 204, Body: http.NoBody}}
			want.At = time.Now().UTC().Add(300 * time.Millisecond)
			p.deliver(t, false, 3*time.Second)
			require.Len(t, p.ended, 1)
			require.Equal(t, want, p.ended[0].Try)
			require.Len(t, p.sent, 1)
			require.Equal(t, strconv.FormatInt(want.At.Unix(), 10), p.sent[0].Header.Get("Webhook-Timestamp"))
			require.Equal(t, claim{256, webhook.AttemptLimits{Total: 256, Account: 8, Endpoint: 4}, 6 * time.Second}, p.claim)
		})
	}
}

// body counts how much of an answer is read, and whether it is closed.
type body struct {
	read   int64
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	b.read += int64(len(p))
	return len(p), nil
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// An answer without end occupies no connection: a little of it is read, and it is closed.
func TestAnAnswerWithoutEndIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endless := &body{}
		p := &post{answer: &http.Response{StatusCode: 200, Body: endless}}
		p.deliver(t, false, time.Second)
		require.Equal(t, body{read: 4096, closed: true}, *endless)
		require.Equal(t, webhook.Delivered, p.ended[0].State)
	})
}

// A message whose secrets cannot be used is not sent:
// it is attempted again, because another process may have the key, and the log says why.
func TestAMessageWithoutUsableSecretsIsNotSent(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string]string{
		"encrypted with a lost key": "",
		"no JSON":                   "{",
		"no address":                `{"url":"https://one.example:token","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`,
		"no key":                    `{"url":"https://one.example/","secret":"whsec_!"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, &post{})
				d.one.Sealed = newSealer(t).Seal("webhook/"+string(d.made.ID), "{}")
				if secrets != "" {
					d.one.Sealed = d.service.Sealer.Seal("webhook/"+string(d.made.ID), secrets)
				}
				began := time.Now().UTC()
				d.work(t, time.Second)
				require.Empty(t, d.sent)
				require.Len(t, d.ended, 1)
				require.Equal(t, webhook.Pending, d.ended[0].State)
				require.Equal(t, webhook.Try{At: began.Add(300 * time.Millisecond), Error: webhook.Unreadable}, d.ended[0].Try)
				require.Contains(t, d.log.String(), `msg="webhook cannot be sent"`)
				require.NotContains(t, d.log.String(), "token")
			})
		})
	}
}

// A delivery of a disabled endpoint, and one whose attempts all ended with their process, become dead letters without an attempt.
func TestADeliveryBecomesADeadLetterWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	for problem, change := range map[webhook.Problem]func(*webhook.Claimed){
		webhook.Off:  func(c *webhook.Claimed) { c.Disabled = true },
		webhook.Lost: func(c *webhook.Claimed) { c.Attempts = 3 },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, &post{})
			change(d.one)
			began := time.Now().UTC()
			d.work(t, time.Second)
			require.Empty(t, d.sent)
			require.Equal(t, []webhook.Outcome{{
				State: webhook.Dead, Try: webhook.Try{At: began.Add(300 * time.Millisecond), Error: problem},
			}}, d.ended)
		})
	}
}

// The second attempt of two is the last one.
func TestTheLastFailedAttemptLeavesADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &post{answer: &http.Response{StatusCode: 500, Body: http.NoBody}})
		d.one.Attempts = 2
		d.work(t, time.Second)
		require.Len(t, d.ended, 1)
		require.Equal(t, webhook.Dead, d.ended[0].State)
		require.Equal(t, webhook.Refused, d.ended[0].Try.Error)
		require.EqualValues(t, 1, d.counts.Read()["dead"])
	})
}

// An attempt that the end of the process interrupts is given back; with grace it ends before.
func TestAnInterruptedAttemptIsGivenBack(t *testing.T) {
	t.Parallel()
	for grace, ends := range map[time.Duration]bool{0: false, 500 * time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, &post{takes: 700 * time.Millisecond, answer: &http.Response{StatusCode: 200, Body: http.NoBody}})
			d.deps.Grace = grace
			d.work(t, 600*time.Millisecond)
			require.Len(t, d.sent, 1)
			if ends {
				require.Empty(t, d.back)
				require.Equal(t, webhook.Delivered, d.ended[0].State)
				return
			}
			require.Equal(t, []*webhook.Claimed{d.one}, d.back)
			require.Empty(t, d.ended)
			require.Equal(t, map[string]int64{"delivered": 0, "retried": 0, "dead": 0}, d.counts.Read())
		})
	}
}

// An outcome that cannot be recorded counts nothing and disables nothing, and the log says so; likewise for a delivery that cannot be given
// back.
func TestAnOutcomeThatIsNotRecordedCountsNothing(t *testing.T) {
	t.Parallel()
	for _, works := range []time.Duration{600 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, &post{
				takes: 700 * time.Millisecond, endFails: faulttest.ErrAway, answer: &http.Response{StatusCode: 410, Body: http.NoBody},
			})
			e := d.work(t, works)
			require.Empty(t, e.Disabled)
			require.Equal(t, map[string]int64{"delivered": 0, "retried": 0, "dead": 0}, d.counts.Read())
			require.Contains(t, d.log.String(), `msg="outcome not recorded`)
			require.Contains(t, d.log.String(), faulttest.ErrAway.Message)
		})
	}
}

// The dispatcher disables an endpoint in its own name. If that fails the log warns of it, unless the endpoint was removed meanwhile.
func TestTheDispatcherDisablesAnEndpointInItsOwnName(t *testing.T) {
	t.Parallel()
	gone := func() *post { return &post{answer: &http.Response{StatusCode: 410, Body: http.NoBody}} }
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, gone())
		d.work(t, time.Second)
		last := d.account.changes[len(d.account.changes)-1]
		require.Equal(t, eventlog.Meta{Actor: "webhooks", Reason: "gone"}, last.Meta)
		require.Equal(t, webhook.DisabledV1{Webhook: d.made.ID, Cause: webhook.Gone}, last.Events[0].Data)
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, gone())
		b := &unsteady{d.account, faulttest.Calls{Fail: 1}}
		d.deps.Disabler = webhook.NewService(webhook.Deps{Reader: b, Store: b, Sealer: d.service.Sealer})
		require.Empty(t, d.work(t, time.Second).Disabled)
		require.Contains(t, d.log.String(), `level=WARN msg="webhook not disabled; its next failure tries again"`)
		require.Contains(t, d.log.String(), "cause=gone error=\""+faulttest.ErrAway.Message)
		require.NotContains(t, d.log.String(), `msg="webhook disabled"`)
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, gone())
		require.NoError(t, d.service.Remove(t.Context(), "acme", d.made.ID, acme))
		_, stop := d.start(t)
		passes(time.Second)
		stop()
		require.Len(t, d.ended, 1)
		require.NotContains(t, d.log.String(), "level=WARN")
	})
}

// A failed removal of old deliveries is logged once and repeated at the next time; all batches of one time are removed at once.
func TestAFailedRemovalOfOldDeliveriesIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &post{left: 2, pruneErrs: []error{nil, faulttest.ErrAway}, answer: &http.Response{StatusCode: 200, Body: http.NoBody}})
		began := time.Now()
		d.work(t, 29*time.Minute)
		require.Equal(t, []time.Time{
			began.Add(10 * time.Minute), began.Add(10 * time.Minute), began.Add(20 * time.Minute), began.Add(20 * time.Minute),
		}, d.prunes)
		require.Equal(t, 1, strings.Count(d.log.String(), `msg="webhook delivery cleanup failed"`))
	})
}

// An idle dispatcher reads the queue less often, until it is woken.
func TestADispatcherReadsSoonAfterItIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &post{answer: &http.Response{StatusCode: 200, Body: http.NoBody}})
		dispatcher, stop := d.start(t)
		passes(5 * time.Minute)
		woken := time.Now()
		dispatcher.Wake()
		passes(time.Second)
		stop()
		after := slices.IndexFunc(d.claims, func(at time.Time) bool { return at.After(woken) })
		require.Greater(t, after, 1)
		require.Equal(t, 15*time.Second, d.claims[after-1].Sub(d.claims[after-2]))
		require.Equal(t, 300*time.Millisecond, d.claims[after].Sub(woken))
	})
}

// An endpoint is registered as it was asked for, or refused as a whole.
func TestAnEndpointIsRegisteredAsAskedFor(t *testing.T) {
	t.Parallel()
	a, s := newAccount(t)
	text := func(s string) *string { return &s }
	for name, c := range map[string]webhook.Request{
		"no address":           {},
		"an address inside":    {URL: text("https://127.0.0.1/")},
		"an unknown kind":      {URL: text("https://one.example/"), Events: []string{"nothing"}},
		"too long a note":      {URL: text("https://one.example/"), Description: text(strings.Repeat("x", 5000))},
		"an address of no URL": {URL: text("one.example")},
	} {
		_, _, err := s.Register(t.Context(), "acme", c, acme)
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
		require.Empty(t, a.changes, name)
	}
	made, _, err := s.Register(t.Context(), "acme", webhook.Request{
		URL: text("https://one.example/"), Events: []string{"call.*"}, Description: text("of the night"),
	}, acme)
	require.NoError(t, err)
	require.Equal(t, "of the night", made.Description)
	require.Equal(t, []string{"call.*"}, made.Events)
}
