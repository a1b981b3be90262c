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

// BenchmarkUploads records new assets of one account by several clients, joined, joined without parallel transactions, and each alone.
func BenchmarkUploads(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		for _, c := range []struct {
			name           string
			most, parallel int
		}{{"joined", 0, assetstore.Parallel}, {"one at a time", 0, 1}, {"alone", 1, clients}} {
			b.Run(c.name+"/clients="+strconv.Itoa(clients), func(b *testing.B) { benchmarkUploads(b, clients, c.most, c.parallel) })
		}
	}
}

func benchmarkUploads(b *testing.B, clients, most, parallel int) {
	types, sent := eventlog.NewRegistry(), &statements{}
	require.NoError(b, asset.Register(types))
	cfg := storetest.OpenPool(b, storetest.NewDatabase(b)).Config()
	cfg.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	require.NoError(b, err)
	defer pool.Close()
	store := assetstore.NewBounded(pool, eventstore.New(pool, types, nil), most, parallel)
	var next atomic.Int64
	one := func() {
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
		one() // plans
	}
	sent.n.Store(0)
	sent.commits.Store(0)
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				one()
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(sent.n.Load())/float64(b.N), "statements/op")
	b.ReportMetric(float64(sent.commits.Load())/float64(b.N), "commits/op")
}
