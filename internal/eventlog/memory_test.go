package eventlog_test

import (
	"testing"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	eventlogtest.Run(t, func(_ testing.TB, r *eventlog.Registry) eventlog.Store { return eventlogtest.NewMemory(r) })
}

func TestMemoryPubSub(t *testing.T) {
	t.Parallel()
	m := eventlogtest.NewMemory(eventlogtest.MessageRegistry(t))
	eventlogtest.RunPubSub(t, func(testing.TB) eventlogtest.Log {
		return eventlogtest.Log{Store: m, Tail: m, Checkpoints: m, Save: m.Save}
	})
}
