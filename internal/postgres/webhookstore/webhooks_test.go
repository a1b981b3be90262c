package webhookstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
)

// hooks is a queue of deliveries with nothing in it.
type hooks struct {
	*webhookstore.Store
	t    *testing.T
	pool *pgxpool.Pool
}

func newHooks(t *testing.T) hooks {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return hooks{webhookstore.New(pool, eventstore.New(pool, eventlog.NewRegistry(), nil)), t, pool}
}

func (h hooks) endpoint(account string) webhook.ID {
	h.t.Helper()
	id := uuid.NewString()
	h.exec(`insert into webhook_endpoints (id, account, sealed) values ($1, $2, 'x')`, id, account)
	return webhook.ID(id)
}

func (h hooks) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.pool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

// enqueue adds deliveries of subjects, in order, and returns their ids.
func (h hooks) enqueue(account string, to webhook.ID, subjects ...string) []uuid.UUID {
	h.t.Helper()
	ids := make([]uuid.UUID, len(subjects))
	all := make([]webhook.Delivery, len(subjects))
	for i, subject := range subjects {
		ids[i] = uuid.New()
		all[i] = webhook.Delivery{ID: ids[i], Account: account, Webhook: to, Kind: webhook.JobFailed, Subject: subject, Body: []byte(`{}`)}
	}
	require.NoError(h.t, pgx.BeginFunc(h.t.Context(), h.pool, func(tx pgx.Tx) error {
		return webhookstore.EnqueueDeliveries(h.t.Context(), tx, all)
	}))
	return ids
}

func (h hooks) claim(free int, share webhook.AttemptLimits) []*webhook.Claimed {
	h.t.Helper()
	claimed, err := h.Claim(h.t.Context(), free, share, time.Minute)
	require.NoError(h.t, err)
	return claimed
}

func subjects(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("job-", i)
	}
	return all
}

var anyShare = webhook.AttemptLimits{Total: 100, Account: 100, Endpoint: 100} // a constant of the tests

func TestDeliveriesAreSharedAmongAccountsAndEndpoints(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	share := webhook.AttemptLimits{Account: 3, Endpoint: 2}
	greedy := []webhook.ID{h.endpoint("greedy"), h.endpoint("greedy")}
	for _, id := range greedy {
		h.enqueue("greedy", id, subjects(50)...)
	}
	modest := h.endpoint("modest")
	h.enqueue("modest", modest, "job-a")
	count := func(claimed []*webhook.Claimed) map[string]int {
		by := map[string]int{}
		for _, c := range claimed {
			by[c.Account]++
			by[string(c.Webhook)]++
		}
		return by
	}
	by := count(h.claim(100, share))
	require.Equal(t, 3, by["greedy"])
	require.LessOrEqual(t, max(by[string(greedy[0])], by[string(greedy[1])]), 2)
	require.Equal(t, 1, by["modest"])
	require.Empty(t, h.claim(100, share), "what is under way counts, in whatever process")
	h.exec(`update webhook_deliveries set leased_until = now() - interval '1 second' where leased_until is not null`)
	require.Equal(t, 3, count(h.claim(100, share))["greedy"], "a lease that has ended is taken over")

	h.enqueue("modest", modest, "job-b")
	last := h.claim(1, webhook.AttemptLimits{Account: 100, Endpoint: 100})
	require.Len(t, last, 1, "no more than there is room for")
}

