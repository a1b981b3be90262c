package webhooks_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections/projectiontest"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// Ids of endpoints.
const (
	first  = webhook.ID("00000000-0000-4000-8000-000000000001")
	second = webhook.ID("00000000-0000-4000-8000-000000000002")
	third  = webhook.ID("00000000-0000-4000-8000-000000000003")
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, webhook.Register(r))
	require.NoError(tb, job.Register(r))
	require.NoError(tb, call.Register(r))
	return r
}

func given(account, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: webhook.Stream(account), Account: account, Type: kind, Data: data}
}

func registered(account string, id webhook.ID, events ...string) projectiontest.Given {
	return given(account, webhook.TypeRegistered, webhook.RegisteredV1{Webhook: id, Host: "example.com", Events: events})
}

func history() []projectiontest.Given {
	host, text := "other.example:8443", "ours"
	return []projectiontest.Given{
		registered("acme", first, "job.*"),
		registered("other", third, "call.*"),
		registered("acme", second, "job.failed"),
		given("acme", webhook.TypeChanged, webhook.ChangedV1{
			Webhook: first, Host: &host, Events: []string{"call.*", "job.*"},
			Description: &text,
		}),
		given("acme", webhook.TypeSecretRotated, webhook.SecretRotatedV1{Webhook: first, OldUntil: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}),
		given("acme", webhook.TypeDisabled, webhook.DisabledV1{Webhook: first, Cause: webhook.Failing}),
		given("acme", webhook.TypeTested, webhook.TestedV1{Webhook: second, Delivery: uuid.UUID{1}}),
		given("other", webhook.TypeDisabled, webhook.DisabledV1{Webhook: third, Cause: webhook.Gone}),
		given("other", webhook.TypeEnabled, webhook.EnabledV1{Webhook: third}),
		given("acme", webhook.TypeRemoved, webhook.RemovedV1{Webhook: second}),
		given("acme", webhook.TypeReplayed, webhook.ReplayedV1{Webhook: first, Deliveries: 3}),
	}
}

func TestWebhooksView(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, webhooks.NewProjection(r), "webhooks", projectiontest.Record(t, r, history()...))
}

func TestWebhooksViewEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, webhooks.NewProjection(r), history()...)
}

// TestReadsAreNeverBehindTheLog folds each beginning of the history; the reader adds the rest.
func TestReadsAreNeverBehindTheLog(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	recorded := projectiontest.Append(t, eventstore.New(pool, r, nil), history()...)
	view, reader := webhooks.NewProjection(r), webhooks.NewReader(pool, r)
	for folded := range len(recorded) + 1 {
		if folded > 0 {
			projectiontest.Apply(t, pool, view, recorded[folded-1])
		}
		book, err := reader.Book(t.Context(), "acme")
		require.NoError(t, err)
		require.EqualValues(t, 8, book.Version)
		require.Len(t, book.Endpoints, 1)
		e := book.Endpoints[0]
		require.Equal(t, []any{first, "other.example:8443", "ours", webhook.Failing, recorded[0].Position},
			[]any{e.ID, e.Host, e.Description, e.Disabled, e.Position})
	}
	none, err := reader.Book(t.Context(), "nobody")
	require.NoError(t, err)
	require.Empty(t, none)
}

// keep stands for the registration's other half, the endpoint itself.
func keep(t *testing.T, pool *pgxpool.Pool, account string, ids ...webhook.ID) {
	t.Helper()
	for _, id := range ids {
		_, err := pool.Exec(t.Context(), `insert into webhook_endpoints (id, account, sealed) values ($1, $2, '')`, string(id), account)
		require.NoError(t, err)
	}
}

func ofJob(account string, id job.ID, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id.Stream(), Account: account, Type: kind, Data: data}
}

func ofCall(account string, id call.ID, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id.Stream(), Account: account, Type: kind, Data: data}
}

// got returns what is in the queue, oldest first: endpoint, kind, and the id and status in the message.
func got(t *testing.T, pool *pgxpool.Pool) [][4]string {
	t.Helper()
	page, err := webhookstore.New(pool, nil).Deliveries(t.Context(), webhook.Query{Limit: 100})
	require.NoError(t, err)
	all := make([][4]string, len(page.Deliveries))
	for i, d := range page.Deliveries {
		var m struct {
			Type string
			Data struct{ ID, Status string }
		}
		require.NoError(t, json.Unmarshal(d.Body, &m))
		require.Equal(t, string(d.Kind), m.Type)
		all[len(all)-1-i] = [4]string{string(d.Webhook), m.Type, m.Data.ID, m.Data.Status}
	}
	return all
}

