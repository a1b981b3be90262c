package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// leased has the lease of one segment that has run. Anything but reading it is a panic.
type leased struct {
	placement.Store
	result string
}

func (l leased) Retake(context.Context, server.Key, string) (server.Lease, error) {
	return server.Lease{Attempt: 1, Result: json.RawMessage(l.result)}, nil
}

// A segment whose result was stored has run. A driver that cannot read the result does not run it again, and does not take
// it for one without values either.
func TestUnreadableResultOfASegmentIsAnError(t *testing.T) {
	t.Parallel()
	g := &activities.Graph{}
	for _, result := range []string{`{"values":{"of":"a newer version"}}`, `"text"`} {
		_, err := g.RunEmptySegment(t.Context(), leased{result: result})
		require.ErrorContains(t, err, "read the result of a segment", result)
	}
	values, err := g.RunEmptySegment(t.Context(), leased{result: `{}`})
	require.NoError(t, err)
	require.Empty(t, values)
}

// lost has the lease of one segment that must run again, and stops its driver.
type lost struct {
	leased
	stop context.CancelCauseFunc
	left server.Wait // that was taken out of the queue

	dropped int // leases
}

func (l *lost) Drop(context.Context, server.Lease) error {
	l.dropped++
	return nil
}

func (l *lost) Retake(context.Context, server.Key, string) (server.Lease, error) {
	l.stop(activities.ErrStopped)
	lease := server.Lease{Attempt: 3, Fence: 7}
	if l.result != "" {
		lease.Result = json.RawMessage(l.result)
	}
	return lease, nil
}

func (l *lost) StopWaiting(_ context.Context, w server.Wait) error {
	l.left = w
	return nil
}

// threeSlots are the limits of an account.
type threeSlots struct{}

func (threeSlots) Bounds(context.Context, string) (job.Bounds, error) {
	return job.Bounds{Slots: 3}, nil
}

// A segment whose values or whose server are gone waits for a server again, for an attempt after the last, with the share of its account.
func TestASegmentRunsAgainAfterALoss(t *testing.T) {
	t.Parallel()
	for cause, result := range map[string]string{
		"its values were lost": `{"values":["blake3:` + strings.Repeat("07", 32) + `"]}`, "its server was removed": "",
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		store := &lost{leased: leased{result: result}, stop: stop}
		g := &activities.Graph{Deps: activities.Deps{Values: nodevalue.New(mem.New(), 1<<20, 1<<20, time.Minute), Tiers: threeSlots{}}}
		_, err := g.RunEmptySegment(ctx, store)
		require.ErrorIs(t, err, activities.ErrStopped)
		require.Equal(t, 4, store.left.Attempt, cause)
		require.EqualValues(t, 7, store.left.Fence, cause)
		require.Equal(t, cause, store.left.Cause)
		require.Equal(t, 3, store.left.Weight)
	}
}

// retaking cannot say whether a segment has a lease.
type retaking struct {
	placement.Store
	err error
}

func (r retaking) Retake(context.Context, server.Key, string) (server.Lease, error) {
	return server.Lease{}, r.err
}

// The activity that plans a run leaves its first segment to another one after a moment, and records the start of the run although it
// may have lost the lease by then. An error is one of the begin.
func TestTheFirstSegmentIsHandedOver(t *testing.T) {
	t.Parallel()
	for err, recorded := range map[error]bool{activities.ErrFirstSegmentTime: true, errAway: false} {
		b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
		b.activities.Tiers = noLimits{}
		got := b.activities.DriveFirst(t.Context(), retaking{err: err}, b.ref)
		_, began := b.last(t).(job.StartedV1)
		require.Equal(t, recorded, began)
		if recorded {
			require.NoError(t, got)
		} else {
			require.ErrorIs(t, got, err)
		}
	}
}

// busy is a store of servers of which none is free.
type busy struct{ placement.Store }

func (busy) Place(context.Context, server.Round, server.Decide) ([]server.Lease, bool, error) {
	return nil, true, nil
}

func (busy) KeepWaiting(_ context.Context, _ string, keys []server.Key) ([]server.Key, error) {
	return keys, nil
}

func (busy) WhyWaiting(context.Context, server.Key) (string, int, error) { return "", 0, nil }

// The activity that plans a run does not wait for a server: another one does if none is free.
func TestTheFirstSegmentDoesNotWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	require.ErrorIs(t, b.activities.PlaceFirst(ctx, busy{}, b.ref), activities.ErrFirstSegmentTime)
}

// queued has no server for a segment, and takes long to say why.
type queued struct {
	placement.Store
	asked    chan struct{}
	answered atomic.Bool
	left     atomic.Int64 // entries that were taken out of the queue
}

func (q *queued) StopWaiting(context.Context, server.Wait) error {
	q.left.Add(1)
	return nil
}

func (*queued) Retake(context.Context, server.Key, string) (server.Lease, error) {
	return server.Lease{}, fault.New(fault.NotFound, "", "the segment has no lease")
}

func (q *queued) WhyWaiting(context.Context, server.Key) (string, int, error) {
	close(q.asked)
	<-time.After(300 * time.Millisecond)
	q.answered.Store(true)
	return "", 0, nil
}

// The reason for a wait is recorded before the wait returns.
//
// The entry of a canceled job leaves the queue. That of a job whose worker stops stays, for the next worker.
func TestAWaitReturnsAfterItsGoroutines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		left  int64
	}{
		"its worker stops": {nil, 0}, "it was canceled": {activities.ErrStopped, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			store := &queued{asked: make(chan struct{})}
			go func() {
				<-store.asked
				stop(c.cause)
			}()
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			types := eventlogtest.Registry(t)
			g := &activities.Graph{Deps: activities.Deps{Classes: classes, Types: types, Events: eventlogtest.NewMemory(types)}}
			_, err = g.RunEmptySegment(ctx, store)
			require.Error(t, err)
			require.Error(t, ctx.Err())
			require.True(t, store.answered.Load())
			require.Equal(t, c.left, store.left.Load())
		})
	}
}
