package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// named is a client whose account's name the command line needs.
type named struct {
	*client
	name string
}

func newNamed(t *testing.T, tier string) named {
	t.Helper()
	s := start(t)
	name := strings.ReplaceAll(t.Name(), "/", "-")
	s.Run(t, "accounts", "create", name, "--tier", tier)
	return named{&client{t: t, base: s.Base, key: s.Run(t, "keys", "create", "--account", name)}, name}
}

func (n named) operator(args ...string) {
	n.t.Helper()
	start(n.t).Run(n.t, args...)
}

// opened is well below the half minute after which a sweep would find the jobs that wait.
const opened = 15 * time.Second

// requireOpened expects that a job was given its slot soon behind a moment: by the workers, and not by the sweep.
// How long it ran then says nothing.
func requireOpened(t *testing.T, id string, behind time.Time) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), serversOf(t).Database)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	var at time.Time
	require.NoError(t, conn.QueryRow(t.Context(), `select recorded_at from events where stream = 'job-' || $1 and type = $2`, id,
		job.TypeAdmitted).Scan(&at))
	require.Less(t, at.Sub(behind), opened, "workers move the queue, not the sweep")
}

func TestAPausedQueueAcceptsAndMovesWhenResumed(t *testing.T) {
	t.Parallel()
	c := newNamed(t, "pro")
	c.operator("queue", "pause", "--account", c.name, "--reason", "test")
	ids := []string{c.submit(picture), c.submit(picture), c.submit(picture)}
	for ahead, id := range ids {
		require.Equal(t, "pending", c.status(id))
		job := c.json("GET", "/api/v2/jobs/"+id, "")
		require.Equal(t, "queued", job["status"])
		require.InDelta(t, ahead, job["queue_position"], 0)
	}
	require.JSONEq(t, `{"deleted":["`+ids[1]+`"],"cleared":false}`, c.do("POST", "/api/queue", `{"delete":["`+ids[1]+`"]}`).body)
	require.InDelta(t, 1, c.json("GET", "/api/v2/jobs/"+ids[2], "")["queue_position"], 0)
	c.operator("queue", "resume", "--account", c.name, "--reason", "test")
	resumed := time.Now()
	c.await(ids[0], "completed")
	c.await(ids[2], "completed")
	requireOpened(t, ids[0], resumed)
	requireOpened(t, ids[2], resumed)
	require.Equal(t, "cancelled", c.status(ids[1]))
}

func TestADrainedAndAStoppedQueueRefuseOnBothSurfaces(t *testing.T) {
	t.Parallel()
	c := newNamed(t, "standard")
	running := c.submit(slow)
	waiting := c.submit(picture)
	c.await(running, "in_progress")
	c.operator("queue", "drain", "--account", c.name, "--reason", "test")
	const v2 = `{"workflow":` + picture + `}`
	got := c.do("POST", "/api/v2/jobs", v2, "Idempotency-Key", "k")
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.Contains(t, got.body, `"code":"deployment_not_ready"`)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	got = c.do("POST", "/api/prompt", `{"prompt":`+picture+`}`)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Contains(t, got.body, `"type":"deployment_not_ready"`)
	c.json("POST", "/api/interrupt", "")
	c.await(running, "cancelled")
	c.await(waiting, "completed") // drained queues are worked off
	c.operator("queue", "stop", "--account", c.name, "--reason", "test")
	got = c.do("POST", "/api/v2/jobs", v2, "Idempotency-Key", "k")
	require.Equal(t, http.StatusUnprocessableEntity, got.status)
	require.Contains(t, got.body, `"code":"deployment_stopped"`)
	require.Empty(t, got.header.Get("Retry-After"))
	require.Equal(t, http.StatusServiceUnavailable, c.do("POST", "/api/prompt", `{"prompt":`+picture+`}`).status)
	require.Equal(t, http.StatusCreated, newClient(t, "pro").do("POST", "/api/v2/jobs", v2).status, "others are not concerned")
	require.Equal(t, http.StatusOK, c.upload("still.png", tinyPNG(t)).status, "nor are uploads")
	c.operator("queue", "resume", "--account", c.name, "--reason", "test")
	require.Equal(t, http.StatusCreated, c.do("POST", "/api/v2/jobs", v2, "Idempotency-Key", "k").status, "refusals used no key up")
}

