package eventlog_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
)

func subscribe(t *testing.T, log *eventlogtest.Memory, topic string, opts eventlog.SubscriberOptions) <-chan *message.Message {
	t.Helper()
	sub, err := eventlog.NewSubscriber(log, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sub.Close()) })
	messages, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	return messages
}

func note(t *testing.T, log *eventlogtest.Memory, stream string, texts ...string) []eventlog.Recorded {
	t.Helper()
	a := eventlog.Append{Stream: stream, Account: "acme", Expected: eventlog.AnyVersion, Meta: eventlog.Meta{RequestID: "req-1"}}
	for _, text := range texts {
		a.Events = append(a.Events, eventlogtest.Noted(text))
	}
	recorded, err := log.Append(t.Context(), a)
	require.NoError(t, err)
	return recorded
}

func receive(t *testing.T, messages <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case msg, ok := <-messages:
		require.True(t, ok, "the subscription ended")
		return msg
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "no message came")
		return nil
	}
}

func batch(t *testing.T, msg *message.Message) eventlog.Batch {
	t.Helper()
	b, err := eventlog.BatchOf(msg)
	require.NoError(t, err)
	return b
}

// consume acknowledges a message of a group as its handler does: the checkpoint has moved.
func consume(t *testing.T, log *eventlogtest.Memory, group string, msg *message.Message) {
	t.Helper()
	require.NoError(t, log.Save(t.Context(), group, batch(t, msg)))
	msg.Ack()
}

func TestAMessageIsItsEvents(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	recorded := note(t, log, "note-1", "hello", "héllo \x00")
	msg := receive(t, subscribe(t, log, "", eventlog.SubscriberOptions{}))
	require.Equal(t, recorded[1].ID.String(), msg.UUID)
	require.Equal(t, message.Metadata{"position": "2", "count": "2", "correlation_id": "req-1"}, msg.Metadata)
	require.Equal(t, eventlog.Batch{UpTo: 2, Events: recorded}, batch(t, msg))
	msg.Ack()
	elsewhere := message.NewMessage("x", msg.Payload) // the payload is the whole message
	require.Equal(t, recorded, batch(t, elsewhere).Events)

	msg = receive(t, subscribe(t, log, "", eventlog.SubscriberOptions{
		Group: "g", Checkpoints: log, Wants: func(e eventlog.Recorded) bool { return e.Version == 2 },
	}))
	require.Equal(t, eventlog.Batch{UpTo: 2, Events: recorded[1:], Read: eventlog.MarksOf(recorded)}, batch(t, msg))
}

// A payload that is not a batch is an error, whatever it claims to contain.
func TestAForeignMessageIsRefused(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	note(t, log, "note-1", "a", "b")
	msg := receive(t, subscribe(t, log, "", eventlog.SubscriberOptions{Group: "g", Checkpoints: log}))
	for end := range msg.Payload {
		_, err := eventlog.BatchOf(message.NewMessage("cut", msg.Payload[:end]))
		require.Error(t, err, end)
	}
	for _, foreign := range [][]byte{nil, []byte("{}"), append(slices.Clone(msg.Payload), 0), {0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x0f}} {
		_, err := eventlog.BatchOf(message.NewMessage("foreign", foreign))
		require.Error(t, err)
	}
}

func TestTopicsAreStreamCategories(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	note(t, log, "job-1", "a", "b")
	note(t, log, "jobs-1", "c")
	note(t, log, "job", "d")
	for topic, want := range map[string][]int64{"job": {1, 2, 4}, "jobs": {3}, "": {1, 2, 3, 4}, eventlog.TopicAll: {1, 2, 3, 4}} {
		msg := receive(t, subscribe(t, log, topic, eventlog.SubscriberOptions{Batch: 500}))
		var got []int64
		for _, e := range batch(t, msg).Events {
			got = append(got, e.Position)
		}
		require.Equal(t, want, got, topic)
		msg.Ack()
	}
}

func TestASubscriptionBeginsWhereItSays(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	note(t, log, "note-1", "before")
	messages := subscribe(t, log, "", eventlog.SubscriberOptions{After: log.Start()})
	note(t, log, "note-1", "after")
	b := batch(t, receive(t, messages))
	require.Equal(t, int64(2), b.Events[0].Position)
	require.Equal(t, int64(1), b.After)
}

func TestASlowHandlerDelaysNobody(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	slow := subscribe(t, log, "", eventlog.SubscriberOptions{Group: "slow", Checkpoints: log, Batch: 1})
	quick := subscribe(t, log, "", eventlog.SubscriberOptions{Group: "quick", Checkpoints: log, Batch: 1})
	note(t, log, "note-1", "first")
	held := receive(t, slow)
	for range 1000 {
		note(t, log, "note-1", "more")
	}
	for want := int64(1); want <= 1001; want++ {
		msg := receive(t, quick)
		require.Equal(t, want, batch(t, msg).UpTo)
		consume(t, log, "quick", msg)
	}
	consume(t, log, "slow", held)
	require.Equal(t, int64(2), batch(t, receive(t, slow)).UpTo, "the slow one goes on where it was")
}

func TestNackDeliversAgainWithTheSameCheckpoint(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	note(t, log, "note-1", "a")
	messages := subscribe(t, log, "", eventlog.SubscriberOptions{Group: "g", Checkpoints: log, FirstRetry: time.Millisecond})
	first := receive(t, messages)
	first.Nack()
	again := receive(t, messages)
	require.Equal(t, batch(t, first), batch(t, again))
	consume(t, log, "g", again)
	note(t, log, "note-1", "b")
	require.Equal(t, int64(1), batch(t, receive(t, messages)).After)
}

func TestAStandbyTakesOverAtTheCheckpoint(t *testing.T) {
	t.Parallel()
	log := eventlogtest.NewMemory(eventlogtest.Registry(t))
	opts := eventlog.SubscriberOptions{Group: "g", Checkpoints: log, Batch: 1}
	first, err := eventlog.NewSubscriber(log, opts)
	require.NoError(t, err)
	messages, err := first.Subscribe(t.Context(), "")
	require.NoError(t, err)
	note(t, log, "note-1", "a", "b")
	consume(t, log, "g", receive(t, messages))
	unfinished := receive(t, messages)
	standby := subscribe(t, log, "", opts)
	select {
	case <-standby:
		require.FailNow(t, "two members consume at once")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, first.Close())
	require.ErrorIs(t, unfinished.Context().Err(), context.Canceled)
	require.Equal(t, int64(2), batch(t, receive(t, standby)).UpTo)
}

func TestAGroupNeedsCheckpoints(t *testing.T) {
	t.Parallel()
	_, err := eventlog.NewSubscriber(eventlogtest.NewMemory(eventlogtest.Registry(t)), eventlog.SubscriberOptions{Group: "g"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}
