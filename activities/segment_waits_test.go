package activities_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// slots are the slots of accounts, of which each job has one.
type slots struct {
	*bench
	t *testing.T

	mu       sync.Mutex // guards all below
	released int
	taken    []job.SegmentWaitingV1 // for what
}

func (s *slots) ReleaseSlot(_ context.Context, ref job.RunRef, _ int64, _ job.Bounds) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released++
	s.append(s.t, job.TypeSlotReleased, job.SlotReleasedV1{Run: ref.Run})
	return true, nil
}

func (s *slots) TakeSlot(_ context.Context, ref job.RunRef, _ job.Bounds, wait job.SegmentWaitingV1) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, wait)
	if s.released > 0 {
		s.append(s.t, job.TypeSlotTaken, job.SlotTakenV1{Run: ref.Run})
	}
	return true, nil
}

func (s *slots) state() (released int, taken []job.SegmentWaitingV1) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released, s.taken
}

// A job whose segment waits for a server gives its slot back, once, and takes one again before the segment runs.
func TestAJobWaitsForAServerWithoutASlot(t *testing.T) {
	t.Parallel()
	f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{})
	f.worker(f.rows)
	s := &slots{bench: f.bench, t: t}
	f.activities.Segments.Slots = s
	f.append(t, job.TypeStarted, job.StartedV1{Run: 1, Execution: "x"})
	plan := f.planned()
	f.rows.row("one", func(s *server.Server) { s.Drained = true })
	done := f.drives(t.Context(), plan)
	require.Eventually(t, func() bool { released, _ := s.state(); return released > 0 }, time.Minute, 10*time.Millisecond)
	_, taken := s.state()
	require.Empty(t, taken, "there is no server")
	f.rows.row("one", func(s *server.Server) { s.Drained = false })
	d := <-done
	require.NoError(t, d.err)
	require.True(t, d.res.Ended)
	released, taken := s.state()
	require.Equal(t, 1, released)
	require.Equal(t, []job.SegmentWaitingV1{{Run: 1, Node: "1", Attempt: 1, Reason: "a ComfyUI server is free"}}, taken)
	var kinds []string
	for _, line := range f.history() {
		if kind, _, _ := strings.Cut(line, "."); strings.HasPrefix(kind, "slot_") || strings.HasPrefix(kind, "segment_") {
			kinds = append(kinds, kind)
		}
	}
	require.Equal(t, []string{"segment_waiting", "slot_released", "slot_taken", "segment_placed", "segment_ended"}, kinds)
}

// forgetful are rows whose removed servers cannot be read.
type forgetful struct{ *rows }

func (forgetful) RemovedClasses(context.Context) (map[string][]byte, []string, error) {
	return nil, nil, errAway
}

// A job of which a server had a class, and has been removed since, has the same plan with the classes of that server. Until they can be
// read it is planned again, and a graph that is not valid with them either is refused.
func TestAJobIsPlannedWithTheClassesOfARemovedServer(t *testing.T) {
	t.Parallel()
	source := job.Source{Prompt: []byte(`{"1":{"class_type":"Own","inputs":{"text":"words"}}}`)}
	f := newFarm(t, source, []string{"1"}, nil, sim.Options{Classes: []*node.Class{own(node.String)}})
	f.worker(f.rows)
	plan := f.planned()
	begin := func() (activities.BeginResult, error) {
		return execute(t.Context(), f, f.activities.Begin, activities.BeginParams{RunRef: f.ref, Execution: "x", Replan: true})
	}
	f.rows.do(func() { f.rows.removed, f.rows.servers = []string{f.rows.servers[0].Digest}, nil })
	f.worker(f.rows)
	again, err := begin()
	require.NoError(t, err)
	require.Equal(t, plan, again)

	f.worker(forgetful{f.rows})
	_, err = begin()
	retried(t, err)
	require.ErrorContains(t, err, errAway.Error())

	f.rows.do(func() { f.rows.removed = nil })
	f.worker(f.rows)
	_, err = begin()
	require.ErrorContains(t, err, "class Own is unknown")

	f.register("one", f.machines[0])
	_, err = begin()
	require.NoError(t, err, "the classes of servers are read again before a graph is refused")
}

// A driver says in its log that it could not renew its lease, unless it ends anyway.
func TestALeaseThatCannotBeRenewedIsLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	var log bytes.Buffer
	b.activities.Log = slog.New(slog.NewTextHandler(&log, nil))
	a := b.attempt(t, &leases{mine: []bool{true}}, server.Lease{Attempt: 1, Fresh: true})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 18*time.Second) // of the bubble: the third renewal is the last
		defer stop()
		driven, lost := context.WithCancelCause(t.Context())
		defer lost(nil)
		a.Renew(ctx, lost)
		require.NoError(t, driven.Err())
	})
	require.Equal(t, 2, strings.Count(log.String(), "segment lease not renewed"), "%s", &log)
}
