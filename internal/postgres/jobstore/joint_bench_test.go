package jobstore_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
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

// BenchmarkJobs submits and ends jobs of one account by several clients, joined and each alone.
func BenchmarkJobs(b *testing.B) {
	for _, clients := range []int{1, 20, 64} {
		for name, most := range map[string]int{"joined": 0, "alone": 1} {
			b.Run(name+"/clients="+strconv.Itoa(clients), func(b *testing.B) { benchmarkJobs(b, clients, most) })
		}
	}
}

func benchmarkJobs(b *testing.B, clients, most int) {
	types, sent := eventlog.NewRegistry(), &statements{}
	require.NoError(b, job.Register(types))
	cfg := storetest.OpenPool(b, storetest.NewDatabase(b)).Config()
	cfg.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	require.NoError(b, err)
	defer pool.Close()
	jobs := jobstore.NewBounded(pool, eventstore.New(pool, types, nil), most)
	one := func() {
		n := job.NewJob{ID: job.NewID(), Account: account.LocalID, Bounds: job.Bounds{Slots: 1000}}
		made, err := jobs.Submit(b.Context(), n)
		if err == nil {
			_, err = jobs.End(b.Context(), endAs(made.Job, job.TypeSucceeded, executed(made.Job, "1", 0), executed(made.Job, "2", 0)))
		}
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
