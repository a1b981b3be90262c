package asset

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// References knows which blobs something durable refers to.
type References interface {
	// Referenced returns those of the blobs that must stay.
	Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error)
}

// Unreferenced are the References of a store whose blobs live by their age alone, such as values
// between nodes, which are made again when they are missing.
type Unreferenced struct{}

// Referenced implements References.
func (Unreferenced) Referenced(context.Context, []blob.Ref) (map[blob.Ref]bool, error) {
	return nil, nil
}

// AnyOf needs what any of several References needs.
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

// Collection is what a collector did.
type Collection struct {
	Examined int   // blobs seen
	Removed  int   // blobs deleted
	Bytes    int64 // their size
}

// collectBatch is how many blobs one query asks about.
const collectBatch = 500

// minGrace is the least grace period: recording a reference must end well within it.
const minGrace = time.Minute

// Collector removes blobs that nothing refers to and nobody touched within the grace period. It is
// safe beside uploads of the same bytes: whoever adds a reference touches the blob first (see
// blob.Store), and the store refuses to remove what was touched since the cutoff. So either the
// reference is seen here, or the touch is seen there.
type Collector struct {
	Blobs      blob.Store
	References References
	Grace      time.Duration // at least a minute; default an hour
	Now        func() time.Time
}

// Collect walks all blobs once. progress, if not nil, is called now and then.
func (c Collector) Collect(ctx context.Context, progress func(Collection)) (Collection, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	grace := c.Grace
	if grace == 0 {
		grace = time.Hour
	}
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
