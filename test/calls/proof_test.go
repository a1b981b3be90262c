package calls_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

const (
	proofKeys    = 500
	proofCallers = 4 // concurrent callers of each key: two thousand calls in all, and their retries
	proofWorkers = 2
	proofKills   = 12
)

// TestOneChargeForAKeyWhateverCrashes sends concurrent calls with the same keys to a counting provider, while the
// processes that dispatch them are killed and restarted.
func TestOneChargeForAKeyWhateverCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: processes that died are given up after seconds")
	}
	s := newDeployment(t, openTiers)
	stop, killed := make(chan struct{}), make(chan int)
	go func() { killed <- s.crash(t, stop) }()
	sweeping, endSweep := context.WithCancel(t.Context())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		sweeper := s.sweeper()
		sweeper.Every = time.Second
		_ = sweeper.Run(sweeping)
	}()
	outcomes := make([]*outcome, proofKeys)
	var callers sync.WaitGroup
	sem := make(chan struct{}, 64) // bounds the concurrent connections of a small machine
	for i := range proofKeys {
		outcomes[i] = &outcome{name: fmt.Sprintf("k%d", i), how: []string{"slow", "async", "fast"}[i%3]}
		for range proofCallers {
			callers.Go(func() {
				sem <- struct{}{}
				defer func() { <-sem }()
				s.callUntilAnswered(t, outcomes[i])
			})
		}
	}
	callers.Wait()
	close(stop)
	kills := <-killed
	endSweep()
	<-swept
	answered, unknown := 0, 0
	for _, o := range outcomes {
		require.LessOrEqual(t, s.provider.count(o.name), 1, "key %s was charged more than once", o.name)
		a, u := o.check(t, s)
		answered, unknown = answered+a, unknown+u
	}
	t.Logf("%d keys × %d callers, %d kills: %d answered, %d unknown", proofKeys, proofCallers, kills, answered, unknown)
	require.Equal(t, proofKeys, answered+unknown)
	require.Positive(t, kills)
	require.Greater(t, answered, proofKeys*3/4)
}

// crash keeps workers running and kills them, one after the other.
func (s *deployment) crash(t *testing.T, stop <-chan struct{}) int {
	var kill [proofWorkers]func()
	for i := range kill {
		kill[i] = s.place.spawn(t)
	}
	kills := 0
	for i := 0; ; i = (i + 1) % proofWorkers {
		pause := time.NewTimer(400*time.Millisecond + time.Duration(rand.IntN(1200))*time.Millisecond) // a test's pace
		select {
		case <-stop:
			for _, k := range kill {
				k()
			}
			return kills
		case <-pause.C:
		}
		if kills < proofKills {
			kill[i]()
			kill[i] = s.place.spawn(t)
			kills++
		}
	}
}

// outcome collects the answers to the callers of one key.
type outcome struct {
	name, how string
	mu        sync.Mutex // guards all below
	answers   []string
	refusals  []*call.Refusal
}

// callUntilAnswered calls like a client: it repeats a call with the same key while the answer asks for it, and hangs
// up now and then.
func (s *deployment) callUntilAnswered(t *testing.T, o *outcome) {
	for {
		ctx, hangUp := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(20_000))*time.Millisecond) // a caller's patience
		res, err := s.Run(ctx, invocation("a", o.name, o.how+" "+o.name))
		hangUp()
		r := call.RefusalOf(err)
		if err != nil && (again(err) || r.Type == call.ClientDisconnected || r.Type == call.ServiceUnavailable) {
			select {
			case <-time.After(50 * time.Millisecond): // the pace of an impatient client
				continue
			case <-t.Context().Done():
				return
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if err != nil {
			o.refusals = append(o.refusals, r)
			return
		}
		o.answers = append(o.answers, read(t, res))
		return
	}
}

// check requires that all callers of a key got the same answer, and that the log has this answer.
func (o *outcome) check(t *testing.T, s *deployment) (answered, unknown int) {
	t.Helper()
	require.Len(t, o.answers, proofCallers-len(o.refusals), o.name)
	rec, found, err := s.calls.Key(t.Context(), "a", o.name)
	require.NoError(t, err)
	require.True(t, found)
	c, err := s.calls.Load(t.Context(), "a", rec.Call)
	require.NoError(t, err)
	switch c.State {
	case call.Succeeded:
		require.Equal(t, strings.Repeat(answerTo(o.name)+"\n", len(o.answers)),
			strings.Join(o.answers, "\n")+strings.Repeat("\n", min(1, len(o.answers))))
		require.Empty(t, o.refusals, "an answered result was not given: %s", o.name)
		return 1, 0
	case call.Unknown:
		require.Empty(t, o.answers)
		return 0, 1
	default:
		t.Fatalf("key %s: call %s ended %s: %+v", o.name, c.ID, c.State, c.Failure)
	}
	return 0, 0
}
