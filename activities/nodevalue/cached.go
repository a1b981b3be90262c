package nodevalue

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// cachedPrefix begins the references of values that outlive their job. The node cache deletes these values.
const cachedPrefix = "cached:"

// Cached returns the reference of a value that outlives its job. The reference of an inline value is unchanged.
func Cached(ref string) string {
	if strings.HasPrefix(ref, inlinePrefix) {
		return ref
	}
	return cachedPrefix + ref
}

// Has reports whether all these values can be read.
func (s *Store) Has(ctx context.Context, refs []string) bool {
	for _, name := range refs {
		if strings.HasPrefix(name, inlinePrefix) {
			continue
		}
		ref, err := blob.ParseRef(strings.TrimPrefix(name, cachedPrefix))
		if err != nil {
			return false
		}
		if _, err := s.blobs.Stat(ctx, ref); err != nil {
			return false
		}
	}
	return len(refs) > 0
}

// Size returns the size of a stored value in bytes, or 0 for an inline one.
func (s *Store) Size(ctx context.Context, name string) int64 {
	ref, err := blob.ParseRef(strings.TrimPrefix(name, cachedPrefix))
	if err != nil {
		return 0
	}
	size, err := s.blobs.Stat(ctx, ref)
	if err != nil {
		return 0
	}
	return size
}

// ForgetCached deletes values of the cache that no entry references.
func (s *Store) ForgetCached(ctx context.Context, refs []string) error {
	bare := make([]string, len(refs))
	for i, ref := range refs {
		bare[i] = strings.TrimPrefix(ref, cachedPrefix)
	}
	if err := s.Forget(ctx, bare); err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("delete values that the node cache evicted: %w", err)
	}
	return nil
}
