// Command workers measures what a fixed load costs on one, two and four worker processes: rate, processor time of all processes together
// for each job, transactions and log of PostgreSQL, and connections. If one worker keeps all processors of a machine busy, more workers
// cannot raise the rate, but they must not raise the cost of a job either. The exit status is 2 if the cost rises by more than a tenth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/child"
)

// targetRatio bounds the processor time of a job on several workers, against that on one.
const targetRatio = 1.10

type options struct {
	jobs    int
	clients int
	rounds  int
}

func main() {
	var o options
	flag.IntVar(&o.jobs, "jobs", 200, "jobs of each measurement")
	flag.IntVar(&o.clients, "clients", 16, "clients at once")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of each number of workers, in turns")
	flag.Parse()
	harness.Main("workers", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	inner, err := harness.FreeAddress()
	if err != nil {
		return err
	}
	if err := s.ServeRoles(ctx, "api,projector", "MILLRACE_SLOTS=64", "MILLRACE_INTERNAL_ADDR="+inner); err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx)) // the servers end with it
	jobs, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer jobs.Close()
	b := &bench{options: o, service: s, db: db, jobs: jobs}
	found := map[int][]figures{}
	for round := range o.rounds {
		numbers := []int{1, 2, 4}
		if round%2 == 1 {
			numbers = []int{4, 2, 1} // in turns, so that drift affects all alike
		}
		for _, n := range numbers {
			f, err := b.on(ctx, n)
			if err != nil {
				return fmt.Errorf("%d workers: %w", n, err)
			}
			found[n] = append(found[n], f)
		}
	}
	return report(o, found)
}

// figures are the results of one measurement, for each job.
type figures struct {
	rate, cpu, transactions, wal float64
	idle                         float64 // transactions of an idle second, which are subtracted from the others
	connections                  int
}

type bench struct {
	options
	service *harness.Service
	db      *pgx.Conn
	jobs    *harness.Platform
	next    atomic.Int64
}

// on measures the load on some workers, which it starts and stops.
func (b *bench) on(ctx context.Context, workers int) (f figures, err error) {
	for n := range workers {
		w, startErr := b.service.Worker(fmt.Sprintf("worker%d", n+1), "MILLRACE_STOP_AFTER=2s")
		if startErr != nil {
			return f, startErr
		}
		defer func() {
			err = errors.Join(err, w.Stop(context.WithoutCancel(ctx), child.Step{Signal: syscall.SIGTERM, Grace: 15 * time.Second}))
		}()
	}
	if err := harness.Times(ctx, b.options.jobs/4+8*workers, b.clients, b.one); err != nil { // warms every process
		return f, err
	}
	idle, err := b.idle(ctx)
	if err != nil {
		return f, err
	}
	before, err := b.read(ctx)
	if err != nil {
		return f, err
	}
	began, cpu := time.Now(), harness.CPU()
	if err := harness.Times(ctx, b.options.jobs, b.clients, b.one); err != nil {
		return f, err
	}
	took, used := time.Since(began), harness.CPU()-cpu
	if f, err = b.read(ctx); err != nil {
		return f, err
	}
	jobs, seconds := float64(b.options.jobs), took.Seconds()
	f.transactions, f.wal = (f.transactions-before.transactions-idle.transactions*seconds)/jobs, (f.wal-before.wal)/jobs
	f.rate, f.cpu, f.idle = jobs/seconds, (float64(used.Milliseconds())-idle.cpu*seconds)/jobs, idle.transactions
	return f, nil
}

// idleFor is the duration of the measurement of idle processes.
const idleFor = 3 * time.Second

// idle returns the usage of the processes in an idle second.
func (b *bench) idle(ctx context.Context) (f figures, err error) {
	before, err := b.read(ctx)
	if err != nil {
		return f, err
	}
	cpu := harness.CPU()
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return f, ctx.Err()
	}
	used := harness.CPU() - cpu
	if f, err = b.read(ctx); err != nil {
		return f, err
	}
	f.cpu, f.transactions = float64(used.Milliseconds())/idleFor.Seconds(), (f.transactions-before.transactions)/idleFor.Seconds()
	return f, nil
}

// read reads the counts of PostgreSQL, of Millrace's and of Temporal's databases. Sessions report theirs with a delay of up to
// a second.
func (b *bench) read(ctx context.Context) (f figures, err error) {
	err = b.db.QueryRow(ctx, `select (select sum(xact_commit + xact_rollback)::float8 from pg_stat_database), wal_bytes::float8,
		(select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) from pg_stat_wal`).
		Scan(&f.transactions, &f.wal, &f.connections)
	return f, err
}

// one runs a job of three cheap nodes, with a different graph each time.
func (b *bench) one(ctx context.Context) error {
	return b.jobs.One(ctx, fmt.Sprintf(`{"prompt":{
	"1":{"class_type":"PrimitiveString","inputs":{"value":"mill %d"}},
	"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
	"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}}`, b.next.Add(1)))
}

// report prints the medians and compares the cost of a job with that on one worker, round by round.
func report(o options, found map[int][]figures) error {
	fmt.Printf("%d jobs of three nodes, %d clients, %d rounds in turns, on %d processors\n", o.jobs, o.clients, o.rounds, runtime.NumCPU())
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "workers\tjobs/s\tcpu ms\tagainst one\ttransactions\twal kB\tidle transactions/s\tconnections")
	missed := false
	for _, n := range []int{1, 2, 4} {
		ratios := make([]float64, len(found[n]))
		for i, f := range found[n] {
			ratios[i] = f.cpu / found[1][i].cpu
		}
		ratio := harness.Median(ratios)
		missed = missed || ratio > targetRatio
		median := func(of func(figures) float64) float64 {
			all := make([]float64, len(found[n]))
			for i, f := range found[n] {
				all[i] = of(f)
			}
			return harness.Median(all)
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.0f\t%.0f\n", n,
			median(func(f figures) float64 { return f.rate }), median(func(f figures) float64 { return f.cpu }), ratio,
			median(func(f figures) float64 { return f.transactions }), median(func(f figures) float64 { return f.wal / 1000 }),
			median(func(f figures) float64 { return f.idle }),
			median(func(f figures) float64 { return float64(f.connections) }))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Printf("target: a job costs at most %.2f times as much on several workers\n", targetRatio)
	if missed {
		return harness.ErrMissed
	}
	return nil
}
