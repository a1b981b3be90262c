package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Options tune a Runner. The zero value works.
type Options struct {
	Batch      int                         // events of a batch, default and maximum 500
	Linger     time.Duration               // minimum time between two batches, default 20 ms; reads fold the events that a view lacks
	MostLinger time.Duration               // default 100 ms: Linger grows up to this with the rate of events
	Retries    int                         // further quick attempts before a batch is put back, default 3
	FirstRetry time.Duration               // pause before the first retry, doubled each time; default 20 ms
	Middleware []message.HandlerMiddleware // outermost, such as metrics
	OnHalt     func(Halted)                // called for each stream that halts; may be nil
	Log        *slog.Logger                // default: discard
}

func (o Options) withDefaults() Options {
	if o.Batch <= 0 || o.Batch > batchLimit {
		o.Batch = batchLimit
	}
	if o.Linger <= 0 {
		o.Linger = 20 * time.Millisecond
	}
	if o.MostLinger <= 0 {
		o.MostLinger = 100 * time.Millisecond
	}
	if o.Retries <= 0 {
		o.Retries = 3
	}
	if o.FirstRetry <= 0 {
		o.FirstRetry = 20 * time.Millisecond
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Runner keeps views up to date: each projection is a handler of a Watermill router with a consumer group of its own.
// Across all processes, one runner at a time moves a projection; the others wait and take over when its process or
// its database session ends.
type Runner struct {
	pool   *pgxpool.Pool
	tail   eventlog.Tail
	opts   Options
	router *message.Router
	views  []Projection
}

// NewRunner returns a runner of the projections. Tail and checkpoints must be running.
func NewRunner(pool *pgxpool.Pool, tail eventlog.Tail, checkpoints eventlog.Checkpoints, opts Options,
	projections ...Projection,
) (*Runner, error) {
	opts = opts.withDefaults()
	// Watermill logs its internals at level Info: operators need them only when debugging.
	logger := watermill.NewSlogLoggerWithLevelMapping(opts.Log, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 10 * time.Second}, logger)
	if err != nil {
		return nil, fmt.Errorf("make the router of projections: %w", err)
	}
	r := &Runner{pool: pool, tail: tail, opts: opts, router: router, views: projections}
	retry := middleware.Retry{
		MaxRetries: opts.Retries, InitialInterval: opts.FirstRetry, Multiplier: 2, MaxInterval: time.Second,
		Logger: logger,
		ShouldRetry: func(p middleware.RetryParams) bool {
			return !errors.Is(p.Err, errCheckpointMoved) && !errors.Is(p.Err, eventlog.ErrRewound)
		},
	}
	router.AddMiddleware(opts.Middleware...)
	router.AddMiddleware(middleware.CorrelationID, retry.Middleware, middleware.Recoverer)
	for _, p := range projections {
		sub, err := eventlog.NewSubscriber(tail, eventlog.SubscriberOptions{
			Group: p.Name, Checkpoints: checkpoints, Batch: opts.Batch,
			Linger: max(opts.Linger, p.Linger), MostLinger: opts.MostLinger, Log: opts.Log, Wants: p.Wants,
		})
		if err != nil {
			return nil, err
		}
		router.AddConsumerHandler(p.Name, eventlog.TopicAll, sub, r.handler(p))
	}
	return r, nil
}

// Run keeps the views up to date until ctx ends, and then finishes the running batches. It first rebuilds views whose
// checkpoint is beyond the end of the log.
func (r *Runner) Run(ctx context.Context) error {
	mended := make(chan struct{})
	go func() { defer close(mended); r.rebuildAhead(ctx) }()
	defer func() { <-mended }()
	if err := r.router.Run(ctx); err != nil {
		return fmt.Errorf("run projections: %w", err)
	}
	return nil
}

func (r *Runner) handler(p Projection) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		batch, err := eventlog.BatchOf(msg)
		if err != nil {
			return err
		}
		err = r.apply(msg.Context(), p, batch)
		if errors.Is(err, eventlog.ErrRewound) {
			r.tail.Recheck()
		}
		return err
	}
}

// apply folds a batch, and reports the streams that halt.
func (r *Runner) apply(ctx context.Context, p Projection, b eventlog.Batch) error {
	stopped, err := applyBatch(ctx, r.pool, p, b)
	if err != nil {
		return fmt.Errorf("apply events %d to %d to %s: %w", b.After+1, b.UpTo, p.Name, err)
	}
	for _, h := range stopped {
		r.opts.Log.Error("stream halted; its later events wait until it is resumed",
			"projection", h.Projection, "stream", h.Stream, "position", h.Position, "error", h.cause)
		if r.opts.OnHalt != nil {
			r.opts.OnHalt(h)
		}
	}
	return nil
}
