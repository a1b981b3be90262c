package placement_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// abandoned is a table with one server, on which a run that has ended has a prompt.
type abandoned struct {
	table
	forgotten atomic.Bool
}

func (*abandoned) GiveUpRun(context.Context, job.RunRef) ([]server.ID, error) {
	return []server.ID{"one"}, nil
}

func (*abandoned) Orphans(context.Context, server.ID) ([]string, error) { return []string{"p"}, nil }

func (s *abandoned) ForgetOrphan(context.Context, server.ID, string) error {
	s.forgotten.Store(true)
	return nil
}

// slowServer takes a while to cancel a prompt.
type slowServer struct {
	comfyui.Server
	takes     time.Duration
	canceling *atomic.Int32
	runs      *atomic.Int32 // how often the prompt is found running
}

func (s slowServer) Cancel(ctx context.Context, _ comfyui.PromptID) (bool, error) {
	s.canceling.Add(1)
	defer s.canceling.Add(-1)
	select {
	case <-time.After(s.takes):
		return s.runs.Add(-1) >= 0, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func TestPromptsOfAnEndedRunAreCanceledByTheWatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes    time.Duration
		canceled bool
	}{
		"a server that answers":       {100 * time.Millisecond, true},
		"a server that does not":      {time.Hour, false},
		"a process that ends earlier": {1500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, canceling := &abandoned{}, &atomic.Int32{}
				store.servers.Store(&server.Server{ID: "one"})
				runs := &atomic.Int32{}
				runs.Store(1)
				dial := func(*server.Server) (comfyui.Server, error) {
					return slowServer{takes: c.takes, canceling: canceling, runs: runs}, nil
				}
				pool := placement.New(store, dial, nil, "me", placement.Options{Log: slog.New(slog.DiscardHandler)})
				_, err := pool.Refresh(t.Context())
				require.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				began := time.Now()
				go func() {
					if err := pool.GiveUpRun(ctx, job.RunRef{}); err != nil {
						t.Error(err)
					}
					if time.Since(began) > 0 {
						t.Error("the end of a run waits for a server")
					}
				}()
				require.NoError(t, pool.Watch(ctx))
				require.Zero(t, canceling.Load(), "Watch waits for its cancels")
				require.Equal(t, c.canceled, store.forgotten.Load())
			})
		})
	}
}
