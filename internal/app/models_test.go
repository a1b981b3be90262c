package app

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// A process in which 256 workflows of calls are to start has the next call wait.
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
	var started []func(bool)
	for range 256 {
		started = append(started, service.Gate.Take("other"))
	}
	enqueue := func(ctx context.Context, stored func()) error {
		_, err := service.Enqueue(ctx, call.Invocation{
			Account: account.LocalID, RequestID: string(call.NewID()), Method: "POST", Target: "/v2/models/sim/echo", Model: "sim/echo",
			ContentType: "application/json", Body: []byte(`{"prompt":"a"}`), OnStored: stored,
		})
		return err
	}
	gone, leave := context.WithCancel(t.Context())
	err = enqueue(gone, func() {
		service.Gate.Take("other")(true) // another workflow has just started, so that the work does not stand still
		leave()
	})
	require.Equal(t, call.ClientDisconnected, call.RefusalOf(err).Type, "it waits until its client leaves")
	require.NoError(t, enqueue(t.Context(), func() { started[0](true) }))
	stop()
	require.NoError(t, group.Wait())
}
