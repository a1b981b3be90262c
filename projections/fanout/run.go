package fanout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

const jobTopic = "job" // the streams of jobs

// Run follows the log from the start of tail, as handlers of a Watermill router, and the live frames of bus, until ctx
// ends. It then closes every subscription of the hub.
func (f *Fanout) Run(ctx context.Context, tail eventlog.Tail, bus stream.Bus) error {
	router, err := f.router(tail)
	if err != nil {
		return err
	}
	f.Begin(tail.Start())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return router.Run(ctx) })
	group.Go(func() error { return bus.Receive(ctx, f.HandleFrame) })
	context.AfterFunc(ctx, f.hub.Stop) // close subscriptions first: the router may take a while to end
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("fan out: %w", err)
	}
	return nil
}

func (f *Fanout) router(tail eventlog.Tail) (*message.Router, error) {
	// Watermill logs its internals at level Info: operators need them only when debugging.
	logger := watermill.NewSlogLoggerWithLevelMapping(f.log, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 5 * time.Second}, logger)
	if err != nil {
		return nil, fmt.Errorf("make the router of the fan-out: %w", err)
	}
	sub, err := eventlog.NewSubscriber(tail, eventlog.SubscriberOptions{After: tail.Start(), Log: f.log})
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(middleware.Recoverer)
	follow := func(name, topic string, handle func(context.Context, []eventlog.Recorded) error) {
		router.AddConsumerHandler(name, topic, sub, func(msg *message.Message) error {
			batch, err := eventlog.BatchOf(msg)
			if err != nil {
				return err
			}
			return handle(msg.Context(), batch.Events)
		})
	}
	follow("fanout", jobTopic, f.Handle)
	for _, kind := range []task.Kind{task.Export, task.Download} {
		follow("fanout_"+string(kind)+"s", string(kind), func(_ context.Context, events []eventlog.Recorded) error {
			f.HandleTasks(kind, events)
			return nil
		})
	}
	return router, nil
}
