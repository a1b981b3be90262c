package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/blob"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/assets"
)

const seedBatch = 500

// seed records assets as uploads do, fact and row in one transaction, and waits until the view has them.
func seed(ctx context.Context, dsn string, count int) error {
	types := eventlog.NewRegistry()
	if err := asset.Register(types); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{MaxConns: 8})
	if err != nil {
		return err
	}
	defer pool.Close()
	store := postgres.NewEventStore(pool, types, nil)
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for done := 0; done < count; done += seedBatch {
		group.Go(func() error { return seedSome(gctx, pool, store, done, min(seedBatch, count-done)) })
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

func seedSome(ctx context.Context, pool *pgxpool.Pool, store *postgres.EventStore, first, count int) error {
	appends, rows := make([]eventlog.Append, count), make([][]any, count)
	for i := range count {
		id := asset.NewID()
		path, tags := "seed/"+string(id), []string{fmt.Sprintf("seed-%d", (first+i)%10)}
		hash := blob.Sum([]byte(id))
		fact := asset.CreatedV1{
			Origin: asset.Uploaded, Hash: hash, Size: 1, ContentType: "a/b", FilePath: &path, Tags: tags,
			Place: &asset.Place{Folder: "input", Subfolder: "seed", Filename: string(id)},
		}
		appends[i] = eventlog.Append{
			Stream: id.Stream(), Account: "local",
			Events: []eventlog.Event{{ID: asset.FactID(id, asset.TypeCreated), Type: asset.TypeCreated, Data: fact}},
		}
		rows[i] = []any{string(id), "local", hash[:], 1, "a/b", path, "input", "seed", string(id), true, tags}
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"files"}, []string{
			"asset_id", "account", "hash", "size", "content_type", "file_path", "folder", "subfolder", "filename", "named", "tags",
		}, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
		_, err = store.AppendAll(ctx, tx, appends)
		return err
	})
}

// folded waits until the view of assets has come to the end of the log.
func folded(ctx context.Context, pool *pgxpool.Pool, store *postgres.EventStore) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var position int64
		if err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from checkpoints where name = $1`, assets.Name).Scan(&position); err != nil {
			return err
		}
		if position >= head {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the view of assets did not come to position %d: %w", head, ctx.Err())
		case <-tick.C:
		}
	}
}
