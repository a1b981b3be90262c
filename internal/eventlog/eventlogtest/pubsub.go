package eventlogtest

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Log is the ports that a Publisher and a Subscriber need.
type Log struct {
	Store       eventlog.Store
	Tail        eventlog.Tail
	Checkpoints eventlog.Checkpoints
}

// MessageRegistry returns a registry with the type of published messages.
func MessageRegistry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, r.Register(eventlog.MessageType()))
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
		return open(t).pubSub(t, shared)
	}, func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return open(t).pubSub(t, group)
	})
	t.Run("without a group each subscriber receives old messages", func(t *testing.T) {
		t.Parallel()
		f := features()
		f.NewSubscriberReceivesOldMessages = true
		tests.TestNewSubscriberReceivesOldMessages(t, tests.TestContext{TestID: tests.NewTestID(), Features: f},
			func(t *testing.T) (message.Publisher, message.Subscriber) { return open(t).pubSub(t, "") })
	})
}

// RunReconnect runs the suite's test of a database restart; crash is the command that restarts the database.
func RunReconnect(t *testing.T, log Log, crash []string) {
	t.Helper()
	f := features()
	f.RestartServiceCommand = crash
	tests.TestReconnect(t, tests.TestContext{TestID: tests.NewTestID(), Features: f},
		func(t *testing.T) (message.Publisher, message.Subscriber) { return log.pubSub(t, "crash") })
}

func (l Log) pubSub(t *testing.T, group string) (message.Publisher, message.Subscriber) {
	t.Helper()
	sub, err := eventlog.NewSubscriber(l.Tail, eventlog.SubscriberOptions{
		Group: group, Checkpoints: l.Checkpoints, FirstRetry: time.Millisecond, LastRetry: 10 * time.Millisecond,
	})
	require.NoError(t, err)
	return eventlog.NewPublisher(l.Store, "acme"), sub
}
