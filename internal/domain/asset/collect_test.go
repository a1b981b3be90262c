package asset_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// counted are references in memory: how many assets use each blob.
type counted struct {
	mu sync.Mutex
	n  map[blob.Ref]int
}

func (c *counted) add(ref blob.Ref, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[ref] += n
}

func (c *counted) Referenced(_ context.Context, refs []blob.Ref) (map[blob.Ref]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	needed := map[blob.Ref]bool{}
	for _, ref := range refs {
		needed[ref] = c.n[ref] > 0
	}
	return needed, nil
}

func TestCollectRemovesWhatIsOldAndUnreferenced(t *testing.T) {
	t.Parallel()
	blobs, refs := mem.New(), &counted{n: map[blob.Ref]int{}}
	put := func(text string) blob.Ref {
		ref, err := blob.PutBytes(t.Context(), blobs, []byte(text))
		require.NoError(t, err)
		return ref
	}
	kept, dropped := put("kept"), put("dropped")
	refs.add(kept, 1)
	later := time.Now()
	collector := asset.Collector{Blobs: blobs, References: refs, Now: func() time.Time { return later }}
	got, err := collector.Collect(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, asset.Collection{Examined: 2}, got, "both are within the grace period")
	later = later.Add(2 * time.Hour)
	var reported []asset.Collection
	got, err = collector.Collect(t.Context(), func(c asset.Collection) { reported = append(reported, c) })
	require.NoError(t, err)
	require.Equal(t, asset.Collection{Examined: 2, Removed: 1, Bytes: 7}, got)
	require.Equal(t, []asset.Collection{got}, reported, "few blobs are one batch")
	_, err = blobs.Stat(t.Context(), kept)
	require.NoError(t, err)
	_, err = blobs.Stat(t.Context(), dropped)
	require.Error(t, err)
}

// A walk asks which blobs are referenced for many at once, and for each once.
func TestCollectionAsksInBatches(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	var reports []int
	for i := range 501 {
		_, err := blob.PutBytes(t.Context(), blobs, binary.BigEndian.AppendUint16(nil, uint16(i)))
		require.NoError(t, err)
	}
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	collector := asset.Collector{Blobs: blobs, References: asset.Unreferenced{}, Now: later}
	got, err := collector.Collect(t.Context(), func(c asset.Collection) { reports = append(reports, c.Removed) })
	require.NoError(t, err)
	require.Equal(t, asset.Collection{Examined: 501, Removed: 501, Bytes: 1002}, got)
	require.Equal(t, []int{500, 501}, reports)
}

// unsteady is a store whose blobs cannot be removed, and references that cannot be asked.
type unsteady struct{ *mem.Store }

func (unsteady) Remove(context.Context, blob.Ref, time.Time) (bool, error) { return false, errAway }

func (unsteady) Referenced(context.Context, []blob.Ref) (map[blob.Ref]bool, error) {
	return nil, errAway
}

// A collection that cannot go on says so.
func TestAFailureEndsACollection(t *testing.T) {
	t.Parallel()
	u := unsteady{mem.New()}
	_, err := blob.PutBytes(t.Context(), u, []byte("x"))
	require.NoError(t, err)
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	for name, c := range map[string]asset.Collector{
		"no removal": {Blobs: u, References: asset.Unreferenced{}}, "no references": {Blobs: u.Store, References: asset.AnyOf{u}},
	} {
		c.Now = later
		_, err := c.Collect(t.Context(), nil)
		require.ErrorIs(t, err, errAway, name)
	}
}

// TestCollectionRacesUploads has uploaders store and refer to the same few bytes thousands of times
// while a collector without mercy walks the store: whatever is referred to can be read, every time.
func TestCollectionRacesUploads(t *testing.T) {
	t.Parallel()
	const uploaders, rounds = 4, 1500
	deadline := time.Now().Add(5 * time.Minute)
	blobs, err := disk.Open(t.Context(), t.TempDir(), disk.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	r := &race{blobs: blobs, refs: &counted{n: map[blob.Ref]int{}}}
	stop := make(chan struct{})
	var collecting, uploading sync.WaitGroup
	collecting.Go(func() { r.collect(context.WithoutCancel(t.Context()), stop) })
	failures := make(chan error, uploaders)
	for u := range uploaders {
		uploading.Go(func() {
			for i := 0; i < rounds || !r.raced() && time.Now().Before(deadline); i++ {
				if err := r.upload(t.Context(), u+i); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	uploading.Wait()
	close(stop)
	collecting.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	t.Logf("%d uploads checked, %d blobs collected meanwhile", r.checked.Load(), r.removed.Load())
	require.True(t, r.raced())
}

// raceGrace is short, so that blobs are collected between two uploads of them, and long against one. Where uploads
// take longer it grows, up to mostGrace. The times of new files come from a clock of the kernel that is up to 10 ms late,
// which half of it must outlast.
const (
	raceGrace = 24 * time.Millisecond
	mostGrace = 5 * raceGrace
)

type race struct {
	blobs            blob.Store
	refs             *counted
	grace            atomic.Int64 // in nanoseconds, beyond raceGrace
	checked, removed atomic.Int64
}

// raced reports whether enough was collected between enough uploads.
func (r *race) raced() bool { return r.checked.Load() > 1000 && r.removed.Load() > 100 }

func (r *race) graceNow() time.Duration {
	return min(raceGrace+time.Duration(r.grace.Load()), mostGrace)
}

func (r *race) collect(ctx context.Context, stop <-chan struct{}) {
	collector := asset.Collector{Blobs: r.blobs, References: r.refs}
	for {
		select {
		case <-stop:
			return
		default:
		}
		if done, err := collector.CollectBefore(ctx, time.Now().Add(-r.graceNow())); err == nil {
			r.removed.Add(int64(done.Removed))
		}
	}
}

// upload stores bytes, refers to them, reads them and gives the reference up.
func (r *race) upload(ctx context.Context, seed int) error {
	data := binary.BigEndian.AppendUint16(nil, uint16(seed%360))
	began, grace := time.Now(), r.graceNow()
	stored, err := blob.Put(ctx, r.blobs, blob.Relaxed, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.refs.add(stored.Ref, 1)
	defer r.refs.add(stored.Ref, -1)
	if time.Since(began) >= grace/2 {
		r.grace.Add(int64(raceGrace) / 100)
		return nil // a busy machine: a reference has to be recorded within the grace period
	}
	r.checked.Add(1)
	_, err = blob.Verify(ctx, r.blobs, stored.Ref)
	return err
}

// Without a grace period of its own, a collector spares what was touched within an hour.
func TestACollectorSparesWhatIsYoungerThanAnHour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace, age time.Duration
		removed    int
	}{
		"young": {0, 59 * time.Minute, 0}, "old": {0, 61 * time.Minute, 1},
		"younger than the period": {2 * time.Hour, 119 * time.Minute, 0}, "older than the period": {2 * time.Hour, 121 * time.Minute, 1},
		"a period that is too short": {time.Second, 59 * time.Second, 0}, "older than a minute": {time.Second, 61 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobs := mem.New()
			_, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
			require.NoError(t, err)
			done, err := asset.Collector{
				Blobs: blobs, References: asset.Unreferenced{}, Grace: c.grace, Now: func() time.Time { return time.Now().Add(c.age) },
			}.Collect(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, c.removed, done.Removed)
		})
	}
}
