package asset

import (
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// backlog delays the ingestion of new assets for a moment, so that those of several uploads begin together, and
// longer while other uploads are under way: hashing the new bytes again, and Temporal's commits, would slow down the
// waiting clients. The relay finds an intent that is lost here in the outbox.
type backlog struct {
	notify func([]outbox.Intent)

	mu      sync.Mutex // guards what follows
	active  int        // uploads under way
	waiting []outbox.Intent
	since   time.Time // when the first of them came
	timed   bool      // look will be called
}

// MaxBatch is how many small uploads one workflow looks into at most. As many intents do not wait for more.
const MaxBatch = 256

const (
	// backlogLinger is how long an intent waits for others. Nobody waits for an ingestion.
	backlogLinger = 100 * time.Millisecond
	// backlogLongest bounds the wait for uploads that are under way. The relay looks for intents that are older.
	backlogLongest = 2 * time.Second
)

func (b *backlog) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active++
}

func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
}

// add takes what an upload leaves to do.
func (b *backlog) add(intents []outbox.Intent) {
	if len(intents) == 0 {
		return
	}
	if full := b.put(intents); full != nil {
		b.notify(full)
	}
}

// put keeps intents, and returns all when there are enough.
func (b *backlog) put(intents []outbox.Intent) []outbox.Intent {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.since = time.Now()
	}
	if !b.timed {
		b.timed = true
		time.AfterFunc(backlogLinger, b.release)
	}
	b.waiting = append(b.waiting, intents...)
	if len(b.waiting) < MaxBatch {
		return nil
	}
	return b.take()
}

func (b *backlog) take() []outbox.Intent {
	all := b.waiting
	b.waiting = nil
	return all
}

// release begins what waits, unless uploads are under way and it has not waited for long.
func (b *backlog) release() {
	b.mu.Lock()
	if len(b.waiting) > 0 && b.active > 0 && time.Since(b.since) < backlogLongest {
		time.AfterFunc(backlogLinger, b.release)
		b.mu.Unlock()
		return
	}
	b.timed = false
	all := b.take()
	b.mu.Unlock()
	if len(all) > 0 {
		b.notify(all)
	}
}
