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

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

const (
	jobTopic      = "job" // the streams of jobs
	exportTopic   = "export"
	downloadTopic = "download"
	batchLimit    = 500 // events of one message: a backlog is read in few round trips
)

// Run follows the log from its current end, as a handler of a Watermill router, and the live frames of bus, until ctx
// ends. It then closes every subscription of the hub. Tail must be running.
func (f *Fanout) Run(ctx context.Context, tail eventlog.Tail, bus stream.Bus) error {
	router, err := f.router(tail)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return router.Run(ctx) })
	group.Go(func() error { return f.beginWhenRunning(ctx, router, tail) })
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
	sub, err := eventlog.NewSubscriber(tail, eventlog.SubscriberOptions{FromNow: true, Batch: batchLimit, Log: f.log})
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(middleware.Recoverer)
	router.AddConsumerHandler("fanout", jobTopic, sub, func(msg *message.Message) error {
		batch, err := eventlog.BatchOf(msg)
		if err != nil {
			return err
		}
		return f.Handle(msg.Context(), batch.Events)
	})
	tasks := func(handle func([]eventlog.Recorded)) message.NoPublishHandlerFunc {
		return func(msg *message.Message) error {
			batch, err := eventlog.BatchOf(msg)
			if err != nil {
				return err
			}
			handle(batch.Events)
			return nil
		}
	}
	router.AddConsumerHandler("fanout_exports", exportTopic, sub, tasks(f.HandleExports))
	router.AddConsumerHandler("fanout_downloads", downloadTopic, sub, tasks(f.HandleDownloads))
	return router, nil
}

// beginWhenRunning calls Begin when the subscription runs. The position is not before the subscription's start, so that no event
// is missed.
func (f *Fanout) beginWhenRunning(ctx context.Context, router *message.Router, tail eventlog.Tail) error {
	select {
	case <-router.Running():
	case <-ctx.Done():
		return ctx.Err()
	}
	position, err := tail.Settled(ctx)
	if err != nil {
		return fmt.Errorf("find the end of the log: %w", err)
	}
	f.Begin(position)
	return nil
}
