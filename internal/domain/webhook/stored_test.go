package webhook_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/projectiontest"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// patience is how long a test waits for what happens at once.
const patience = time.Minute

// received is one attempt, as its receiver sees it.
type received struct {
	header http.Header
	body   []byte
}

// signedWith requires an attempt to be signed now with these keys and no other.
func (r received) signedWith(t *testing.T, keys ...string) {
	t.Helper()
	seconds, err := strconv.ParseInt(r.header.Get(webhook.HeaderTimestamp), 10, 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(seconds, 0), patience)
	h := http.Header{}
	require.NoError(t, webhook.Sign(h, r.header.Get(webhook.HeaderID), time.Unix(seconds, 0), r.body, keys...))
	require.Equal(t, h.Get(webhook.HeaderSignature), r.header.Get(webhook.HeaderSignature))
}

// office is the webhooks of a database: their service, and a dispatcher with a receiver.
type office struct {
	*webhook.Service
	t        *testing.T
	store    *webhookstore.Store
	events   *eventstore.Store
	pool     *pgxpool.Pool
	outgoing projections.Projection
	wake     func()
	receiver string
	came     chan received

	mu     sync.Mutex
	status int
}

func newOffice(t *testing.T, policy webhook.Policy) *office {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, webhook.Register(types))
	require.NoError(t, job.Register(types))
	pool := projectiontest.NewPool(t)
	events := eventstore.New(pool, types, nil)
	o := &office{
		t: t, store: webhookstore.New(pool, events), events: events, pool: pool, outgoing: webhooks.NewOutgoing(types, ""),
		came: make(chan received, 100), status: 204,
	}
	srv := httptest.NewServer(o)
	t.Cleanup(srv.Close)
	address, err := url.Parse(srv.URL)
	require.NoError(t, err)
	o.receiver = srv.URL + "/x?token=1"
	sealer, allow, wire := newSealer(t), []string{address.Host}, outbound.New(outbound.Options{})
	t.Cleanup(wire.Close)
	o.Service = webhook.NewService(webhook.Deps{Reader: webhooks.NewReader(pool, types), Store: o.store, Sealer: sealer, Allow: allow})
	d := webhook.NewDispatcher(webhook.DispatcherDeps{
		Queue: o.store, Disabler: o.Service, Sealer: sealer, Wire: wire, Allow: allow, Counts: new(webhook.Counts),
		Log: slog.New(slog.DiscardHandler),
	}, policy)
	o.wake = d.Wake
	projectiontest.Background(t, d.Run)
	return o
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.came <- received{r.Header, body}
	w.WriteHeader(o.status)
}

// answers sets the status of the next answers.
func (o *office) answers(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status = status
}

func (o *office) register(events ...string) (webhook.EndpointWithURL, string) {
	o.t.Helper()
	made, key, err := o.Register(o.t.Context(), "acme", webhook.Request{URL: &o.receiver, Events: events}, acme)
	require.NoError(o.t, err)
	return made, key
}

// ends records a job that failed, and queues its messages.
func (o *office) ends() job.ID {
	o.t.Helper()
	id := job.NewID()
	recorded := projectiontest.Append(o.t, o.events,
		projectiontest.Given{Stream: id.Stream(), Account: "acme", Type: job.TypeSubmitted, Data: job.SubmittedV1{}},
		projectiontest.Given{Stream: id.Stream(), Account: "acme", Type: job.TypeFailed, Data: job.FailedV1{Failure: job.Failure{Code: "c"}}})
	projectiontest.Apply(o.t, o.pool, o.outgoing, recorded...)
	o.wake()
	return id
}

// next returns the next attempt.
func (o *office) next() received {
	o.t.Helper()
	o.wake()
	select {
	case r := <-o.came:
		return r
	case <-time.After(patience):
		require.FailNow(o.t, "no attempt came")
		return received{}
	}
}

