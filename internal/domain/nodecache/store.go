package nodecache

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
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

// Cache is a Store with limits. The results of brief nodes, which take less time than the Store, are in Brief instead.
type Cache struct {
	Store
	Bytes int64         // bound of all entries of the Store and their values, in bytes
	Age   time.Duration // maximum age of an entry
	From  time.Duration // minimum run time of a node whose values are stored too
	Brief *Brief        // nil = results of brief nodes are not kept
}

// Unit is what a lookup needs to know of a unit.
type Unit struct {
	Anew  bool // it runs even if its result is known
	Brief bool // its result is not in the Store
}

// Lookup returns the entries of the units that have a key, except units that must run again. It asks the Store only if
// a unit is not brief.
func (c *Cache) Lookup(ctx context.Context, account string, keys []Key, of func(unit int) Unit) (map[int]Entry, error) {
	hits := map[int]Entry{}
	var asked []Key
	for u, key := range keys {
		unit := of(u)
		if key.IsZero() || unit.Anew {
			continue
		}
		if !unit.Brief {
			asked = append(asked, key)
		} else if e, ok := c.Brief.find(account, key, c.Age); ok {
			hits[u] = e
		}
	}
	if len(asked) == 0 {
		return hits, nil
	}
	entries, err := c.Find(ctx, account, asked, c.Age)
	if err != nil {
		return nil, err
	}
	byKey := make(map[Key]Entry, len(entries))
	for _, e := range entries {
		byKey[e.Key] = e
	}
	for u, key := range keys {
		if e, ok := byKey[key]; ok && !of(u).Anew {
			hits[u] = e
		}
	}
	return hits, nil
}

// Keep stores entries: those of brief nodes in Brief, and all others in the Store.
func (c *Cache) Keep(ctx context.Context, account string, entries, brief []Entry) error {
	for _, e := range brief {
		c.Brief.keep(account, e)
	}
	if len(entries) == 0 {
		return nil
	}
	return c.Save(ctx, account, entries)
}

// evictBatch bounds the entries that one statement removes.
const evictBatch = 500

// shortenEvery is the interval between two evictions.
const shortenEvery = time.Minute

// Run keeps the cache within its limits until ctx ends. forget deletes the values of evicted entries.
func (c *Cache) Run(ctx context.Context, forget func(ctx context.Context, values []string) error, log *slog.Logger) error {
	for range pause.Every(ctx, shortenEvery) {
		if err := c.Shorten(ctx, forget); err != nil && ctx.Err() == nil {
			log.Warn("node cache eviction failed; the next sweep will retry", "error", err)
		}
	}
	return nil
}

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
