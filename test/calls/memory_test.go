package calls_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// A call that waits for its provider keeps no input in memory, and its part of the memory budget is really free.
func TestWaitingCallKeepsNoInputInMemory(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	kept, gone := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), large(kept, gone))
		done <- err
	}()
	<-s.provider.begun
	<-kept
	deadline := time.After(patience)
	for collected := false; !collected; {
		runtime.GC()
		select {
		case <-gone:
			collected = true
		case <-deadline:
			require.Fail(t, "the input is still in memory")
		default:
		}
	}
	require.Empty(t, done, "the call still waits")
	for _, name := range s.provider.names() {
		close(s.provider.gate(name))
	}
	require.NoError(t, <-done)
}

// large returns an invocation with an input of 8 MiB. gone is closed when the input is no longer referenced.
func large(kept, gone chan struct{}) call.Invocation {
	inv := invocation("a", "", "gate large "+strings.Repeat("x", 8<<20))
	runtime.AddCleanup(&inv.Body[0], func(c chan struct{}) { close(c) }, gone)
	inv.OnStored = func() { close(kept) }
	return inv
}

// names returns the names of all requests so far.
func (p *counter) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.charged {
		names = append(names, name)
	}
	return names
}
