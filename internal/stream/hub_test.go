package stream_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/stream/streamtest"
)

func TestLocalBus(t *testing.T) {
	t.Parallel()
	streamtest.Run(t, func(*testing.T) (stream.Bus, stream.Bus) {
		bus := stream.NewLocal()
		return bus, bus
	})
}

func message(s string) *stream.Message { return &stream.Message{Text: []byte(s)} }

func reason(t *testing.T, sub *stream.Subscription) stream.CloseReason {
	_, err := sub.Next(t.Context())
	var closed *stream.Closed
	require.ErrorAs(t, err, &closed)
	return closed.Reason
}

func TestSubscriptionsGetTheMessagesOfTheirAccountInOrder(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubOptions{})
	a, b := hub.Subscribe("a"), hub.Subscribe("b")
	var publishers sync.WaitGroup
	publishers.Go(func() {
		for i := range 500 {
			hub.Publish("a", message(fmt.Sprint(i)))
			hub.Publish("c", message("nobody"))
		}
	})
	for i := 0; i < 500; {
		got, err := a.Next(t.Context())
		require.NoError(t, err)
		for _, m := range got {
			require.Equal(t, fmt.Sprint(i), string(m.Text))
			i++
		}
	}
	publishers.Wait()
	got, err := b.Take()
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestSlowSubscriptionIsCut(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]stream.HubOptions{"by count": {Queue: 2}, "by bytes": {QueueBytes: 1000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := stream.NewHub(opts)
			slow, quick := hub.Subscribe("a"), hub.Subscribe("a")
			for range 4 {
				hub.Publish("a", message("0123456789"))
				got, err := quick.Next(t.Context())
				require.NoError(t, err)
				require.Len(t, got, 1)
			}
			require.Equal(t, stream.CloseSlow, reason(t, slow))
			require.Equal(t, 1, hub.Watched("a"))
		})
	}
}

// A watcher that falls behind gets the last state of each job, and every message that no later one replaces, in order.
func TestASlowSubscriptionMissesWhatLaterMessagesReplace(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]stream.HubOptions{"by count": {Queue: 8}, "by bytes": {QueueBytes: 8 * 300}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := stream.NewHub(opts)
			slow := hub.Subscribe("a")
			hub.Publish("a", message("first"))
			for i := range 100 {
				for _, id := range []job.ID{"x", "y"} {
					hub.Publish("a", &stream.Message{Job: id, Text: fmt.Append(nil, id, i), Whole: true})
				}
			}
			hub.Publish("a", message("last"), message("of all"), message("comes"), message("too"), message("now"))
			got, err := slow.Take()
			require.NoError(t, err)
			var texts []string
			for _, m := range got {
				texts = append(texts, string(m.Text))
			}
			require.Equal(t, []string{"first", "x99", "y99", "last", "of all", "comes", "too", "now"}, texts)
			for range 10 {
				hub.Publish("a", &stream.Message{Job: "x", Text: []byte("no state")})
			}
			require.Equal(t, stream.CloseSlow, reason(t, slow))
		})
	}
}

// A message that is replaced stays queued if it has the last state of its job.
func TestASlowSubscriptionKeepsTheLastStateOfAJob(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubOptions{Queue: 3})
	slow := hub.Subscribe("a")
	for i, stated := range []bool{true, true, false, false, false} {
		m := &stream.Message{Job: "x", Text: fmt.Append(nil, i), Whole: true}
		if stated {
			m.State = &job.Job{ID: "x"}
		}
		hub.Publish("a", m)
	}
	got, err := slow.Take()
	require.NoError(t, err)
	require.Len(t, got, 3, "the queue was full once")
	require.Equal(t, []string{"1", "3", "4"}, []string{string(got[0].Text), string(got[1].Text), string(got[2].Text)})
}

func TestSubscriptionsEndWithAReason(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubOptions{})
	left, cut, stopped := hub.Subscribe("a"), hub.Subscribe("b"), hub.Subscribe("c")
	left.Close()
	left.Close()
	hub.Cut("b", stream.CloseLost)
	hub.Stop()
	require.Equal(t, stream.CloseGone, reason(t, left))
	require.Equal(t, stream.CloseLost, reason(t, cut))
	require.Equal(t, stream.CloseShutdown, reason(t, stopped))
	require.Equal(t, stream.CloseShutdown, reason(t, hub.Subscribe("d")), "a stopped hub takes nobody")
	hub.Publish("a", message("x"))
	require.Zero(t, hub.Watched("a"))
}

func TestMessagesAreRenderedOnce(t *testing.T) {
	t.Parallel()
	m := message("x")
	count := 0
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			m.Rendered(func(*stream.Message) any { count++; return count })
		})
	}
	readers.Wait()
	require.Equal(t, 1, m.Rendered(nil))
}

func TestTheHubSaysWhichAccountsAreWatched(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubOptions{})
	first, second := hub.Subscribe("a"), hub.Subscribe("a")
	<-hub.Changed()
	require.Equal(t, []string{"a"}, hub.Accounts())
	first.Close()
	select {
	case <-hub.Changed():
		t.Fatal("the set is the same")
	default:
	}
	second.Close()
	<-hub.Changed()
	require.Empty(t, hub.Accounts())
}

func TestProgressOfAJob(t *testing.T) {
	t.Parallel()
	running := job.Job{State: job.Running, NodesTotal: 4, NodesDone: 1, Running: map[string]string{"7": "Blur", "3": "Crop"}}
	require.Nil(t, stream.ProgressOf(job.Job{State: job.Queued}, "", nil), "a job without a slot has no progress")
	at := running.SubmittedAt
	running.AdmittedAt = &at
	p := stream.ProgressOf(running, "7", map[string]stream.Step{"7": {Value: 1, Max: 2}})
	require.InDelta(t, 0.375, p.Value, 1e-9)
	require.Equal(t, "7", *p.CurrentNode)
	require.Equal(t, "Blur 1/2", *p.Message)
	p = stream.ProgressOf(running, "gone", nil)
	require.Equal(t, "3", *p.CurrentNode, "any that runs, always the same")
	require.Nil(t, p.Step)
	running.NodesDone, running.Running = 4, nil
	require.Less(t, stream.ProgressOf(running, "", nil).Value, 1.0, "only success is whole")
	running.State = job.Succeeded
	require.InDelta(t, 1.0, stream.ProgressOf(running, "", nil).Value, 0)
}
