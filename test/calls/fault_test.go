package calls_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/worker"
)

// flaky fails at random, before or after an operation.
func flaky[T any](do func() (T, error)) (T, error) {
	var none T
	away := fault.New(fault.Unavailable, "", "away for a moment")
	switch rand.IntN(5) { // randomness of a test
	case 0:
		return none, away
	case 1:
		if _, err := do(); err != nil {
			return none, err
		}
		return none, away // done, but the result is lost
	}
	return do()
}

type flakyCalls struct{ modelcall.Calls }

func (f flakyCalls) Load(ctx context.Context, account string, id call.ID) (call.Call, error) {
	return flaky(func() (call.Call, error) { return f.Calls.Load(ctx, account, id) })
}

func (f flakyCalls) End(ctx context.Context, e call.Ending) (call.Ended, error) {
	return flaky(func() (call.Ended, error) { return f.Calls.End(ctx, e) })
}

type flakyEvents struct{ eventlog.Store }

func (f flakyEvents) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	return flaky(func() ([]eventlog.Recorded, error) { return f.Store.Append(ctx, a) })
}

// TestFailuresAtEveryStepOfACall makes each step of a call fail on its own: before the event, between event and
// request, between request and answer, and after the answer. The caller gets the provider's answer.
func TestFailuresAtEveryStepOfACall(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	models := modelcall.New(modelcall.Deps{
		Events: flakyEvents{s.events}, Types: s.types, Calls: flakyCalls{s.calls}, Blobs: s.blobs, Provider: wire{s.place.Provider},
		Hosts: noHosts{}, Tiers: openTiers, Worker: uuid.NewString(), Log: s.log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- worker.NewModels(s.client, models, s.calls, s.log, worker.Options{TaskQueue: "test"}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-stopped)
	})
	const keys = 60
	var callers sync.WaitGroup
	unknown := make(chan string, keys)
	for i := range keys {
		how := []string{"fast", "async", "host", "refuse"}[i%4]
		name := fmt.Sprintf("f%d", i)
		callers.Go(func() {
			for {
				res, err := s.Run(context.WithoutCancel(t.Context()), invocation("a", name, how+" "+name))
				r := call.RefusalOf(err)
				switch {
				case err == nil:
					if got := read(t, res); got != answerTo(name) {
						t.Errorf("%s: %q", name, got)
					}
					return
				case again(err):
					<-time.After(20 * time.Millisecond)
				case how == "refuse" && r.Type == call.PolicyViolation:
					return
				case r.Type == call.InternalError: // the event was recorded and nothing was sent, but this cannot be known
					unknown <- name
					return
				default:
					t.Errorf("%s %s: %v", how, name, err)
					return
				}
			}
		})
	}
	callers.Wait()
	close(unknown)
	given := map[string]bool{}
	for name := range unknown {
		given[name] = true
		require.Zero(t, s.provider.count(name), "%s was sent, and its answer is lost", name)
	}
	for i := range keys {
		name := fmt.Sprintf("f%d", i)
		if !given[name] {
			require.Equal(t, 1, s.provider.count(name), name)
		}
	}
	require.Less(t, len(given), keys/4)
}