// until waits for the deliveries of an endpoint, newest first, to have these states, and returns them.
func (o *office) until(id webhook.ID, states ...webhook.State) []webhook.Delivery {
	o.t.Helper()
	var page webhook.Page
	require.Eventually(o.t, func() bool {
		var err error
		page, err = o.store.Deliveries(o.t.Context(), webhook.Query{Account: "acme", Webhook: id, Limit: 100})
		require.NoError(o.t, err)
		var are []webhook.State
		for _, d := range page.Deliveries {
			are = append(are, d.State)
		}
		return slices.Equal(are, states)
	}, patience, 10*time.Millisecond)
	return page.Deliveries
}

// recorded returns the events of the account's webhooks.
func (o *office) recorded() (types []string) {
	o.t.Helper()
	events, err := o.events.ReadStream(o.t.Context(), webhook.Stream("acme"), 0, 100)
	require.NoError(o.t, err)
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

var quick = webhook.Policy{
	Timeout: 30 * time.Second, Retries: []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}, DisableAfter: time.Hour,
	Retention: time.Hour,
}

// A message is attempted with one id until it is taken, and signed with each key that is valid.
func TestAMessageIsAttemptedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quick)
	e, key := o.register()
	o.answers(500)
	id := o.ends()
	first := o.next()
	o.answers(204)
	second := o.next()
	require.Equal(t, first.body, second.body)
	require.Contains(t, string(first.body), `"id":"`+string(id)+`","status":"failed"`)
	delivered := o.until(e.ID, webhook.Delivered)[0]
	for _, r := range []received{first, second} {
		r.signedWith(t, key)
		require.Equal(t, delivered.ID.String(), r.header.Get(webhook.HeaderID))
	}
	require.Equal(t, 2, delivered.Attempts)
	require.Equal(t, []int{500, 204}, []int{delivered.Tries[0].Status, delivered.Tries[1].Status})
	require.Equal(t, []webhook.Problem{webhook.Refused, ""}, []webhook.Problem{delivered.Tries[0].Error, delivered.Tries[1].Error})

	fresh, until, err := o.Rotate(t.Context(), "acme", e.ID, time.Hour, acme)
	require.NoError(t, err)
	require.NotEqual(t, key, fresh)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, patience)
	o.ends()
	o.next().signedWith(t, fresh, key)
	last, _, err := o.Rotate(t.Context(), "acme", e.ID, 0, acme)
	require.NoError(t, err)
	o.ends()
	o.next().signedWith(t, last)
	o.until(e.ID, webhook.Delivered, webhook.Delivered, webhook.Delivered)
}

// A message that is never taken becomes a dead letter, which is attempted again when its owner asks for it, alone or with all others.
func TestADeadLetterIsReplayed(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quick)
	e, _ := o.register("job.failed")
	o.answers(500)
	o.ends()
	first := o.until(e.ID, webhook.Dead)[0]
	require.Equal(t, 3, first.Attempts)
	require.Len(t, first.Tries, 3)
	o.ends()
	second := o.until(e.ID, webhook.Dead, webhook.Dead)[0]
	o.answers(204)
	for len(o.came) > 0 {
		<-o.came
	}
	n, err := o.Replay(t.Context(), "acme", e.ID, &first.ID, acme)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, first.ID.String(), o.next().header.Get(webhook.HeaderID))
	all := o.until(e.ID, webhook.Dead, webhook.Delivered)
	require.Equal(t, []int{1, 1}, []int{all[1].Attempts, all[1].Replays})
	n, err = o.Replay(t.Context(), "acme", e.ID, nil, acme)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, second.ID.String(), o.next().header.Get(webhook.HeaderID))
	o.until(e.ID, webhook.Delivered, webhook.Delivered)
	n, err = o.Replay(t.Context(), "acme", e.ID, nil, acme)
	require.NoError(t, err)
	require.Zero(t, n, "no dead letter is left")
	absent := uuid.New()
	_, err = o.Replay(t.Context(), "acme", e.ID, &absent, acme)
	require.Equal(t, fault.CodeDeliveryNotFound, fault.CodeOf(err))
	require.Equal(t, []string{webhook.TypeRegistered, webhook.TypeReplayed, webhook.TypeReplayed}, o.recorded())
}

