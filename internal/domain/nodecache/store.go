package nodecache

import (
	"context"
	"time"
)

// Store keeps entries by account and key. It need not be durable: nodes without an entry run again.
type Store interface {
	// Find returns the entries of the keys that are younger than age and whose files still exist.
	Find(ctx context.Context, account string, keys []Key, age time.Duration) ([]Entry, error)
	// Save stores entries, replacing those with the same keys.
	Save(ctx context.Context, account string, entries []Entry) error
	// Evict removes up to limit entries: first those older than age, then the least recently used, until the rest has
	// at most most bytes. It returns the references of their values.
	Evict(ctx context.Context, most int64, age time.Duration, limit int) (values []string, gone int, err error)
}

// Cache is a Store with limits.
type Cache struct {
	Store
	Bytes int64         // bound of all entries and their values, in bytes
	Age   time.Duration // maximum age of an entry
	From  time.Duration // minimum run time of a node whose values are stored too
}

// Lookup returns the entries of the units that have a key, except units that must run again.
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

// evictBatch bounds the entries that one statement removes.
const evictBatch = 500

// Shorten evicts entries until the cache is within its limits. forget deletes the values of evicted entries.
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
