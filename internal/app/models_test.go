package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// A process whose relay starts no workflow accepts 256 calls. The next one waits until the process stops.
func TestCallsWaitForTheStartsOfWorkflows(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DataDir, cfg.DatabaseURL, cfg.Router.Simulator = t.TempDir(), pgtest.Migrated(t, postgres.Migrate), "http://127.0.0.1:1"
	in, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler), []Role{API})
	require.NoError(t, err)
	t.Cleanup(in.Close)
	ctx, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	service := in.callService(ctx, &group)
	enqueue := func(ctx context.Context) error {
		_, err := service.Enqueue(ctx, call.Invocation{
			Account: account.LocalID, RequestID: string(call.NewID()), Method: "POST", Target: "/v2/models/sim/echo", Model: "sim/echo",
			ContentType: "application/json", Body: []byte(`{"prompt":"a"}`),
		})
		return err
	}
	for range 256 {
		require.NoError(t, enqueue(t.Context()))
	}
	soon, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer leave()
	require.Equal(t, call.ClientDisconnected, call.RefusalOf(enqueue(soon)).Type)
	stop()
	require.NoError(t, enqueue(t.Context()))
	require.NoError(t, group.Wait())
}
