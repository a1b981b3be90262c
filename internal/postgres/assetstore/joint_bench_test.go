package assetstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// statements counts what is sent in batches.
type statements struct{ n, commits atomic.Int64 }

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	s.n.Add(int64(data.Batch.Len()))
	for _, q := range data.Batch.QueuedQueries {
		if q.SQL == "commit" {
			s.commits.Add(1)
		}
	}
	return ctx
}

func (*statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (*statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// BenchmarkUploads records new assets of one account by several clients, joined, and each alone.
func BenchmarkUploads(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		for name, alone := range map[string]bool{"joined": false, "alone": true} {
			b.Run(name+"/clients="+strconv.Itoa(clients), func(b *testing.B) { benchmarkUploads(b, clients, alone) })
		}
	}
}

func benchmarkUploads(b *testing.B, clients int, alone bool) {
	types, sent := eventlog.NewRegistry(), &statements{}
	require.NoError(b, asset.Register(types))
	cfg := storetest.OpenPool(b, storetest.NewDatabase(b)).Config()
	cfg.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	require.NoError(b, err)
	defer pool.Close()
	events := eventstore.New(pool, types, nil)
	store := assetstore.New(pool, events)
	var next atomic.Int64
	one := func(store *assetstore.Store) {
		name := fmt.Sprint(next.Add(1))
		_, err := store.Create(b.Context(), asset.New{
			Account: "acme", Origin: asset.Uploaded, Hash: blob.Sum([]byte(name)), Fresh: true, Size: 1, ContentType: "image/png",
			FilePath: &name, Place: &asset.Place{Folder: "input", Filename: name},
		})
		if err != nil {
			b.Error(err)
		}
	}
	for range 20 {
		one(store) // plans
	}
	sent.n.Store(0)
	sent.commits.Store(0)
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	for range clients {
		store := store
		if alone { // it joins nothing with the stores of the other clients
			store = assetstore.New(pool, events)
		}
		group.Go(func() {
			for left.Add(-1) >= 0 {
				one(store)
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(sent.n.Load())/float64(b.N), "statements/op")
	b.ReportMetric(float64(sent.commits.Load())/float64(b.N), "commits/op")
}
