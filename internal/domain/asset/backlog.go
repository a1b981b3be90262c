package asset

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// backlog delays the ingestion of new assets while other uploads are under way: hashing the new bytes again, and
// Temporal's commits, would slow down the waiting clients. The delay is at most seconds, because the relay finds
// intents that are not passed on in the outbox.
type backlog struct {
	mu      sync.Mutex // guards both below
	active  int        // uploads under way
	waiting []outbox.Intent
}

// maxBacklog bounds the memory of a backlog. The relay delivers further intents.
const maxBacklog = 1024

func (b *backlog) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active++
}

// add adds the intents of an upload.
func (b *backlog) add(intents []outbox.Intent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxBacklog - len(b.waiting); len(intents) > room {
		intents = intents[:room]
	}
	b.waiting = append(b.waiting, intents...)
}

// end returns the intents to deliver now: all of them, if no upload is under way.
func (b *backlog) end() []outbox.Intent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	if b.active > 0 {
		return nil
	}
	now := b.waiting
	b.waiting = nil
	return now
}
