package nodecache

import (
	"context"
	"time"
)

// Store keeps entries by account and key. Every part of it may be lost: nodes then run again.
type Store interface {
	// Find returns the entries of those keys that are younger than age and whose files still live.
	Find(ctx context.Context, account string, keys []Key, age time.Duration) ([]Entry, error)
	// Save keeps entries, in place of those of the same keys.
	Save(ctx context.Context, account string, entries []Entry) error
	// Evict removes up to limit entries: those past age, then those longest not used, until the rest fits
	// into most bytes. It returns the references of their values.
	Evict(ctx context.Context, most int64, age time.Duration, limit int) (values []string, gone int, err error)
}

// Cache is a store with its bounds.
type Cache struct {
	Store
	Bytes int64         // of entries and their values over all accounts
	Age   time.Duration // after which an entry is not used any more
	From  time.Duration // run time from which a node's values are kept too
}

// Lookup finds the entries of the units with a key, except those to be run anew.
func (c *Cache) Lookup(ctx context.Context, account string, keys []Key, anew func(unit int) bool) (map[int]Entry, error) {
	var asked []Key
	for u, key := range keys {
		if !key.IsZero() && !anew(u) {
			asked = append(asked, key)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	entries, err := c.Find(ctx, account, asked, c.Age)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	byKey := make(map[Key]Entry, len(entries))
	for _, e := range entries {
		byKey[e.Key] = e
	}
	hits := make(map[int]Entry, len(entries))
	for u, key := range keys {
		if e, ok := byKey[key]; ok && !anew(u) {
			hits[u] = e
		}
	}
	return hits, nil
}

// evictBatch is how many entries one statement removes.
const evictBatch = 500

// Shorten brings the cache within its bounds; forget removes values that nothing refers to any more.
func (c *Cache) Shorten(ctx context.Context, forget func(ctx context.Context, values []string) error) error {
	for {
		values, gone, err := c.Evict(ctx, c.Bytes, c.Age, evictBatch)
		if err != nil {
			return err
		}
		if err := forget(ctx, values); err != nil {
			return err
		}
		if gone < evictBatch {
			return nil
		}
	}
}
