// Package blobtest is the conformance suite of blob.Store. Every implementation passes Run, including the one in
// memory, so that tests may use it instead of the others.
package blobtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Harness is a store under test. Damage flips a bit of a stored blob without calling the store. Leftovers counts the
// files of unfinished writers; nil = unknown. Huge is the size of the stream in the test of memory; 0 = the store
// keeps blobs in memory.
type Harness struct {
	Store     blob.Store
	Damage    func(t testing.TB, ref blob.Ref)
	Leftovers func(t testing.TB) int
	Huge      int64
	Grace     time.Duration // grace period in the race with a collector; 0 = 20 ms, longer where the backend's times are coarse
}

// Run checks the whole contract on stores that open returns.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Harness){
		"put and read back":                    roundTrip,
		"the same bytes are stored once":       deduplicates,
		"an absent blob is not found":          absent,
		"abort leaves nothing":                 abortLeavesNothing,
		"a canceled commit leaves nothing":     canceledCommit,
		"ranges":                               ranges,
		"a damaged blob is never returned":     damaged,
		"a damaged range is never returned":    damagedRange,
		"concurrent puts of the same bytes":    concurrentPuts,
		"remove keeps a touched blob":          removeSparesTouched,
		"remove races commits":                 removeRacesCommit,
		"walk finds every blob":                walk,
		"a huge stream needs constant memory":  hugeStream,
		"an ended writer takes no bytes":       ended,
		"a relaxed blob reads like any other":  relaxed,
		"the running digest is that of commit": runningSum,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	_, err := rand.Read(data)
	require.NoError(t, err)
	return data
}

func put(t testing.TB, s blob.Store, data []byte) blob.Stored {
	t.Helper()
	stored, err := blob.Put(t.Context(), s, blob.Durable, bytes.NewReader(data))
	require.NoError(t, err)
	return stored
}

func read(t testing.TB, s blob.Store, ref blob.Ref) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func roundTrip(t *testing.T, h Harness) {
	for _, size := range []int{0, 1, 4096, 1<<20 + 7} {
		data := random(t, size)
		stored := put(t, h.Store, data)
		require.Equal(t, blob.Stored{Ref: blob.Sum(data), Size: int64(size), Created: true}, stored)
		got, err := read(t, h.Store, stored.Ref)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
		n, err := h.Store.Stat(t.Context(), stored.Ref)
		require.NoError(t, err)
		require.Equal(t, int64(size), n)
		n, err = blob.Verify(t.Context(), h.Store, stored.Ref)
		require.NoError(t, err)
		require.Equal(t, int64(size), n)
	}
}

func deduplicates(t *testing.T, h Harness) {
	data := random(t, 10_000)
	require.True(t, put(t, h.Store, data).Created)
	require.False(t, put(t, h.Store, data).Created)
	require.Len(t, entries(t, h.Store), 1)
}

func absent(t *testing.T, h Harness) {
	ref := blob.Sum(random(t, 32))
	_, err := h.Store.Open(t.Context(), ref)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = h.Store.Stat(t.Context(), ref)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	require.Equal(t, fault.NotFound, fault.KindOf(h.Store.Touch(t.Context(), ref)))
	gone, err := h.Store.Remove(t.Context(), ref, time.Now())
	require.NoError(t, err)
	require.True(t, gone)
}

func abortLeavesNothing(t *testing.T, h Harness) {
	data := random(t, 300_000)
	w, err := h.Store.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	require.NoError(t, w.Abort(), "a second abort is harmless")
	requireEmpty(t, h)
}

func canceledCommit(t *testing.T, h Harness) {
	for _, size := range []int{0, 1000, blob.SpoolMemory, blob.SpoolMemory + 1, 300_000} {
		canceledCommitOf(t, h, random(t, size))
	}
}

func canceledCommitOf(t *testing.T, h Harness, data []byte) {
	w, err := h.Store.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Commit(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, entries(t, h.Store))
	back, err := io.ReadAll(io.NewSectionReader(w, 0, int64(len(data))))
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back), "the bytes are not lost with the commit")
	require.NoError(t, w.Abort())
	requireEmpty(t, h)
}

