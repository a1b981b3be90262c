//go:build linux

package temporal_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// stall is longer than Temporal waits for a write by default.
const stall = 20 * time.Second

// processes returns the postmaster and its children.
func (m *machine) processes(t *testing.T) []int {
	t.Helper()
	pid := m.postgres.PID()
	all := []int{pid}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	for _, child := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(child)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

// signal sends a signal to all processes of the database.
func signal(all []int, s syscall.Signal) {
	for _, pid := range all {
		_ = syscall.Kill(pid, s) // one may have ended
	}
}

// mostLost bounds the writes that fail because a shard reads its state again. Some do, since clients give up a request after ten
// seconds; if every write of a shard were given up after five, there would be over 1,500.
const mostLost = 600

// A database that answers nothing for a while delays what runs, and little more: Temporal's shards do not fail every task until they
// have read their state again.
func TestAStallOfTheDatabaseCostsItsLength(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	c, err := client.Dial(client.Options{HostPort: m.opts.Address, Logger: noLog{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdkworker.New(c, "stalled", sdkworker.Options{})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Step"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteActivity(ctx, "Step").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Stalled"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	var group sync.WaitGroup
	var ended atomic.Int64
	starting, stop := context.WithCancel(t.Context())
	group.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-starting.Done():
				return
			case <-tick.C:
			}
			group.Go(func() {
				run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("s-%d", n), TaskQueue: "stalled"}, "Stalled")
				if err == nil && run.Get(t.Context(), nil) == nil {
					ended.Add(1)
				}
			})
		}
	})
	require.Eventually(t, func() bool { return ended.Load() > 20 }, 5*time.Minute, 10*time.Millisecond)
	all := m.processes(t)
	signal(all, syscall.SIGSTOP)
	t.Cleanup(func() { signal(all, syscall.SIGCONT) })
	<-time.After(stall)
	before, resumed := ended.Load(), time.Now()
	signal(all, syscall.SIGCONT)
	require.Eventually(t, func() bool { return ended.Load() > before }, 2*time.Minute, 10*time.Millisecond)
	first := time.Since(resumed)
	stop()
	group.Wait()
	log, err := os.ReadFile(m.opts.LogFile)
	require.NoError(t, err)
	lost := strings.Count(string(log), "shard status unknown")
	t.Logf("first after %s, last after %s; shard status unknown: %d; %d bytes of log", first.Round(time.Millisecond),
		time.Since(resumed).Round(time.Millisecond), lost, len(log))
	require.Less(t, lost, mostLost)
}
