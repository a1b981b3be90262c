package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/sim"
)

// serving is an API process whose workers are another process, and whose tail cannot read the log until release.
type serving struct {
	base    string
	dsn     string
	release func()
}

func serveWithAHeldTail(t *testing.T) serving {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s := serving{dsn: pgtest.Migrated(t, postgres.Migrate)}
	simulated, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cfg := config.Default()
	cfg.DatabaseURL, cfg.DataDir, cfg.Addr = s.dsn, t.TempDir(), "127.0.0.1:0"
	cfg.TemporalAddress, cfg.TemporalNamespace = temporaltest.Namespace(t)
	cfg.Router.Simulator = "http://" + simulated.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended, processes := make(chan error, 3), 0
	run := func(process func() error) {
		processes++
		go func() { ended <- process() }()
	}
	t.Cleanup(func() {
		stop()
		for range processes {
			require.NoError(t, <-ended)
		}
	})
	run(func() error { return sim.Serve(ctx, simulated, sim.Options{Log: quiet}) })
	run(func() error { return app.Serve(ctx, cfg, []app.Role{app.Worker}, quiet, nil) })

	proxy := pgtest.NewProxy(t, s.dsn)
	s.release = proxy.Hold("millrace tail")
	t.Cleanup(s.release)
	cfg.DatabaseURL = proxy.URL()
	ready := make(chan string, 1)
	run(func() error {
		return app.Serve(ctx, cfg, []app.Role{app.API}, quiet, func(base string) { ready <- base })
	})
	select {
	case s.base = <-ready:
	case <-time.After(2 * time.Minute):
		t.Fatal("the API does not serve")
	}
	return s
}

// readiness returns the status of /readyz, and what it says of the log.
func (s serving) readiness(t *testing.T) (status int, log bool) {
	t.Helper()
	res, err := http.Get(s.base + "/readyz")
	require.NoError(t, err)
	defer res.Body.Close()
	var body struct {
		Parts map[string]struct{ OK bool }
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
	return res.StatusCode, body.Parts["log"].OK
}

type answer struct {
	status int
	body   string
	err    error
}

func (s serving) post(path, body string, header http.Header) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		req, err := http.NewRequest(http.MethodPost, s.base+path, strings.NewReader(body)) //nolint:noctx // it ends with the server
		if err != nil {
			got <- answer{err: err}
			return
		}
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			got <- answer{err: err}
			return
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		got <- answer{res.StatusCode, string(raw), err}
	}()
	return got
}

// A call that ends before this process follows the log is answered as soon as it does, and not at the router's deadline. Until
// then, the process is not ready.
func TestACallThatEndsBeforeTheLogIsFollowedIsAnswered(t *testing.T) {
	t.Parallel()
	s := serveWithAHeldTail(t)
	status, log := s.readiness(t)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.False(t, log)

	got := s.post("/v2/models/sim/echo", `{"prompt":"hello"}`, http.Header{})
	pool, err := postgres.Open(t.Context(), s.dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	defer pool.Close()
	require.Eventually(t, func() bool {
		var succeeded bool
		require.NoError(t, pool.QueryRow(t.Context(), `select exists (select from events where type = 'call.succeeded.v1')`).Scan(&succeeded))
		return succeeded
	}, 2*time.Minute, 20*time.Millisecond)
	require.Empty(t, got, "this process cannot know")
	s.release()
	select {
	case a := <-got:
		require.NoError(t, a.err)
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Contains(t, a.body, "hello")
	case <-time.After(time.Minute):
		t.Fatal("the call waits for its deadline")
	}
	require.Eventually(t, func() bool {
		_, log := s.readiness(t)
		return log
	}, time.Minute, 20*time.Millisecond)
}
