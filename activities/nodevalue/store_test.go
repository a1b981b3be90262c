package nodevalue_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// Two runs of the same graph make the same values; the end of one must not cost the other its own.
func TestAJobThatEndsForgetsItsOwnValuesOnly(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]int64{"from memory": 1 << 20, "from the store": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, text := nodevalue.New(mem.New(), budget, 1<<20, time.Minute), strings.Repeat("long enough for a blob ", 50)
			ended, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			goesOn, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			require.NoError(t, values.Forget(t.Context(), []string{ended}))
			got, err := values.Get(t.Context(), goesOn)
			require.NoError(t, err)
			require.Equal(t, text, got)
			_, err = values.Get(t.Context(), ended)
			require.Equal(t, fault.CodeValueMissing, fault.CodeOf(err))
		})
	}
}

// What a node gave is kept for later jobs and may be handed on within its own, where it is the same blob.
func TestCachedValuesOutliveTheirJob(t *testing.T) {
	t.Parallel()
	values, owner, text := nodevalue.New(mem.New(), 0, 1<<20, time.Minute), job.NewID(), strings.Repeat("long enough for a blob ", 50)
	kept, err := values.Put(t.Context(), owner, text)
	require.NoError(t, err)
	other, err := values.Put(t.Context(), owner, text+"!")
	require.NoError(t, err)
	inline, err := values.Put(t.Context(), owner, "short")
	require.NoError(t, err)
	require.Equal(t, inline, nodevalue.Cached(inline), "a short value is its own reference")
	cached := nodevalue.Cached(kept)
	require.Equal(t, values.Size(t.Context(), kept), values.Size(t.Context(), cached))
	require.Greater(t, values.Size(t.Context(), cached), int64(len(text)))
	require.Less(t, values.Size(t.Context(), cached), int64(len(text)+100))
	require.Zero(t, values.Size(t.Context(), inline))
	require.NoError(t, values.Forget(t.Context(), []string{kept, other, cached}))
	require.True(t, values.Has(t.Context(), []string{cached, inline}))
	require.False(t, values.Has(t.Context(), []string{other}))
	require.NoError(t, values.ForgetCached(t.Context(), []string{cached}))
	require.False(t, values.Has(t.Context(), []string{kept}))
}

// A service at rest gives the memory of its last values back; they are read from the store when a job needs them.
func TestAValueLeavesMemoryAfterAWhile(t *testing.T) {
	t.Parallel()
	blobs := &counting{Store: mem.New()}
	values, text := nodevalue.New(blobs, 1<<20, 1<<20, 20*time.Millisecond), strings.Repeat("long enough for a blob ", 50)
	ref, err := values.Put(t.Context(), job.NewID(), text)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		got, err := values.Get(t.Context(), ref)
		return err == nil && got == text && blobs.opened.Load() > 0
	}, time.Minute, 5*time.Millisecond)
	kept := nodevalue.New(blobs, 1<<20, 1<<20, time.Minute)
	for range 2 {
		before := blobs.opened.Load()
		_, err := kept.Get(t.Context(), ref)
		require.NoError(t, err)
		_, err = kept.Get(t.Context(), ref)
		require.NoError(t, err)
		require.LessOrEqual(t, blobs.opened.Load(), before+1, "the second one is from memory")
	}
}

// A value or document that the store does not take is an error, whenever the store says so.
func TestWhatIsNotStoredIsAnError(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"create", "write", "commit"} {
		values := nodevalue.New(&full{Store: mem.New(), at: at}, 1<<20, 1<<20, time.Minute)
		_, err := values.Put(t.Context(), job.NewID(), strings.Repeat("long enough for a blob ", 50))
		require.ErrorIs(t, err, errFull, at)
		_, err = values.PutDoc(t.Context(), job.NewID(), []byte("a document"))
		require.ErrorIs(t, err, errFull, at)
	}
}

var errFull = errors.New("no space left")

// full is a store without space at a step.
type full struct {
	blob.Store
	at string
}

func (s *full) Create(ctx context.Context, how blob.Durability) (blob.Writer, error) {
	if s.at == "create" {
		return nil, errFull
	}
	w, err := s.Store.Create(ctx, how)
	return &fullWriter{w, s.at}, err
}

type fullWriter struct {
	blob.Writer
	at string
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.at == "write" {
		return 0, errFull
	}
	return w.Writer.Write(p)
}

func (w *fullWriter) Commit(ctx context.Context) (blob.Stored, error) {
	if w.at == "commit" {
		return blob.Stored{}, errFull
	}
	return w.Writer.Commit(ctx)
}

// counting counts the reads of a store.
type counting struct {
	blob.Store
	opened atomic.Int32
}

func (s *counting) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	s.opened.Add(1)
	return s.Store.Open(ctx, ref)
}
