package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
)

// Batch is the events of one message.
type Batch struct {
	After  int64      // the consumer's checkpoint before the message
	UpTo   int64      // the checkpoint after it: the position of the last event read
	Events []Recorded // consecutive events of the topic, at least one
	Read   []Mark     // every event that was read after After, wanted or not; only set for a group
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

// retry is the pause between attempts of a subscription: about first, then doubled up to about last, with jitter.
type retry struct{ delays *backoff.ExponentialBackOff }

func newRetry(first, last time.Duration) *retry {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = first, last
	return &retry{delays}
}

func (r *retry) reset() { r.delays.Reset() }

func (r *retry) wait(ctx context.Context) {
	select {
	case <-time.After(r.delays.NextBackOff()):
	case <-ctx.Done():
	}
}
