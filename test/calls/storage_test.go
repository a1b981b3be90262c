package calls_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// begin runs a call in the background.
func (s *deployment) begin(t *testing.T, inv call.Invocation) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		res, err := s.Run(context.WithoutCancel(t.Context()), inv)
		if err == nil && read(t, res) == "" {
			t.Error("an empty answer")
		}
		ended <- err
	}()
	return ended
}

// loseRequest removes the stored request of a call, as a crash of the machine may.
func (s *deployment) loseRequest(t *testing.T, id call.ID) {
	t.Helper()
	c, err := s.calls.Load(t.Context(), "a", id)
	require.NoError(t, err)
	gone, err := s.blobs.Remove(t.Context(), c.Request.Ref, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.True(t, gone)
}

func TestALostRequestIsNotPaidForTwice(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	kill := s.place.spawn(t)
	inv := invocation("a", "k", "gate x")
	ended := s.begin(t, inv)
	require.Equal(t, "x", <-s.provider.begun)
	s.loseRequest(t, call.ID(inv.RequestID))
	kill()
	_, err := s.pool.Exec(t.Context(), `delete from call_workers`) // its death is known at once
	require.NoError(t, err)
	s.workInProcess(t, true)
	require.Equal(t, call.InternalError, refused(t, <-ended).Type)
	c, err := s.calls.Load(t.Context(), "a", call.ID(inv.RequestID))
	require.NoError(t, err)
	require.Equal(t, call.Unknown, c.State)
	_, err = s.Run(t.Context(), invocation("a", "k", "gate x"))
	require.Equal(t, 409, statusOf(refused(t, err)))
	require.Equal(t, 1, s.provider.count("x"))
}

func TestALostRequestThatWasNotSentFreesItsKey(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	inv := invocation("a", "k", "fast x")
	ended := s.begin(t, inv)
	s.until(t, "the call is admitted", func() bool {
		c, err := s.calls.Load(t.Context(), "a", call.ID(inv.RequestID))
		return err == nil && c.State == call.Admitted
	})
	s.loseRequest(t, call.ID(inv.RequestID))
	s.workInProcess(t, true)
	require.Equal(t, call.InternalError, refused(t, <-ended).Type)
	_, err := s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.NoError(t, err)
	require.Equal(t, 1, s.provider.count("x"))
}

func TestAnAcceptedCallIsCollectedWithoutItsRequest(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.work(t)
	inv := invocation("a", "k", "hold x")
	ended := s.begin(t, inv)
	s.until(t, "the provider has accepted it", func() bool {
		c, err := s.calls.Load(t.Context(), "a", call.ID(inv.RequestID))
		return err == nil && c.State == call.Running
	})
	s.loseRequest(t, call.ID(inv.RequestID))
	close(s.provider.gate("x"))
	require.NoError(t, <-ended)
}

// diskState says what a test's disk has no space for.
type diskState int32

const (
	spacious   diskState = iota
	noWrites             // bytes
	noCommits            // complete blobs
	belowSpace           // anything new: less than the reserve is free
)

// fillable is a blob store on a disk that a test fills.
type fillable struct {
	blob.Store
	state   atomic.Int32
	refused atomic.Int32
}

func (f *fillable) set(state diskState) { f.refused.Store(0); f.state.Store(int32(state)) }

func (f *fillable) check(state diskState) error {
	if f.state.Load() != int32(state) {
		return nil
	}
	f.refused.Add(1)
	return fault.New(fault.Exhausted, fault.CodeDiskFull, "no space left to store files")
}

// space fails as the check of the disk's reserve does.
func (f *fillable) space() error { return f.check(belowSpace) }

func (f *fillable) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	w, err := f.Store.Create(ctx, d)
	return fillableWriter{w, f}, err
}

type fillableWriter struct {
	blob.Writer
	disk *fillable
}

// Write writes the first bytes, as a disk does that becomes full.
func (w fillableWriter) Write(p []byte) (int, error) {
	full := w.disk.check(noWrites)
	if full == nil {
		return w.Writer.Write(p)
	}
	n, err := w.Writer.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	return n, full
}

func (w fillableWriter) Commit(ctx context.Context) (blob.Stored, error) {
	if err := w.disk.check(noCommits); err != nil {
		return blob.Stored{}, err
	}
	return w.Writer.Commit(ctx)
}

// onDisk runs a worker with a disk that the test fills, and so many bytes of memory for answers.
func (s *deployment) onDisk(t *testing.T, memory int64) *fillable {
	t.Helper()
	disk := &fillable{Store: s.blobs}
	models := s.place.models(s.parts, withStorage(disk, disk.space, memory))
	s.workWith(t, models, true)
	return disk
}