func requireEmpty(t testing.TB, h Harness) {
	t.Helper()
	require.Empty(t, entries(t, h.Store))
	if h.Leftovers != nil {
		require.Zero(t, h.Leftovers(t))
	}
}

func ranges(t *testing.T, h Harness) {
	data := random(t, 100_000)
	ref := put(t, h.Store, data).Ref
	r, err := h.Store.Open(t.Context(), ref)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, int64(len(data)), r.Size())
	for _, span := range [][2]int64{{50_000, 60_000}, {0, 10}, {99_999, 100_000}, {10, 99_990}} {
		_, err := r.Seek(span[0], io.SeekStart)
		require.NoError(t, err)
		got := make([]byte, span[1]-span[0])
		_, err = io.ReadFull(r, got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[span[0]:span[1]], got))
	}
	end, err := r.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), end)
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	_, err = r.Seek(-1, io.SeekStart)
	require.Error(t, err)
}

func damaged(t *testing.T, h Harness) {
	data := random(t, 200_000)
	ref := put(t, h.Store, data).Ref
	h.Damage(t, ref)
	got, err := read(t, h.Store, ref)
	require.ErrorIs(t, err, blob.ErrCorrupt)
	require.Less(t, len(got), len(data), "the body must not look complete")
	_, err = blob.Verify(t.Context(), h.Store, ref)
	require.True(t, errors.Is(err, blob.ErrCorrupt) || fault.Is(err, fault.NotFound), "%v", err)
}

func damagedRange(t *testing.T, h Harness) {
	ref := put(t, h.Store, random(t, 200_000)).Ref
	h.Damage(t, ref)
	r, err := h.Store.Open(t.Context(), ref)
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Seek(10, io.SeekStart)
	require.NoError(t, err)
	n, err := r.Read(make([]byte, 100))
	require.Zero(t, n)
	require.ErrorIs(t, err, blob.ErrCorrupt)
	require.ErrorIs(t, r.Check(), blob.ErrCorrupt)
}

func concurrentPuts(t *testing.T, h Harness) {
	data := random(t, 500_000)
	var wg sync.WaitGroup
	created := make(chan bool, 16)
	for range cap(created) {
		wg.Go(func() {
			stored, err := blob.Put(t.Context(), h.Store, blob.Durable, bytes.NewReader(data))
			if err == nil {
				created <- stored.Created
			}
		})
	}
	wg.Wait()
	close(created)
	require.Len(t, created, cap(created), "every put succeeds")
	n := 0
	for c := range created {
		if c {
			n++
		}
	}
	require.GreaterOrEqual(t, n, 1)
	require.Len(t, entries(t, h.Store), 1)
	got, err := read(t, h.Store, blob.Sum(data))
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	if h.Leftovers != nil {
		require.Zero(t, h.Leftovers(t))
	}
}

func removeSparesTouched(t *testing.T, h Harness) {
	data := random(t, 100)
	ref := put(t, h.Store, data).Ref
	before := time.Now().Add(-time.Hour)
	gone, err := h.Store.Remove(t.Context(), ref, before)
	require.NoError(t, err)
	require.False(t, gone, "just committed")
	require.NoError(t, h.Store.Touch(t.Context(), ref))
	gone, err = h.Store.Remove(t.Context(), ref, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.True(t, gone)
	require.Equal(t, fault.NotFound, fault.KindOf(h.Store.Touch(t.Context(), ref)))
}

// removeRacesCommit runs a collector against uploads of the same bytes: a blob that was committed within the grace
// period must exist.
func removeRacesCommit(t *testing.T, h Harness) {
	raceGrace := h.Grace
	raceGrace = cmp.Or(raceGrace, 20*time.Millisecond) // long compared with one put, short enough to end often
	data := random(t, 64)
	ref := blob.Sum(data)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				// the harshest possible collector: it removes every blob older than the grace period
				_, _ = h.Store.Remove(context.WithoutCancel(t.Context()), ref, time.Now().Add(-raceGrace))
			}
		}
	})
	deadline := time.Now().Add(raceTime)
	for time.Now().Before(deadline) {
		started := time.Now()
		_, err := blob.Put(t.Context(), h.Store, blob.Relaxed, bytes.NewReader(data))
		require.NoError(t, err)
		_, err = h.Store.Stat(t.Context(), ref)
		if time.Since(started) < raceGrace/2 { // a file system keeps time in steps of some milliseconds
			require.NoError(t, err, "a blob vanished within its grace period")
		}
	}
	close(stop)
	wg.Wait()
}

