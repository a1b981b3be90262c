package serverstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// A process that is stopped in the middle of a round, and continues after another driver has run the segment, changes nothing.
func TestLateWaitOfALostDriverIsNotAdded(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	id := newJob()
	first := r.lease(id, "first")
	again := wait(id, "first") // the attempt failed, and its driver is lost before the round adds its wait
	again.Attempt, again.Fence = 2, first.Fence
	second, err := r.Retake(t.Context(), first.Key, "second")
	require.NoError(t, err)
	_, err = r.Record(t.Context(), second, eventlog.Append{}, json.RawMessage(`{}`))
	require.NoError(t, err)
	r.queue(again)
	waits, err := r.Waits(t.Context())
	require.NoError(t, err)
	require.Empty(t, waits)
	again.Fence = second.Fence // of a driver that knows the last lease: its values were lost, so the segment runs again
	require.Len(t, r.round(server.Round{Holder: "first", Waits: []server.Wait{again}}), 1)
}

// A driver that takes a lease over ends the wait of the driver before it, also if a round has read it.
func TestWaitOfADriverWhoseLeaseIsTakenOverGetsNoServer(t *testing.T) {
	t.Parallel()
	for name, inRound := range map[string]bool{"before a round": false, "in a round": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t)
			s := r.add("http://one:8188")
			id := newJob()
			first := r.lease(id, "first")
			again := wait(id, "first")
			again.Attempt, again.Fence = 2, first.Fence
			r.queue(again)
			var second server.Lease
			retake := func() {
				var err error
				second, err = r.Retake(t.Context(), first.Key, "second")
				require.NoError(t, err)
			}
			if !inRound {
				retake()
			}
			made, mine, err := r.Place(t.Context(), server.Round{Holder: "first"}, func(_ []*server.Server, waiting []*server.Wait,
				_ map[string]time.Duration,
			) (placed []server.Placement, _ []server.Unplaced) {
				if inRound {
					retake()
				}
				for _, w := range waiting {
					placed = append(placed, server.Placement{Wait: w, Server: s})
				}
				return placed, nil
			})
			require.NoError(t, err)
			require.True(t, mine)
			require.Empty(t, made)
			held, err := r.OfSegments(t.Context(), []server.Key{first.Key})
			require.NoError(t, err)
			require.Len(t, held, 1)
			require.Equal(t, second.Fence, held[0].Fence)
		})
	}
}

// A round that a stopped process continues may name a lost driver as the one that waits. The heartbeat of the living one corrects it.
func TestHeartbeatReclaimsAWait(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.add("http://one:8188")
	mine := wait(newJob(), "living")
	r.queue(mine)
	late := mine
	late.Holder = "lost"
	r.queue(late)
	gone := server.Key{Job: newJob(), Run: 1}
	kept, err := r.KeepWaiting(t.Context(), "living", []server.Key{mine.Key, gone})
	require.NoError(t, err)
	require.Equal(t, []server.Key{mine.Key}, kept)
	made := r.place()
	require.Len(t, made, 1)
	require.Equal(t, "living", made[0].Holder)
}