func TestAMeteredAccountWithoutCreditIsRefused(t *testing.T) {
	t.Parallel()
	c := newNamed(t, "pro")
	c.await(c.submit(picture), "completed")
	c.operator("accounts", "credit", c.name, "--amount", "0", "--reason", "metered from now")
	got := c.do("POST", "/api/prompt", `{"prompt":`+picture+`}`)
	require.Equal(t, http.StatusPaymentRequired, got.status)
	require.Contains(t, got.body, `"type":"insufficient_credits"`)
	require.Contains(t, decode(t, got.body), "node_errors")
	got = c.do("POST", "/api/v2/jobs", `{"workflow":`+picture+`}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusPaymentRequired, got.status)
	require.Contains(t, got.body, `"code":"insufficient_credits"`)
	require.Equal(t, http.StatusBadRequest, c.do("POST", "/api/prompt", `{"prompt":{}}`).status, "a bad graph is reported before")
	c.operator("accounts", "credit", c.name, "--amount", "0.01", "--reason", "trial")
	require.Equal(t, http.StatusCreated, c.do("POST", "/api/v2/jobs", `{"workflow":`+picture+`}`, "Idempotency-Key", "k").status)
	c.await(c.submit(picture), "completed")
	for path, code := range map[string]string{
		"/api/prompt":  `"type":"insufficient_credits"`,
		"/api/v2/jobs": `"code":"insufficient_credits"`,
	} {
		got = c.do("POST", path, `{"prompt":`+picture+`,"workflow":`+picture+`}`)
		require.Equal(t, http.StatusPaymentRequired, got.status, "0.002 USD do not cover a run of 0.004")
		require.Contains(t, got.body, code)
	}
	c.awaitLedger("0.002 USD available (0.42 credits), 0.00 reserved, 0.008 spent, 0.01 granted")
	c.operator("accounts", "credit", c.name, "--amount", "0.01", "--reason", "more")
	c.operator("queue", "pause", "--account", c.name, "--reason", "test")
	waiting := c.submit(picture)
	c.awaitLedger("0.008 USD available (1.69 credits), 0.004 reserved, 0.008 spent, 0.02 granted")
	c.json("POST", "/api/queue", `{"delete":["`+waiting+`"]}`)
	c.awaitLedger("0.012 USD available (2.53 credits), 0.00 reserved, 0.008 spent, 0.02 granted")
}

// awaitLedger waits for the balance, which the command compares with the events: the credit of a job is settled
// when it ends, and nothing else tells of it.
func (n named) awaitLedger(want string) {
	n.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := start(n.t).Run(n.t, "accounts", "ledger", n.name)
		if strings.HasSuffix(got, want) {
			return
		}
		require.True(n.t, time.Now().Before(deadline), "the ledger says %s, not %s", got, want)
	}
}

func TestTierChangeTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	c := newNamed(t, "standard")
	running := c.submit(slow)
	c.await(running, "in_progress")
	waiting := []string{c.submit(picture), c.submit(picture)}
	require.Equal(t, []string{"pending", "pending"}, []string{c.status(waiting[0]), c.status(waiting[1])})
	c.operator("accounts", "set", c.name, "--tier", "creator", "--reason", "upgrade")
	upgraded := time.Now()
	c.await(waiting[0], "completed")
	c.await(waiting[1], "completed")
	requireOpened(t, waiting[0], upgraded)
	requireOpened(t, waiting[1], upgraded)
	require.Equal(t, "in_progress", c.status(running))
	c.json("POST", "/api/interrupt", "")
	c.operator("accounts", "set", c.name, "--inactive", "--reason", "unpaid")
	for path, status := range map[string]int{"/api/prompt": http.StatusTooManyRequests, "/api/v2/jobs": http.StatusForbidden} {
		got := c.do("POST", path, `{"prompt":`+picture+`,"workflow":`+picture+`}`)
		require.Equal(t, status, got.status)
		require.Contains(t, got.body, `"subscription_inactive"`)
		require.Empty(t, got.header.Get("Retry-After"))
	}
	require.Equal(t, "completed", c.status(waiting[0]), "an account whose subscription has lapsed still reads")
	c.operator("accounts", "set", c.name, "--inactive=false", "--reason", "paid")
	c.await(c.submit(picture), "completed")
}
