package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// seed appends the whole life of finished jobs to the log and waits until the view has them.
func seed(ctx context.Context, dsn string, count int) error {
	types := eventlog.NewRegistry()
	if err := job.Register(types); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{MaxConns: 8})
	if err != nil {
		return err
	}
	defer pool.Close()
	store := eventstore.New(pool, types, nil)
	const batch = 200
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for done := 0; done < count; done += batch {
		group.Go(func() error {
			appends := make([]eventlog.Append, min(batch, count-done))
			for i := range appends {
				appends[i] = life(job.NewID(), float64(done+i))
			}
			_, err := store.Write(gctx, eventstore.Decision{
				Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error { return c.Append(appends...) },
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := folded(ctx, pool, store); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `vacuum analyze`)
	return err
}

// life contains all events of a job of three nodes.
func life(id job.ID, number float64) eventlog.Append {
	const run = 1
	ui := json.RawMessage(`{"text":["millrace"]}`)
	events := []struct {
		node, kind string
		data       any
	}{
		{"", job.TypeSubmitted, job.SubmittedV1{
			Number: number, Surface: job.SurfaceCloud, Document: job.Document{Inline: `{"prompt":{}}`},
			Targets: []string{"3"}, NodesTotal: 3,
		}},
		{"", job.TypeAdmitted, job.AdmittedV1{Run: run}},
		{"", job.TypeStarted, job.StartedV1{Run: run, NodesTotal: 3, Worker: "seed", Execution: "seed"}},
		{"", job.TypeNodesCached, job.NodesCachedV1{Run: run, Nodes: []string{}}},
		{"1", job.TypeNodeExecuted, job.NodeExecutedV1{Run: run, Node: "1", Class: "PrimitiveString"}},
		{"2", job.TypeNodeExecuted, job.NodeExecutedV1{Run: run, Node: "2", Class: "StringConcatenate"}},
		{"3", job.TypeNodeExecuted, job.NodeExecutedV1{Run: run, Node: "3", Class: "PreviewAny", UI: ui}},
		{"", job.TypeSucceeded, job.SucceededV1{Run: run}},
	}
	a := eventlog.Append{Stream: id.Stream(), Account: "local", Close: true}
	for _, f := range events {
		a.Events = append(a.Events, eventlog.Event{ID: job.EventID(id, run, f.node, 0, f.kind), Type: f.kind, Data: f.data})
	}
	return a
}

// folded waits until all readers have reached the end of the log, so that their work is not measured.
func folded(ctx context.Context, pool *pgxpool.Pool, store *eventstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	for {
		var at int64
		if err := pool.QueryRow(ctx, `select min(position) from checkpoints`).Scan(&at); err != nil {
			return fmt.Errorf("read the checkpoints: %w", err)
		}
		if at >= head {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}
