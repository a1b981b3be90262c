package placement_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// table counts what is asked of the table of servers.
type table struct {
	placement.Store
	servers atomic.Pointer[server.Server] // the only one; nil = there is none
	reads   atomic.Int64
	claims  atomic.Int64
}

func (s *table) Servers(context.Context) ([]*server.Server, error) {
	s.reads.Add(1)
	if one := s.servers.Load(); one != nil {
		return []*server.Server{one}, nil
	}
	return nil, nil
}

func (s *table) Loads(context.Context) (map[server.ID]map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // no server was ever loaded
}

func (s *table) Claim(context.Context, time.Duration) ([]server.ID, error) {
	s.claims.Add(1)
	return nil, nil
}

func (s *table) Expire(context.Context) error               { return nil }
func (s *table) Sweep(context.Context, time.Duration) error { return nil }
func (s *table) ForgetClasses(context.Context) error        { return nil }

// Without servers nothing is claimed. One that is registered while the notice of it is lost is probed all the same.
func TestServerIsProbedAlthoughItsNotificationIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		pool := placement.New(store, nil, nil, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go pool.Run(ctx) // ends with ctx
		go pool.Watch(ctx)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		require.Zero(t, store.claims.Load())
		require.LessOrEqual(t, store.reads.Load(), int64(6), "looks of one minute")

		store.servers.Store(&server.Server{ID: "one"})
		time.Sleep(17 * time.Second) //nolint:forbidigo // of the bubble's clock
		require.NotZero(t, store.claims.Load())
	})
}
