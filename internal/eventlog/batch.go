package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Batch is the events of one message.
type Batch struct {
	After  int64      // the consumer's checkpoint before it
	UpTo   int64      // and after it: the position of the last event read
	Events []Recorded // consecutive events of the topic, at least one
	Read   []Mark     // every event that was read after After, wanted or not; of a group only
}

type batchKey struct{}

func withBatch(ctx context.Context, b Batch) context.Context {
	return context.WithValue(ctx, batchKey{}, b)
}

// BatchOf returns the events of a message that a Subscriber delivered.
func BatchOf(msg *message.Message) (Batch, error) {
	b, ok := msg.Context().Value(batchKey{}).(Batch)
	if !ok {
		return Batch{}, fmt.Errorf("message %s did not come from the event log", msg.UUID)
	}
	return b, nil
}

// backoff paces retries: first, then doubled up to last.
type backoff struct{ first, last, next time.Duration }

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) wait(ctx context.Context) {
	b.next = min(max(2*b.next, b.first), b.last)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
