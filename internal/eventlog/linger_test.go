package eventlog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
)

// Under load a message has the events of some milliseconds, and after a quiet time it comes at once.
func TestMessagesUnderLoadAreBatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := eventlogtest.Registry(t)
		log := eventlogtest.NewMemory(registry)
		sub, err := eventlog.NewSubscriber(log, eventlog.SubscriberOptions{Batch: 500, Linger: 20 * time.Millisecond})
		require.NoError(t, err)
		messages, err := sub.Subscribe(t.Context(), eventlog.TopicAll)
		require.NoError(t, err)
		note := func() {
			_, err := log.Append(t.Context(), eventlog.Append{
				Stream: "note-1", Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{eventlogtest.Noted("x")},
			})
			require.NoError(t, err)
		}
		receive := func() int {
			msg := <-messages
			batch, err := eventlog.BatchOf(msg)
			require.NoError(t, err)
			msg.Ack()
			return len(batch.Events)
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		quiet := time.Now()
		note()
		require.Equal(t, 1, receive())
		require.Equal(t, quiet, time.Now(), "the first event after a quiet time does not wait")
		go func() {
			for range 100 {
				time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
				note()
			}
		}()
		count := 0
		for received := 0; received < 100; count++ {
			received += receive()
		}
		require.LessOrEqual(t, count, 6)
		require.GreaterOrEqual(t, count, 4)
		require.NoError(t, sub.Close())
	})
}

// A subscriber that is behind does not wait between full messages: else a view could not follow a log that grows faster.
func TestSubscriberThatIsBehindDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := eventlogtest.NewMemory(eventlogtest.Registry(t))
		for range 35 {
			_, err := log.Append(t.Context(), eventlog.Append{
				Stream: "note-1", Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{eventlogtest.Noted("x")},
			})
			require.NoError(t, err)
		}
		sub, err := eventlog.NewSubscriber(log, eventlog.SubscriberOptions{Batch: 10, Linger: time.Second})
		require.NoError(t, err)
		messages, err := sub.Subscribe(t.Context(), eventlog.TopicAll)
		require.NoError(t, err)
		began := time.Now()
		for received := 0; received < 35; {
			msg := <-messages
			batch, err := eventlog.BatchOf(msg)
			require.NoError(t, err)
			msg.Ack()
			received += len(batch.Events)
		}
		require.Less(t, time.Since(began), time.Second)
		require.NoError(t, sub.Close())
	})
}

// The more events come, the fewer messages they come in, up to a bound; after a quiet time the next one comes at once again.
func TestThePauseBetweenMessagesGrowsWithTheRateOfEvents(t *testing.T) {
	t.Parallel()
	for rate, most := range map[int]int{100: 51, 1000: 14} { // events a second, messages a second
		synctest.Test(t, func(t *testing.T) {
			log := eventlogtest.NewMemory(eventlogtest.Registry(t))
			sub, err := eventlog.NewSubscriber(log, eventlog.SubscriberOptions{
				Batch: 500, Linger: 20 * time.Millisecond,
				MostLinger: 100 * time.Millisecond,
			})
			require.NoError(t, err)
			messages, err := sub.Subscribe(t.Context(), eventlog.TopicAll)
			require.NoError(t, err)
			note := func() {
				_, err := log.Append(t.Context(), eventlog.Append{
					Stream: "note-1", Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{eventlogtest.Noted("x")},
				})
				if err != nil {
					t.Error(err)
				}
			}
			go func() {
				for range rate {
					time.Sleep(time.Second / time.Duration(rate)) //nolint:forbidigo // of the bubble's clock
					note()
				}
			}()
			count := 0
			for received := 0; received < rate; count++ {
				msg := <-messages
				batch, err := eventlog.BatchOf(msg)
				require.NoError(t, err)
				received += len(batch.Events)
				msg.Ack()
			}
			require.LessOrEqual(t, count, most)
			require.Greater(t, count, most/2)
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
			quiet := time.Now()
			note()
			(<-messages).Ack()
			require.Equal(t, quiet, time.Now())
			require.NoError(t, sub.Close())
		})
	}
}

// countedTail counts the reads that returned events.
type countedTail struct {
	eventlog.Tail
	reads atomic.Int64
}

func (c *countedTail) Next(ctx context.Context, after int64, limit int) ([]eventlog.Recorded, error) {
	events, err := c.Tail.Next(ctx, after, limit)
	if len(events) > 0 {
		c.reads.Add(1)
	}
	return events, err
}

// A subscriber does not wake for each of many events that it does not want.
func TestEventsThatNobodyWantsAreReadInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := eventlogtest.NewMemory(eventlogtest.Registry(t))
		tail := &countedTail{Tail: log}
		sub, err := eventlog.NewSubscriber(tail, eventlog.SubscriberOptions{
			Batch: 500, Linger: 20 * time.Millisecond, Wants: func(e eventlog.Recorded) bool { return e.Stream == "note-wanted" },
		})
		require.NoError(t, err)
		messages, err := sub.Subscribe(t.Context(), eventlog.TopicAll)
		require.NoError(t, err)
		note := func(stream string) {
			_, err := log.Append(t.Context(), eventlog.Append{
				Stream: stream, Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{eventlogtest.Noted("x")},
			})
			require.NoError(t, err)
		}
		for range 200 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
			note("note-unwanted")
		}
		require.InDelta(t, 10, tail.reads.Load(), 2)
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		quiet := time.Now()
		note("note-wanted")
		(<-messages).Ack()
		require.Equal(t, quiet, time.Now(), "the first event after a quiet time does not wait")
		require.NoError(t, sub.Close())
	})
}