func TestDeliveriesOfOneSubjectKeepTheirOrder(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	to, other := h.endpoint("acme"), h.endpoint("acme")
	ids := h.enqueue("acme", to, "call-1", "call-1", "call-2")
	elsewhere := h.enqueue("acme", other, "call-1")
	claimed := h.claim(100, anyShare)
	require.ElementsMatch(t, []uuid.UUID{ids[0], ids[2], elsewhere[0]}, idsOf(claimed))
	for _, c := range claimed {
		if c.ID == ids[0] { // it waits for its next attempt, and who is behind it too
			_, err := h.Finish(t.Context(), c, webhook.Outcome{State: webhook.Pending, Retry: time.Hour, Try: webhook.Try{Error: webhook.TimedOut}})
			require.NoError(t, err)
		}
	}
	require.Empty(t, h.claim(100, anyShare))
	h.exec(`update webhook_deliveries set due_at = now() where id = $1`, ids[0])
	again := h.claim(100, anyShare)
	require.Equal(t, []uuid.UUID{ids[0]}, idsOf(again))
	require.Equal(t, 2, again[0].Attempts)
	_, err := h.Finish(t.Context(), again[0], webhook.Outcome{State: webhook.Dead, Try: webhook.Try{Error: webhook.TimedOut}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{ids[1]}, idsOf(h.claim(100, anyShare)), "a dead letter holds nobody up")
}

func idsOf(claimed []*webhook.Claimed) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, c := range claimed {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestOnlyASuccessCountsAfterTheLease(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	to := h.endpoint("acme")
	id := h.enqueue("acme", to, "job-1")[0]
	first := h.claim(1, anyShare)[0]
	h.exec(`update webhook_deliveries set leased_until = now() - interval '1 second'`)
	second := h.claim(1, anyShare)[0]
	failed := webhook.Outcome{State: webhook.Dead, Try: webhook.Try{Error: webhook.TimedOut}}
	_, err := h.Finish(t.Context(), first, failed)
	require.NoError(t, err)
	require.Equal(t, webhook.Pending, h.read(id).State, "its lease is another's")
	require.NoError(t, h.GiveBack(t.Context(), first))
	require.Equal(t, 2, h.read(id).Attempts)
	_, err = h.Finish(t.Context(), first, webhook.Outcome{State: webhook.Delivered, Try: webhook.Try{Status: 200}})
	require.NoError(t, err)
	_, err = h.Finish(t.Context(), second, failed)
	require.NoError(t, err)
	d := h.read(id)
	require.Equal(t, webhook.Delivered, d.State, "it was taken, whatever the other one met with")
	require.Len(t, d.Tries, 1)
	require.NotNil(t, d.EndedAt)
}

func (h hooks) read(id uuid.UUID) webhook.Delivery {
	h.t.Helper()
	d, err := h.Delivery(h.t.Context(), "acme", id)
	require.NoError(h.t, err)
	return d
}

func TestFailuresAreCountedFromTheFirstAndEndedByASuccess(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	to := h.endpoint("acme")
	h.enqueue("acme", to, subjects(3)...)
	claimed := h.claim(3, anyShare)
	failed := webhook.Outcome{State: webhook.Pending, Retry: time.Hour, Try: webhook.Try{Error: webhook.Unreachable}}
	failing, err := h.Finish(t.Context(), claimed[0], failed)
	require.NoError(t, err)
	require.Less(t, failing, time.Minute)
	h.exec(`update webhook_endpoints set failing_since = failing_since - interval '2 hours'`)
	failing, err = h.Finish(t.Context(), claimed[1], failed)
	require.NoError(t, err)
	require.Greater(t, failing, 2*time.Hour-time.Minute)
	failing, err = h.Finish(t.Context(), claimed[2], webhook.Outcome{State: webhook.Delivered, Try: webhook.Try{Status: 204}})
	require.NoError(t, err)
	require.Zero(t, failing)
	var since *time.Time
	require.NoError(t, h.pool.QueryRow(t.Context(), `select failing_since from webhook_endpoints`).Scan(&since))
	require.Nil(t, since)
}

func TestADeliveryRemembersItsLatestAttempts(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.enqueue("acme", h.endpoint("acme"), "job-1")[0]
	for i := range webhook.MaxTries + 3 {
		h.exec(`update webhook_deliveries set due_at = now()`)
		c := h.claim(1, anyShare)[0]
		_, err := h.Finish(t.Context(), c, webhook.Outcome{State: webhook.Pending, Try: webhook.Try{Error: webhook.Refused, Status: 500 + i}})
		require.NoError(t, err)
	}
	tries := h.read(id).Tries
	require.Len(t, tries, webhook.MaxTries)
	require.Equal(t, 503, tries[0].Status, "oldest first")
	require.Equal(t, 500+webhook.MaxTries+2, tries[len(tries)-1].Status)
}

func TestEndedDeliveriesAreForgottenAfterTheirRetention(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	to := h.endpoint("acme")
	h.enqueue("acme", to, subjects(4)...)
	claimed := h.claim(3, anyShare)
	for i, state := range []webhook.State{webhook.Delivered, webhook.Dead, webhook.Delivered} {
		_, err := h.Finish(t.Context(), claimed[i], webhook.Outcome{State: state})
		require.NoError(t, err)
	}
	h.exec(`update webhook_deliveries set created_at = now() - interval '60 days'`)
	h.exec(`update webhook_deliveries set ended_at = now() - interval '31 days' where id = any($1)`, []uuid.UUID{claimed[0].ID, claimed[1].ID})
	gone := h.endpoint("acme")
	h.enqueue("acme", gone, "job-9")
	h.exec(`delete from webhook_endpoints where id = $1`, string(gone))
	more, err := h.Prune(t.Context(), 30*24*time.Hour)
	require.NoError(t, err)
	require.False(t, more)
	page, err := h.Deliveries(t.Context(), webhook.Query{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Deliveries, 2)
	require.Equal(t, webhook.Pending, page.Deliveries[0].State)
	require.Equal(t, claimed[2].ID, page.Deliveries[1].ID)
}

// A long queue of one endpoint must cost no more than a short one.
func BenchmarkClaimDeliveries(b *testing.B) {
	for _, waiting := range []int{100, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			pool, err := postgres.Open(b.Context(), pgtest.Migrated(b, postgres.Migrate), postgres.PoolOptions{})
			require.NoError(b, err)
			b.Cleanup(pool.Close)
			id := uuid.NewString()
			_, err = pool.Exec(b.Context(), `with e as (insert into webhook_endpoints (id, account, sealed) values ($1, 'acme', 'x'))
				insert into webhook_deliveries (id, account, webhook, subject, kind, body, due_at)
				select gen_random_uuid(), 'acme', $1::uuid, 'job-' || n, 'job.failed', '{}', now() + (n % 2) * interval '1 hour'
					from generate_series(1, $2::int) n`, id, waiting)
			require.NoError(b, err)
			_, err = pool.Exec(b.Context(), `vacuum analyze webhook_deliveries`)
			require.NoError(b, err)
			queue := webhookstore.New(pool, eventstore.New(pool, eventlog.NewRegistry(), nil))
			for b.Loop() {
				claimed, err := queue.Claim(b.Context(), 4, webhook.AttemptLimits{Account: 8, Endpoint: 4}, time.Minute)
				require.NoError(b, err)
				for _, c := range claimed {
					require.NoError(b, queue.GiveBack(b.Context(), c))
				}
			}
		})
	}
}
