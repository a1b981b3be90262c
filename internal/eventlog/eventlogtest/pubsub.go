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

// MessageRegistry returns a registry that knows published messages.
func MessageRegistry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, r.Register(eventlog.MessageType()))
	return r
}

// RunPubSub runs Watermill's universal Pub/Sub suite over a log whose events are those of
// MessageRegistry. open returns a handle of the one shared log, as a process of its own would have.
// restart is a command that restarts the database, or nil.
//
// The features are what the log promises: delivery is at least once, order is total with one active
// member per group, groups start at the beginning, and messages outlive every process. Old messages
// are not delivered again to a group that has consumed them.
func RunPubSub(t *testing.T, open func(testing.TB) Log, restart []string) {
	t.Helper()
	features := tests.Features{
		ConsumerGroups: true, GuaranteedOrder: true, Persistent: true, RestartServiceCommand: restart,
	}
	shared := "suite-" + uuid.NewString()
	inGroup := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		log := open(t)
		sub, err := eventlog.NewSubscriber(log.Tail, eventlog.SubscriberOptions{
			Group: group, Checkpoints: log.Checkpoints, FirstRetry: time.Millisecond, LastRetry: 10 * time.Millisecond,
		})
		require.NoError(t, err)
		return eventlog.NewPublisher(log.Store, "acme"), sub
	}
	tests.TestPubSub(t, features, func(t *testing.T) (message.Publisher, message.Subscriber) {
		return inGroup(t, shared)
	}, inGroup)
}
