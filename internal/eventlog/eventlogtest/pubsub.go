package eventlogtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Log is the ports that a Subscriber needs, with what its publishers and handlers need.
type Log struct {
	Store       eventlog.Store
	Tail        eventlog.Tail
	Checkpoints eventlog.Checkpoints
	Save        func(ctx context.Context, group string, b eventlog.Batch) error // moves a checkpoint
}

// typeMessage is the event type of a published message.
const typeMessage = "test.message.v1"

// messageV1 is a Watermill message as an event.
type messageV1 struct {
	UUID     string            `json:"uuid"`
	Payload  []byte            `json:"payload"` // any bytes
	Metadata map[string]string `json:"metadata,omitempty"`
}

// MessageRegistry returns a registry with the type of published messages.
func MessageRegistry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, r.Register(eventlog.TypeOf[messageV1](typeMessage)))
	return r
}

// features are the guarantees of the log: delivery is at least once, order is total with one active member per group,
// groups start at the beginning, and messages outlive every process. A message is not delivered again to a group that
// consumed it.
func features() tests.Features {
	return tests.Features{ConsumerGroups: true, GuaranteedOrder: true, Persistent: true}
}

// RunPubSub runs Watermill's universal Pub/Sub suite over a log with the event types of MessageRegistry. open returns
// a handle of the shared log, as each process would have.
func RunPubSub(t *testing.T, open func(testing.TB) Log) {
	t.Helper()
	shared := "suite-" + uuid.NewString()
	tests.TestPubSub(t, features(), func(t *testing.T) (message.Publisher, message.Subscriber) {
		return open(t).pubSub(shared)
	}, func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return open(t).pubSub(group)
	})
	t.Run("without a group each subscriber receives old messages", func(t *testing.T) {
		t.Parallel()
		f := features()
		f.NewSubscriberReceivesOldMessages = true
		tests.TestNewSubscriberReceivesOldMessages(t, tests.TestContext{TestID: tests.NewTestID(), Features: f},
			func(t *testing.T) (message.Publisher, message.Subscriber) { return open(t).pubSub("") })
	})
}

// RunReconnect runs the suite's test of a database restart; crash is the command that restarts the database.
func RunReconnect(t *testing.T, log Log, crash []string) {
	t.Helper()
	f := features()
	f.RestartServiceCommand = crash
	tests.TestReconnect(t, tests.TestContext{TestID: tests.NewTestID(), Features: f},
		func(t *testing.T) (message.Publisher, message.Subscriber) { return log.pubSub("crash") })
}

func (l Log) pubSub(group string) (message.Publisher, message.Subscriber) {
	return &publisher{store: l.Store}, &unpacking{log: l, group: group}
}

// publisher appends messages to the stream of their topic.
type publisher struct{ store eventlog.Store }

func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	for _, msg := range messages {
		_, err := p.store.Append(msg.Context(), eventlog.Append{
			Stream: topic, Account: "acme", Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: uuid.New(), Type: typeMessage, Data: messageV1{msg.UUID, msg.Payload, msg.Metadata}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *publisher) Close() error { return nil }

// unpacking makes the messages of a Subscriber those of the publisher again, one of each event, and moves the checkpoint of the
// group when one is acknowledged, as a handler of the Subscriber does.
type unpacking struct {
	log   Log
	group string

	mu      sync.Mutex // guards all below
	closed  bool
	running sync.WaitGroup
	inner   []*eventlog.Subscriber
}

func (u *unpacking) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil, errors.New("closed")
	}
	opts := eventlog.SubscriberOptions{FirstRetry: time.Millisecond, LastRetry: 10 * time.Millisecond}
	if u.group != "" {
		opts.Group, opts.Checkpoints = u.group+"/"+topic, u.log.Checkpoints
	}
	sub, err := eventlog.NewSubscriber(u.log.Tail, opts)
	if err != nil {
		return nil, err
	}
	batches, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	u.inner = append(u.inner, sub)
	out := make(chan *message.Message)
	u.running.Go(func() {
		defer close(out)
		for msg := range batches {
			if u.pass(opts.Group, msg, out) {
				msg.Ack()
			} else {
				msg.Nack()
			}
		}
	})
	return out, nil
}

// pass delivers the events of a batch, and moves the checkpoint behind each that is acknowledged. It reports whether all were.
func (u *unpacking) pass(group string, batch *message.Message, out chan<- *message.Message) bool {
	b, err := eventlog.BatchOf(batch)
	if err != nil {
		return false
	}
	ctx := batch.Context()
	for _, e := range b.Events {
		if !deliver(ctx, e, out) || u.save(ctx, group, &b, e.Position) != nil {
			return false
		}
	}
	return u.save(ctx, group, &b, b.UpTo) == nil
}

func deliver(ctx context.Context, e eventlog.Recorded, out chan<- *message.Message) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var m messageV1
	if err := json.Unmarshal(e.Data, &m); err != nil {
		return false
	}
	msg := message.NewMessage(m.UUID, m.Payload)
	maps.Copy(msg.Metadata, m.Metadata)
	msg.SetContext(ctx)
	select {
	case out <- msg:
	case <-ctx.Done():
		return false
	}
	select {
	case <-msg.Acked():
		return true
	case <-msg.Nacked():
		return false
	case <-ctx.Done():
		return false
	}
}

// save moves the checkpoint of a group to a position within a batch, which then begins there.
func (u *unpacking) save(ctx context.Context, group string, b *eventlog.Batch, upTo int64) error {
	if group == "" || b.After == upTo {
		return nil
	}
	read := 0
	for read < len(b.Read) && b.Read[read].Position <= upTo {
		read++
	}
	err := u.log.Save(ctx, group, eventlog.Batch{After: b.After, UpTo: upTo, Read: b.Read[:read]})
	b.After, b.Read = upTo, b.Read[read:]
	return err
}

func (u *unpacking) Close() error {
	u.mu.Lock()
	u.closed = true
	inner := u.inner
	u.mu.Unlock()
	for _, sub := range inner {
		if err := sub.Close(); err != nil {
			return err
		}
	}
	u.running.Wait()
	return nil
}