// A delivery keeps its ten latest attempts, oldest first.
func TestADeliveryKeepsItsLatestAttempts(t *testing.T) {
	t.Parallel()
	policy := quick
	policy.Retries = slices.Repeat([]time.Duration{time.Millisecond}, 11)
	o := newOffice(t, policy)
	e, _ := o.register()
	o.answers(500)
	o.ends()
	dead := o.until(e.ID, webhook.Dead)[0]
	require.Equal(t, 12, dead.Attempts)
	require.Len(t, dead.Tries, 10)
	require.True(t, dead.Tries[0].At.Before(dead.Tries[9].At))
}

// An endpoint that is gone, or fails for too long, is disabled: it gets no more messages until its owner enables it.
func TestAnEndpointThatIsGoneOrFailsIsDisabled(t *testing.T) {
	t.Parallel()
	for cause, c := range map[webhook.Cause]struct {
		status int
		after  time.Duration
	}{webhook.Gone: {410, time.Hour}, webhook.Failing: {500, 0}} {
		t.Run(string(cause), func(t *testing.T) {
			t.Parallel()
			policy := quick
			policy.DisableAfter, policy.Retries = c.after, []time.Duration{time.Hour}
			o := newOffice(t, policy)
			e, _ := o.register()
			o.answers(c.status)
			o.ends()
			o.next()
			o.until(e.ID, webhook.Dead)
			require.Eventually(t, func() bool {
				got, err := o.Endpoint(t.Context(), "acme", e.ID)
				require.NoError(t, err)
				return got.Disabled == cause
			}, patience, 10*time.Millisecond)
			o.ends()
			o.until(e.ID, webhook.Dead)
			_, err := o.Test(t.Context(), "acme", e.ID, acme)
			require.Equal(t, fault.CodeWebhookDisabled, fault.CodeOf(err))

			yes := true
			got, err := o.Change(t.Context(), "acme", e.ID, webhook.Request{Enabled: &yes}, acme)
			require.NoError(t, err)
			require.Equal(t, e, got)
			o.answers(204)
			id, err := o.Test(t.Context(), "acme", e.ID, acme)
			require.NoError(t, err)
			came := o.next()
			require.Equal(t, id.String(), came.header.Get(webhook.HeaderID))
			require.Contains(t, string(came.body), `"type":"webhook.test"`)
			require.Contains(t, string(came.body), `"data":{"object":"webhook","id":"`+string(e.ID)+`"}`)
			d := o.until(e.ID, webhook.Delivered, webhook.Dead)[0]
			require.Equal(t, []any{webhook.Test, "webhook-" + string(e.ID), "acme"}, []any{d.Kind, d.Subject, d.Account})
			require.Equal(t, []string{webhook.TypeRegistered, webhook.TypeDisabled, webhook.TypeEnabled, webhook.TypeTested}, o.recorded())
		})
	}
}

// A changed address gets the messages with the same key, and a removed endpoint leaves nothing behind.
func TestAChangedAddressGetsTheMessages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quick)
	e, key := o.register()
	o.receiver += "&more=1"
	got, err := o.Change(t.Context(), "acme", e.ID, webhook.Request{URL: &o.receiver, Events: []string{"job.completed"}}, acme)
	require.NoError(t, err)
	require.Equal(t, o.receiver, got.URL)
	require.Equal(t, []string{"job.completed"}, got.Events)
	o.ends() // of a kind that it has not
	_, err = o.Test(t.Context(), "acme", e.ID, acme)
	require.NoError(t, err)
	came := o.next()
	require.Contains(t, string(came.body), "webhook.test")
	came.signedWith(t, key)
	o.until(e.ID, webhook.Delivered)
	require.NoError(t, o.Remove(t.Context(), "acme", e.ID, acme))
	o.until(e.ID)
	all, err := o.Endpoints(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, all)
	require.Equal(t, []string{webhook.TypeRegistered, webhook.TypeChanged, webhook.TypeTested, webhook.TypeRemoved}, o.recorded())
}
