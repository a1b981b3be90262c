package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/fault"
)

// crowd begins submissions of one account in a bubble, each of which waits for a slot in a goroutine of its own.
type crowd struct {
	t     *testing.T
	begun func() (end func(), err error)
	ended sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	ends    []func()
	refused []error
}

func newCrowd(t *testing.T, gate *load.Gate) *crowd {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	c := &crowd{t: t, begun: func() (func(), error) { return gate.Begin(ctx, "a") }}
	t.Cleanup(func() {
		leave()
		c.ended.Wait()
	})
	return c
}

// begin begins n submissions, and returns how many have a slot and how many were refused since.
func (c *crowd) begin(n int) (ends []func(), refused int) {
	c.mu.Lock()
	c.ends, c.refused = nil, nil
	c.mu.Unlock()
	for range n {
		c.ended.Go(func() {
			end, err := c.begun()
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				c.ends = append(c.ends, end)
			} else {
				c.refused = append(c.refused, err)
			}
		})
		synctest.Wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.refused {
		require.True(c.t, fault.Is(err, fault.Exhausted), "%v", err)
		require.ErrorContains(c.t, err, "more submissions arrive than can be served")
	}
	return c.ends, len(c.refused)
}

// took has one submission take a time, so that the gate expects a tenth of it of the next ones.
func (c *crowd) took(d time.Duration) {
	ends, _ := c.begin(1)
	<-time.After(d)
	ends[0]()
}

// 48 submissions run at a time. Of one account, 24 more wait in any case, 512 at most, and those for whom the wait is 100 ms.
func TestSubmissionsWaitInBoundedNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took    time.Duration // by a submission
		waiting int
	}{
		"submissions take no time":           {0, 512},
		"submissions take long":              {time.Hour, 24},
		"submissions take 12 ms, on average": {120 * time.Millisecond, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				submissions, _ := job.NewGates(nil)
				c0 := newCrowd(t, submissions)
				c0.took(c.took)
				ends, refused := c0.begin(600)
				require.Len(t, ends, 48)
				require.Equal(t, 600-48-c.waiting, refused)
				require.Equal(t, c.waiting, submissions.Waiting())
			})
		})
	}
}

// startOf returns the intent to start a job of an account.
func startOf(account string, n int64) outbox.Intent {
	in := outbox.New(outbox.StartRunGraph, fmt.Sprint("job-", n), job.Start{RunRef: job.RunRef{Account: account}})
	in.ID = n
	return in
}

// Starts give way while half of the slots are used, and for a quarter of a second after that. Other intents do not wait, nor do those that
// cannot be read.
func TestStartsOfJobsGiveWayToSubmissions(t *testing.T) {
	t.Parallel()
	processors := runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards delivered
		var delivered []int64
		submissions, starts := job.NewGates(func(intents []outbox.Intent) {
			mu.Lock()
			defer mu.Unlock()
			for _, in := range intents {
				delivered = append(delivered, in.ID)
			}
		})
		after := func(d time.Duration) []int64 {
			<-time.After(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			got := delivered
			delivered = nil
			return got
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- starts.Run(ctx) }()
		defer func() {
			stop()
			require.NoError(t, <-ended)
		}()

		c := newCrowd(t, submissions)
		few, _ := c.begin(23)
		require.Len(t, few, 23)
		starts.Notify([]outbox.Intent{startOf("a", 1), startOf("a", 2)})
		require.Equal(t, []int64{1, 2}, after(0), "few submissions")
		one, _ := c.begin(1)
		broken := outbox.Intent{ID: 3, Kind: outbox.StartRunGraph, Payload: json.RawMessage("{")}
		ofAnother := outbox.Intent{ID: 4, Kind: outbox.StartExport, Payload: startOf("a", 4).Payload}
		starts.Notify([]outbox.Intent{startOf("a", 5), startOf("a", 6), startOf("b", 7), startOf("a", 8), startOf("a", 9), broken, ofAnother})
		gap := 80 * time.Millisecond / time.Duration(processors)
		require.Equal(t, []int64{3, 4, 5}, after(gap-1))
		require.Equal(t, []int64{7}, after(1), "the accounts in turn, one in each gap")
		require.Equal(t, []int64{6}, after(gap))
		one[0]()
		require.True(t, submissions.Busy())
		require.Equal(t, []int64{8}, after(gap), "they come back together")
		<-time.After(250*time.Millisecond - gap - 1)
		require.True(t, submissions.Busy())
		<-time.After(1)
		require.False(t, submissions.Busy(), "they do not come back")
	})
	require.Equal(t, processors, runtime.GOMAXPROCS(0))
}
