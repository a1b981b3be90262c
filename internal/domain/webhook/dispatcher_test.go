package webhook_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
)

// post is a queue with one delivery, and the wire to its endpoint.
type post struct {
	due     []*webhook.Claimed
	failing time.Duration // how long all attempts at the endpoint have failed
	ended   []webhook.Outcome
	left    int // batches of old deliveries
	prunes  int

	answer *http.Response
	err    error
	sent   []*http.Request
	counts webhook.Counts
}

func (p *post) Claim(context.Context, int, webhook.AttemptLimits, time.Duration) ([]*webhook.Claimed, error) {
	due := p.due
	p.due = nil
	return due, nil
}

func (p *post) Finish(_ context.Context, _ *webhook.Claimed, o webhook.Outcome) (time.Duration, error) {
	p.ended = append(p.ended, o)
	return p.failing, nil
}

func (p *post) GiveBack(context.Context, *webhook.Claimed) error { return nil }

func (p *post) Prune(context.Context, time.Duration) (bool, error) {
	p.prunes++
	p.left--
	return p.left > 0, nil
}

func (p *post) RoundTrip(req *http.Request, _ []string) (*http.Response, error) {
	p.sent = append(p.sent, req)
	return p.answer, p.err
}

// deliver has a dispatcher work for a while on the delivery of an endpoint, and returns the endpoint.
func (p *post) deliver(t *testing.T, off bool, works time.Duration) webhook.Endpoint {
	t.Helper()
	a, s := newAccount(t)
	made := register(t, s, "https://one.example/x")
	p.due = []*webhook.Claimed{{
		Delivery: webhook.Delivery{ID: uuid.New(), Account: "acme", Webhook: made.ID, Body: []byte(`{"type":"job.completed"}`), Attempts: 1},
		Sealed:   a.sealed[made.ID], Disabled: off,
	}}
	d := webhook.NewDispatcher(webhook.DispatcherDeps{
		Queue: p, Disabler: s, Sealer: s.Sealer, Wire: p, Counts: &p.counts, Log: slog.New(slog.DiscardHandler),
	}, webhook.Policy{Timeout: time.Second, Retries: []time.Duration{time.Minute}, DisableAfter: time.Hour, Retention: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	time.Sleep(works) //nolint:forbidigo // of the bubble's clock
	synctest.Wait()
	stop()
	require.NoError(t, <-ended)
	e, err := a.book.Endpoint(made.ID)
	require.NoError(t, err)
	return e
}

// What an endpoint answers decides whether the message is delivered, sent again or given up, and whether the endpoint is disabled.
func TestAnAnswerEndsADelivery(t *testing.T) {
	t.Parallel()
	const long = 2 * time.Hour
	busy := http.Header{"Retry-After": {"600"}}
	one := func(counted bool) int64 { return map[bool]int64{true: 1}[counted] }
	for name, c := range map[string]struct {
		status   int
		header   http.Header
		err      error
		off      bool
		failing  time.Duration
		state    webhook.State
		problem  webhook.Problem
		atLeast  time.Duration // pause before the next attempt
		disabled webhook.Cause
	}{
		"the lowest success":   {status: 200, state: webhook.Delivered},
		"the highest success":  {status: 299, state: webhook.Delivered},
		"a redirect":           {status: 300, state: webhook.Pending, problem: webhook.Redirected},
		"a refusal":            {status: 400, state: webhook.Pending, problem: webhook.Refused},
		"no final status":      {status: 199, state: webhook.Pending, problem: webhook.Refused},
		"a busy endpoint":      {status: 503, header: busy, state: webhook.Pending, problem: webhook.Refused, atLeast: 10 * time.Minute},
		"failing for long":     {status: 500, failing: long, state: webhook.Pending, problem: webhook.Refused, disabled: webhook.Failing},
		"gone":                 {status: 410, state: webhook.Dead, problem: webhook.Refused, disabled: webhook.Gone},
		"a success after long": {status: 200, failing: long, state: webhook.Delivered},
		"disabled before":      {off: true, failing: long, state: webhook.Dead, problem: webhook.Off},
		"a name without an address": {
			err: fault.New(fault.Invalid, fault.CodeNameNotAllowed, "no"), state: webhook.Pending, problem: webhook.NoName,
		},
		"no answer in time":           {err: context.DeadlineExceeded, state: webhook.Pending, problem: webhook.TimedOut},
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
				require.GreaterOrEqual(t, p.ended[0].Retry, c.atLeast)
				require.Equal(t, c.disabled, e.Disabled)
				require.Equal(t, c.off, len(p.sent) == 0)
				for _, req := range p.sent {
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
		require.Equal(t, 3, p.prunes)
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
