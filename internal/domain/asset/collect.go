package asset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// References reports which blobs are referenced by durable records.
type References interface {
	// Referenced returns the blobs among refs that must be kept.
	Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error)
}

// Unreferenced are the References of a store whose blobs are collected by their age alone, such as values between
// nodes, which are computed again if they are missing.
type Unreferenced struct{}

// Referenced implements References.
func (Unreferenced) Referenced(context.Context, []blob.Ref) (map[blob.Ref]bool, error) {
	return nil, nil
}

// AnyOf keeps a blob if any of several References keeps it.
type AnyOf []References

// Referenced implements References.
func (a AnyOf) Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error) {
	needed := map[blob.Ref]bool{}
	for _, r := range a {
		some, err := r.Referenced(ctx, refs)
		if err != nil {
			return nil, err
		}
		maps.Copy(needed, some)
	}
	return needed, nil
}

// Collection is the result of a collector's walk.
type Collection struct {
	Examined int   // blobs seen
	Removed  int   // blobs deleted
	Bytes    int64 // their size
}

// collectBatch is the number of blobs of one query.
const collectBatch = 500

// minGrace is the minimum grace period. Recording a reference must take much less time.
const minGrace = time.Minute

// Collector removes blobs that have no reference and were not touched within the grace period. It is safe during
// uploads of the same bytes: every process touches a blob before it adds a reference (see blob.Store), and the store
// refuses to remove a blob that was touched after the cutoff. So either the collector sees the reference, or the
// store sees the touch.
type Collector struct {
	Blobs      blob.Store
	References References
	Grace      time.Duration // at least a minute; default an hour
	Now        func() time.Time
}

// Collect walks all blobs once. progress, if not nil, is called from time to time.
func (c Collector) Collect(ctx context.Context, progress func(Collection)) (Collection, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	grace := c.Grace
	grace = cmp.Or(grace, time.Hour)
	cutoff := now().Add(-max(grace, minGrace))
	return c.collect(ctx, cutoff, progress)
}

func (c Collector) collect(ctx context.Context, cutoff time.Time, progress func(Collection)) (Collection, error) {
	var done Collection
	old := make([]blob.Entry, 0, collectBatch)
	flush := func() error {
		if err := c.remove(ctx, old, cutoff, &done); err != nil {
			return err
		}
		old = old[:0]
		if progress != nil {
			progress(done)
		}
		return nil
	}
	err := c.Blobs.Walk(ctx, func(e blob.Entry) error {
		done.Examined++
		if !e.Touched.Before(cutoff) {
			return nil
		}
		if old = append(old, e); len(old) < collectBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return done, fmt.Errorf("walk the blobs: %w", err)
	}
	return done, flush()
}

func (c Collector) remove(ctx context.Context, old []blob.Entry, cutoff time.Time, done *Collection) error {
	if len(old) == 0 {
		return nil
	}
	refs := make([]blob.Ref, len(old))
	for i, e := range old {
		refs[i] = e.Ref
	}
	needed, err := c.References.Referenced(ctx, refs)
	if err != nil {
		return err
	}
	for _, e := range old {
		if needed[e.Ref] {
			continue
		}
		gone, err := c.Blobs.Remove(ctx, e.Ref, cutoff)
		if err != nil {
			return err
		}
		if gone {
			done.Removed++
			done.Bytes += e.Size
		}
	}
	return nil
}
