//go:build linux

package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/test/load"
	"github.com/millrace-dev/millrace/test/served"
)

// Two processes of the service, and its commands, run behind a pooler that has fewer sessions of the server than they
// have connections. Only work that needs a session of its own bypasses the pooler.
func TestTheServiceWorksBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t)
	pooler := pgtest.NewPooler(t, direct)
	address, namespace := temporaltest.Namespace(t)
	env := map[string]string{
		"DATABASE_URL": pooler, "DATABASE_DIRECT_URL": direct, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace,
		"MILLRACE_DATA": t.TempDir(), "MILLRACE_LOG": "warn", "MILLRACE_STOP_AFTER": "2s", "MILLRACE_SLOTS": "6",
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	out, err := served.Command(t.Context(), lookup, "migrate")
	require.NoError(t, err, out)
	api := serve(t, lookup, "--roles", "api,projector", "--internal-addr", "127.0.0.1:0")
	serve(t, lookup, "--roles", "worker", "--internal-addr", "127.0.0.1:0")
	require.NoError(t, served.AwaitReady(api, patience, nil))

	c := load.NewPatientClient(patience, api)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var ids []string
	for n := range 24 {
		id, accepted := c.Submit(ctx, load.Cheap(fmt.Sprintf("pooled-job-%d", n)))
		require.True(t, accepted)
		ids = append(ids, id)
	}
	for _, id := range ids {
		require.NoError(t, c.UntilCompleted(ctx, id))
	}
	upload(t, api)
	for _, args := range [][]string{
		{"views", "rebuild", "--check"},
		{"views", "rebuild"},
		{"jobs", "list"},
		{"doctor"},
		{"doctor", "--reconcile"},
	} {
		out, err := served.Command(t.Context(), lookup, args...)
		require.NoError(t, err, "%v: %s", args, out)
		require.NotContains(t, out, "differs")
	}
	require.Empty(t, c.Seen().Errors)
	require.LessOrEqual(t, sessions(t, direct, "millrace"), 8, "the pools go through the pooler")
	for _, name := range []string{"millrace listen", "millrace tail", "millrace checkpoints"} {
		require.Positive(t, sessions(t, direct, name), name)
	}
}

// sessions counts the server's sessions by application name.
func sessions(t *testing.T, dsn, name string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context())) // no transaction is open
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database()
		and application_name = $1`, name).Scan(&n))
	return n
}

// serve runs a process of the service within this one until the test ends.
func serve(t *testing.T, lookup func(string) (string, bool), args ...string) (base string) {
	t.Helper()
	addr, err := ports.Address()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended, log := make(chan error, 1), &served.Log{}
	go func() {
		cmd := cli.Command(io.Discard, log, lookup)
		cmd.SetArgs(append([]string{"serve", "--addr", addr}, args...))
		ended <- cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended, log)
	})
	return "http://" + addr
}

// upload stores a file and waits until it is ready.
func upload(t *testing.T, base string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("image", "pooled.png")
	require.NoError(t, err)
	require.NoError(t, png.Encode(file, image.NewGray(image.Rect(0, 0, 8, 8))))
	require.NoError(t, w.Close())
	res, err := http.Post(base+"/api/upload/image", w.FormDataContentType(), &form)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(raw))
	require.Eventually(t, func() bool {
		status, _ := get(base + "/api/view?type=input&filename=pooled.png")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
}