// An answer that the disk does not take waits in memory until there is space, and no call begins while such answers have
// half of the budget.
func TestAFullDiskLosesNoAnswer(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]diskState{"write": noWrites, "commit": noCommits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDeployment(t, openTiers)
			disk := s.onDisk(t, 20) // bytes: an answer has 15
			_, err := s.Run(t.Context(), invocation("a", "", "fast warm"))
			require.NoError(t, err)
			inv := invocation("a", "k", "gate x")
			ended := s.begin(t, inv)
			require.Equal(t, "x", <-s.provider.begun)
			disk.set(state)
			close(s.provider.gate("x"))
			s.until(t, "the answer is tried again", func() bool { return disk.refused.Load() > 2 })
			_, err = s.Run(t.Context(), invocation("a", "other", "fast y"))
			r := call.RefusalOf(err)
			require.Equal(t, call.ServiceUnavailable, r.Type)
			require.Positive(t, r.RetryAfter)
			require.Zero(t, s.provider.count("y"), "its answer could not be kept")
			disk.set(spacious)
			require.NoError(t, <-ended)
			res, err := s.Run(t.Context(), invocation("a", "k", "gate x"))
			require.NoError(t, err)
			require.Equal(t, answerTo("x"), read(t, res))
			require.True(t, res.Replayed)
			_, err = s.Run(t.Context(), invocation("a", "other", "fast y"))
			require.NoError(t, err, "the memory is free again")
			require.Equal(t, 1, s.provider.count("x"))
		})
	}
}

// A complete answer waits in its staged file; one that the disk takes in part is lost beyond the memory budget.
func TestAnAnswerBeyondTheMemoryBudget(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]diskState{"write": noWrites, "commit": noCommits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDeployment(t, openTiers)
			disk := s.onDisk(t, 10) // bytes: an answer has 15
			ended := s.begin(t, invocation("a", "k", "gate x"))
			require.Equal(t, "x", <-s.provider.begun)
			disk.set(state)
			close(s.provider.gate("x"))
			if state == noWrites {
				require.Contains(t, refused(t, <-ended).Detail, "could not store the answer")
				return
			}
			s.until(t, "the answer is tried again", func() bool { return disk.refused.Load() > 2 })
			disk.set(spacious)
			require.NoError(t, <-ended)
			res, err := s.Run(t.Context(), invocation("a", "k", "gate x"))
			require.NoError(t, err)
			require.Equal(t, answerTo("x"), read(t, res))
			require.Equal(t, 1, s.provider.count("x"))
		})
	}
}

// A generation that was accepted is collected when the disk has space again.
func TestAFullDiskEndsNoGeneration(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]diskState{"write": noWrites, "commit": noCommits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDeployment(t, openTiers)
			disk := s.onDisk(t, 0)
			q, err := s.Enqueue(t.Context(), invocation("a", "", "hold x"))
			require.NoError(t, err)
			s.awaitState(t, "a", q.Call, func(c call.Call) bool { return c.State == call.Running })
			disk.set(state)
			close(s.provider.gate("x"))
			s.until(t, "the result is asked for again", func() bool { return disk.refused.Load() > 1 })
			disk.set(spacious)
			s.awaitEnd(t, "a", q.Call)
			res, _, err := s.Result(t.Context(), call.Handle{Account: "a", Call: q.Call})
			require.NoError(t, err)
			require.Equal(t, answerTo("x"), read(t, res))
		})
	}
}

// The disk's reserve is for accepted work, so its result is asked for and stored.
func TestAGenerationIsCollectedIntoTheReserve(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	disk := s.onDisk(t, 0)
	q, err := s.Enqueue(t.Context(), invocation("a", "", "hold x"))
	require.NoError(t, err)
	s.awaitState(t, "a", q.Call, func(c call.Call) bool { return c.State == call.Running })
	disk.set(belowSpace)
	close(s.provider.gate("x"))
	s.awaitEnd(t, "a", q.Call)
	res, _, err := s.Result(t.Context(), call.Handle{Account: "a", Call: q.Call})
	require.NoError(t, err)
	require.Equal(t, answerTo("x"), read(t, res))
}

func TestNothingIsSentWithoutSpaceForItsAnswer(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	disk := s.onDisk(t, 0)
	_, err := s.Run(t.Context(), invocation("a", "", "fast warm")) // until the worker's heartbeat arrives, workflows send
	require.NoError(t, err)
	disk.set(belowSpace)
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, call.ServiceUnavailable, call.RefusalOf(err).Type)
	require.Positive(t, call.RefusalOf(err).RetryAfter)
	q, err := s.Enqueue(t.Context(), invocation("a", "", "fast y"))
	require.NoError(t, err)
	s.until(t, "the queued call was tried", func() bool { return disk.refused.Load() > 1 })
	require.Zero(t, s.provider.count("x")+s.provider.count("y"))
	disk.set(spacious)
	s.awaitEnd(t, "a", q.Call)
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.NoError(t, err, "the refusal has claimed no key")
}