func TestEachEndIsDeliveredOncePerEndpoint(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	store := eventstore.New(pool, r, nil)
	early, late, theirs := job.NewID(), job.NewID(), job.NewID()
	keep(t, pool, "acme", first, second)
	keep(t, pool, "other", third)
	recorded := projectiontest.Append(t, store,
		ofJob("acme", early, job.TypeSubmitted, job.SubmittedV1{}),
		ofJob("acme", early, job.TypeSucceeded, job.SucceededV1{Run: 1}),
		registered("acme", first, "job.*"), registered("acme", second, "job.failed"), registered("other", third, "job.*"),
		ofJob("acme", late, job.TypeSubmitted, job.SubmittedV1{}),
		ofJob("acme", late, job.TypeFailed, job.FailedV1{
			Run:     1,
			Failure: job.Failure{Code: "node_execution_error", Message: "a secret prompt", Node: "7"},
		}),
		ofJob("other", theirs, job.TypeSubmitted, job.SubmittedV1{}),
		ofJob("other", theirs, job.TypeExpired, job.ExpiredV1{}),
	)
	out := webhooks.NewOutgoing(r, "https://example.com/base/")
	for range 2 { // seen twice, sent once
		projectiontest.Apply(t, pool, out, recorded...)
	}
	require.Equal(t, [][4]string{
		{string(first), "job.failed", string(late), "failed"},
		{string(second), "job.failed", string(late), "failed"},
		{string(third), "job.expired", string(theirs), "expired"},
	}, got(t, pool))
	page, err := webhookstore.New(pool, nil).Deliveries(t.Context(), webhook.Query{Webhook: first, Limit: 1})
	require.NoError(t, err)
	body := string(page.Deliveries[0].Body)
	require.NotContains(t, body, "a secret prompt", "texts of errors may quote what was submitted")
	require.Contains(t, body, `"self":"https://example.com/base/api/v2/jobs/`+string(late)+`"`)
	require.Contains(t, body, `"error":{"code":"node_execution_error","node_id":"7"}`)
	require.Contains(t, body, `"created_at":"`)
	require.NotEqual(t, webhook.DeliveryID(first, recorded[6].ID), webhook.DeliveryID(second, recorded[6].ID))
	require.Equal(t, webhook.DeliveryID(first, recorded[6].ID), page.Deliveries[0].ID)
}

func TestCallsAreDeliveredExceptThoseOfPartnerNodes(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	store := eventstore.New(pool, r, nil)
	keep(t, pool, "acme", first)
	own, ofNode := call.ID(uuid.NewString()), call.ID(uuid.NewString())
	accepted := func(mode call.Mode) call.AcceptedV1 {
		return call.AcceptedV1{Model: "acme/m", Provider: "acme", Mode: mode, API: "v2"}
	}
	recorded := projectiontest.Append(t, store,
		registered("acme", first, "call.*"),
		ofCall("acme", own, call.TypeAccepted, accepted(call.Queued)),
		ofCall("acme", ofNode, call.TypeAccepted, accepted(call.Node)),
		ofCall("acme", own, call.TypeOutcomeUnknown, call.OutcomeUnknownV1{Model: "acme/m", Failure: call.Failure{Type: "provider_error"}}),
		ofCall("acme", own, call.TypeSucceeded, call.SucceededV1{Model: "acme/m", Late: true}),
		ofCall("acme", ofNode, call.TypeSucceeded, call.SucceededV1{Model: "acme/m"}),
	)
	projectiontest.Apply(t, pool, webhooks.NewOutgoing(r, ""), recorded...)
	require.Equal(t, [][4]string{
		{string(first), "call.outcome_unknown", string(own), "unknown"}, {string(first), "call.succeeded", string(own), "succeeded"},
	}, got(t, pool))
	page, err := webhookstore.New(pool, nil).Deliveries(t.Context(), webhook.Query{Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(page.Deliveries[0].Body), `"self":"/v2/models/acme/m/requests/`+string(own)+`"`)
}

func TestDisabledAndRemovedEndpointsGetNothing(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	store := eventstore.New(pool, r, nil)
	id := job.NewID()
	keep(t, pool, "acme", first) // second is registered, and its other half is gone
	recorded := projectiontest.Append(t, store,
		registered("acme", first, "job.*"), registered("acme", second, "job.*"),
		given("acme", webhook.TypeDisabled, webhook.DisabledV1{Webhook: first, Cause: webhook.ByOwner}),
		ofJob("acme", id, job.TypeSubmitted, job.SubmittedV1{}), ofJob("acme", id, job.TypeCanceled, job.CanceledV1{Run: 1}),
	)
	projectiontest.Apply(t, pool, webhooks.NewOutgoing(r, ""), recorded...)
	require.Empty(t, got(t, pool))
}