// raceTime is the duration of the race.
const raceTime = 300 * time.Millisecond

func entries(t testing.TB, s blob.Store) map[blob.Ref]int64 {
	t.Helper()
	all := map[blob.Ref]int64{}
	require.NoError(t, s.Walk(t.Context(), func(e blob.Entry) error {
		all[e.Ref] = e.Size
		return nil
	}))
	return all
}

func walk(t *testing.T, h Harness) {
	want := map[blob.Ref]int64{}
	for i := range 20 {
		stored := put(t, h.Store, random(t, 10+i))
		want[stored.Ref] = stored.Size
	}
	require.Equal(t, want, entries(t, h.Store))
	stop := errors.New("enough")
	require.ErrorIs(t, h.Store.Walk(t.Context(), func(blob.Entry) error { return stop }), stop)
}

// pattern is a reader of n bytes that does not keep them in memory.
type pattern struct {
	n, at int64
	heap  *heap
}

// heap records the largest heap size.
type heap struct{ peak uint64 }

func (h *heap) look() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.peak = max(h.peak, m.HeapAlloc)
	return m.HeapAlloc
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.at >= p.n {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.n-p.at)]
	for i := range b {
		b[i] = byte(p.at + int64(i)>>3)
	}
	if p.at>>23 != (p.at+int64(len(b)))>>23 {
		p.heap.look()
	}
	p.at += int64(len(b))
	return len(b), nil
}

func hugeStream(t *testing.T, h Harness) {
	if h.Huge == 0 {
		t.Skip("the store holds blobs in memory")
	}
	var seen heap
	before := seen.look()
	stored, err := blob.Put(t.Context(), h.Store, blob.Relaxed, &pattern{n: h.Huge, heap: &seen})
	require.NoError(t, err)
	r, err := h.Store.Open(t.Context(), stored.Ref)
	require.NoError(t, err)
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.Equal(t, h.Huge, n)
	seen.look()
	require.Less(t, seen.peak-min(seen.peak, before), uint64(h.Huge/2), "memory grows with the blob")
}

func ended(t *testing.T, h Harness) {
	w, err := h.Store.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	_, err = w.Write([]byte("x"))
	require.Error(t, err)
	_, err = w.Commit(t.Context())
	require.Error(t, err)
	require.NoError(t, w.Abort())
}

func relaxed(t *testing.T, h Harness) {
	data := random(t, 5000)
	stored, err := blob.Put(t.Context(), h.Store, blob.Relaxed, bytes.NewReader(data))
	require.NoError(t, err)
	got, err := read(t, h.Store, stored.Ref)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.False(t, put(t, h.Store, data).Created)
}

func runningSum(t *testing.T, h Harness) {
	data := random(t, 5000)
	w, err := h.Store.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	defer w.Abort()
	_, err = w.Write(data)
	require.NoError(t, err)
	ref, n := w.Sum()
	require.Equal(t, blob.Sum(data), ref)
	require.Equal(t, int64(5000), n)
	back := make([]byte, 100)
	_, err = w.ReadAt(back, 4000)
	require.NoError(t, err)
	require.Equal(t, data[4000:4100], back)
	stored, err := w.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, ref, stored.Ref)
	_, err = w.ReadAt(back, 0)
	require.Error(t, err)
}
