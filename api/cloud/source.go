package cloud

import (
	"context"
	"encoding/json"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// historyBytes bounds the graphs of one page of a history: with graphs of many megabytes, those of
// later entries are left out, and the entry of one job has its own.
const historyBytes = 32 << 20

// sourceCacheBytes is what recent submissions may take in memory. They never change, and polls of the
// queue ask for the same ones again and again.
const sourceCacheBytes = 32 << 20

// budget is the number of bytes of submissions that an answer may still include. Nil = no bound.
type budget struct{ left int64 }

func newBudget(bytes int64) *budget { return &budget{left: bytes} }

// source returns a job's submission, within what b has left: one that is larger is an empty graph.
func (s *Surface) source(ctx context.Context, j job.Job, b *budget) (job.Source, error) {
	empty := job.Source{Prompt: json.RawMessage("{}")}
	if b == nil {
		return s.Sources.Load(ctx, j.Account, j.ID)
	}
	if b.left <= 0 {
		return empty, nil
	}
	src, known := s.recent.get(j)
	if !known {
		var whole bool
		var err error
		src, whole, err = s.Sources.LoadWithin(ctx, j.Account, j.ID, b.left)
		if err != nil {
			return job.Source{}, err
		}
		if !whole {
			return empty, nil
		}
		s.recent.put(j, src)
	}
	if size := sizeOf(src); size <= b.left {
		b.left -= size
		return src, nil
	}
	return empty, nil
}

func sizeOf(src job.Source) int64 {
	size := len(src.Prompt)
	for name, value := range src.ExtraData {
		size += len(name) + len(value)
	}
	return int64(size)
}

// sourceCache keeps the submissions that were asked for last, up to a number of bytes.
type sourceCache struct {
	most int64

	mu     sync.Mutex // guards size and recent
	size   int64
	recent *simplelru.LRU[sourceKey, job.Source] // bounded by bytes
}

type sourceKey struct {
	account string
	id      job.ID
}

func newSourceCache(bytes int64) *sourceCache {
	c := &sourceCache{most: bytes}
	recent, err := simplelru.NewLRU(math.MaxInt, func(_ sourceKey, src job.Source) { c.size -= sizeOf(src) })
	if err != nil {
		panic(err) // the bound is a constant
	}
	c.recent = recent
	return c
}

func (c *sourceCache) get(j job.Job) (job.Source, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Get(sourceKey{j.Account, j.ID})
}

// put keeps src, unless it would take more than a quarter of the cache.
func (c *sourceCache) put(j job.Job, src job.Source) {
	key, size := sourceKey{j.Account, j.ID}, sizeOf(src)
	if size > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent.Contains(key) {
		return
	}
	c.recent.Add(key, src)
	for c.size += size; c.size > c.most; {
		c.recent.RemoveOldest()
	}
}
