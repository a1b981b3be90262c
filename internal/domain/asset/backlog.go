package asset

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// backlog holds the ingestion of new assets back while other uploads are under way: hashing again what
// just came in, and the engine's commits, would take disk and processor from those who wait for an
// answer. It holds back for seconds at most: an intent that is not passed on, the relay finds in the outbox.
type backlog struct {
	mu      sync.Mutex // guards both below
	active  int        // uploads under way
	waiting []outbox.Intent
}

// maxBacklog bounds the memory of a backlog; what is beyond is left to the relay.
const maxBacklog = 1024

func (b *backlog) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active++
}

// add takes what an upload leaves to do.
func (b *backlog) add(intents []outbox.Intent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxBacklog - len(b.waiting); len(intents) > room {
		intents = intents[:room]
	}
	b.waiting = append(b.waiting, intents...)
}

// end returns what is to be done now: everything, when no upload is under way any more.
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
