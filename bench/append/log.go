package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

const typeMeasured = "bench.measured.v1"

type measuredV1 struct {
	Text string `json:"text"`
}

// process is one process's view of the log.
type process struct {
	pool        *pgxpool.Pool
	wake        *eventstore.Wake
	store       *eventstore.Store
	tail        *eventstore.Tailer
	checkpoints *eventstore.Checkpoints

	cancels []context.CancelFunc
	tasks   sync.WaitGroup
}

func open(ctx context.Context, dsn string, conns int) (*process, error) {
	registry := eventlog.NewRegistry()
	if err := registry.Register(eventlog.TypeOf[measuredV1](typeMeasured)); err != nil {
		return nil, err
	}
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{MaxConns: int32(conns)}) // a small flag
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	p := &process{pool: pool, wake: eventstore.NewWake(dsn, quiet)}
	p.store = eventstore.New(pool, registry, p.wake)
	if p.tail, err = eventstore.OpenTailer(ctx, pool, dsn, p.wake, eventstore.TailerOptions{}); err != nil {
		return nil, err
	}
	p.checkpoints = eventstore.NewCheckpoints(pool, dsn, quiet)
	return p, nil
}

// start runs the parts that subscribers need, until close.
func (p *process) start(ctx context.Context) {
	ctx = p.background(ctx)
	for _, run := range []func(context.Context) error{p.wake.Run, p.tail.Run, p.checkpoints.Run} {
		p.tasks.Go(func() { _ = run(ctx) }) // they end with the context
	}
}

// background returns a context that close ends.
func (p *process) background(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	p.cancels = append(p.cancels, cancel)
	return ctx
}

func (p *process) close() {
	for _, cancel := range p.cancels {
		cancel()
	}
	p.tasks.Wait()
	p.pool.Close()
}

// subscribe runs handlers under a Watermill router and returns when it listens.
func (p *process) subscribe(
	ctx context.Context, handlers map[string]eventlog.SubscriberOptions, handle func(string, *message.Message) error,
) error {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Second}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	for name, opts := range handlers {
		sub, err := eventlog.NewSubscriber(p.tail, opts)
		if err != nil {
			return err
		}
		router.AddConsumerHandler(name, eventlog.TopicAll, sub, func(msg *message.Message) error { return handle(name, msg) })
	}
	background := p.background(ctx)
	p.tasks.Go(func() { _ = router.Run(background) })
	select {
	case <-router.Running():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeFor appends with all writers for a round and returns appends per second. Subscribers are
// those of a full process: a hub that follows from now, and a group with a checkpoint.
func writeFor(ctx context.Context, dsn string, o options, subscribers bool) (float64, error) {
	p, err := open(ctx, dsn, o.writers+4)
	if err != nil {
		return 0, err
	}
	defer p.close()
	var delivered atomic.Int64
	if subscribers {
		p.start(ctx)
		handlers := map[string]eventlog.SubscriberOptions{
			"hub":   {After: p.tail.Start()},
			"group": {Group: "bench", Checkpoints: p.checkpoints},
		}
		err := p.subscribe(ctx, handlers, func(name string, msg *message.Message) error {
			batch, err := eventlog.BatchOf(msg)
			if err != nil {
				return err
			}
			delivered.Add(int64(len(batch.Events)))
			if name == "group" {
				return eventstore.SaveCheckpoint(msg.Context(), p.pool, "bench", batch.After, batch.UpTo, batch.Read)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if _, err := p.write(ctx, o.writers, 0); err != nil { // opens the connections and plans
		return 0, err
	}
	rate, err := p.write(ctx, o.writers, o.round)
	if err == nil && subscribers && delivered.Load() == 0 {
		err = fmt.Errorf("the subscribers received nothing")
	}
	return rate, err
}

// write appends with n writers at once, each to streams of its own and at least once, and returns
// appends per second.
func (p *process) write(ctx context.Context, n int, length time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, length+time.Minute)
	defer cancel()
	var appended atomic.Int64
	errs := make([]error, n)
	var writers sync.WaitGroup
	started := time.Now()
	for w := range n {
		writers.Go(func() {
			for more := true; more; more = time.Since(started) < length {
				if _, err := p.store.Append(ctx, measured("bench-"+uuid.NewString(), 3)); err != nil {
					errs[w] = err
					return
				}
				appended.Add(1)
			}
		})
	}
	writers.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(appended.Load()) / time.Since(started).Seconds(), nil
}

var filler = strings.Repeat("x", 250)

func measured(stream string, n int) eventlog.Append {
	a := eventlog.Append{Stream: stream, Account: "bench", Expected: eventlog.AnyVersion}
	for range n {
		a.Events = append(a.Events, eventlog.Event{ID: uuid.New(), Type: typeMeasured, Data: measuredV1{Text: filler}})
	}
	return a
}

// timeEvents appends one event after the other and measures until its handler is called.
func timeEvents(ctx context.Context, dsn string, n int, other bool) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	reader, err := open(ctx, dsn, 4)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	reader.start(ctx)
	writer := reader
	if other {
		if writer, err = open(ctx, dsn, 4); err != nil {
			return nil, err
		}
		defer writer.close()
		writer.start(ctx)
	}
	seen := make(chan time.Time, n)
	err = reader.subscribe(ctx, map[string]eventlog.SubscriberOptions{"hub": {After: reader.tail.Start()}},
		func(string, *message.Message) error {
			seen <- time.Now()
			return nil
		})
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, 0, n)
	for range n {
		started := time.Now()
		if _, err := writer.store.Append(ctx, measured("latency", 1)); err != nil {
			return nil, err
		}
		select {
		case at := <-seen:
			took = append(took, at.Sub(started))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return took, nil
}
