// Command router measures the model router against its parts: the latency it adds to a provider that answers at once,
// its throughput beside a bare Temporal workflow with one activity that makes the same HTTP call, and what a large
// answer costs in memory over the idle service. Both sides use the same servers and the same provider, in turns and in
// one run. Each figure is printed with its baseline, its target and whether it was met. The provider counts its
// requests, which proves that every measured answer of the router came from the provider and none from a record.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

func main() { harness.Main("router", run) }

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 3, "rounds of each side, in turns")
	span := flag.Duration("span", 6*time.Second, "length of a round")
	clients := flag.Int("clients", 64, "clients at once")
	delay := flag.Duration("delay", 50*time.Millisecond, "of the provider, while throughput is measured")
	sustained := flag.Duration("sustained", 0, "only send calls at a steady rate for this time, and watch the backlog of workflows")
	rate := flag.Int("rate", 240, "calls a second of -sustained")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := newProvider()
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.Serve(ctx, "MILLRACE_SIMULATOR="+p.base); err != nil {
		return err
	}
	bare, err := newBare(s.TemporalAddress, p)
	if err != nil {
		return err
	}
	defer bare.Close()
	r := newRouter(s.Base, *clients)
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx)) // it was read
	if err := guarantees(ctx, db); err != nil {
		return err
	}
	after := backlog{db, bare}
	if *sustained > 0 {
		p.delay.Store(int64(*delay))
		return steady(ctx, after, r, *rate, *sustained)
	}
	if err := large(ctx, s, p, r); err != nil { // first, because the heap after the other parts would hide the effect
		return err
	}
	if err := alone(ctx, p, r); err != nil {
		return err
	}
	p.delay.Store(int64(*delay))
	return together(ctx, *rounds, *span, *clients, after, p, r)
}

// guarantees prints the durability settings of the database during the measurement.
func guarantees(ctx context.Context, db *pgx.Conn) error {
	var fsync, commit, pages string
	err := db.QueryRow(ctx, `select current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')`).
		Scan(&fsync, &commit, &pages)
	fmt.Printf("postgresql: fsync %s, synchronous_commit %s, full_page_writes %s\n", fsync, commit, pages)
	return err
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

// alone measures the latency that the router adds, with one client and without a key.
func alone(ctx context.Context, p *provider, r *router) error {
	const warm, samples = 30, 300
	var through, direct []time.Duration
	before := p.answered.Load()
	for i := range warm + samples {
		began := time.Now()
		if err := r.one(ctx); err != nil {
			return err
		}
		routed := time.Since(began)
		began = time.Now()
		if err := p.call(ctx); err != nil {
			return err
		}
		if i >= warm {
			through, direct = append(through, routed), append(direct, time.Since(began))
		}
	}
	if got := p.answered.Load() - before; got != 2*(warm+samples) {
		return fmt.Errorf("the provider was asked %d times for %d calls", got, 2*(warm+samples))
	}
	const target = 5 * time.Millisecond
	added := harness.Quantile(through, 0.5) - harness.Quantile(direct, 0.5)
	fmt.Printf("alone:   direct p50 %s   through the router p50 %s, p95 %s   added p50 %s; target %s %s\n",
		round(harness.Quantile(direct, 0.5)), round(harness.Quantile(through, 0.5)), round(harness.Quantile(through, 0.95)),
		round(added), target, verdict(added <= target))
	return nil
}

// backlog is the workflows of ended calls.
type backlog struct {
	db     *pgx.Conn
	engine *harness.Engine
}

// count returns how many have not begun, and how many are open.
func (b backlog) count(ctx context.Context) (waiting, open int64, err error) {
	if err = b.db.QueryRow(ctx, `select count(*) from outbox`).Scan(&waiting); err != nil {
		return 0, 0, err
	}
	open, err = b.engine.Open(ctx)
	return waiting, open, err
}

// over waits until all are over.
func (b backlog) over(ctx context.Context) error {
	for {
		waiting, open, err := b.count(ctx)
		if err != nil || waiting+open == 0 {
			return err
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// together measures throughput with many clients, compared with the bare workflow, which begins when the workflows of the calls are over.
func together(ctx context.Context, rounds int, span time.Duration, clients int, after backlog, p *provider, r *router) error {
	bare := after.engine
	sides := []func(context.Context) error{bare.One, r.one}
	for _, side := range sides { // warm both
		if _, err := harness.Measure(ctx, span/2, clients, side); err != nil {
			return err
		}
	}
	var workflows, calls, whole, ratios []float64
	for i := range rounds {
		if err := after.over(ctx); err != nil {
			return err
		}
		b, err := harness.Measure(ctx, span, clients, bare.One)
		if err != nil {
			return err
		}
		before := p.answered.Load()
		began := time.Now()
		routed, err := harness.Measure(ctx, span, clients, r.one)
		if err != nil {
			return err
		}
		took, asked := time.Since(began).Seconds(), p.answered.Load()-before
		if done := int64(routed * took); asked < done-1 {
			return fmt.Errorf("the provider was asked %d times for %d calls", asked, done)
		}
		if err := after.over(ctx); err != nil {
			return err
		}
		ended := routed * took / time.Since(began).Seconds()
		fmt.Printf("round %d: bare workflow %6.1f/s   router %6.1f/s, with the workflows of the calls %6.1f/s   ratio %.2f\n",
			i+1, b, routed, ended, ended/b)
		workflows, calls, whole, ratios = append(workflows, b), append(calls, routed), append(whole, ended), append(ratios, ended/b)
	}
	const target, rate = 0.6, 200
	fmt.Printf("median:  bare workflow %6.1f/s   router %s/s, target %d/s %s; with the workflows of the calls %s/s, ratio %s, "+
		"target %.2f %s\n", harness.Median(workflows), harness.Spread(calls), rate, verdict(harness.Median(calls) >= rate), harness.Spread(whole),
		harness.Spread(ratios), target, verdict(harness.Median(ratios) >= target))
	return nil
}

// large passes an answer of 20 MB through the service and watches its memory. The baseline is the service after one
// small call.
func large(ctx context.Context, s *harness.Service, p *provider, r *router) error {
	if err := r.one(ctx); err != nil {
		return err
	}
	idle, peakBefore := s.ResidentMemory(), s.ServiceMemory()
	var most atomic.Int64
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for watching.Err() == nil {
			most.Store(max(most.Load(), s.ResidentMemory()))
			<-tick.C
		}
	})
	const times = 5
	began := time.Now()
	var failed error
	for range times {
		if failed = r.bytes(ctx, largeAnswer); failed != nil {
			break
		}
	}
	took := time.Since(began) / times
	stop()
	watcher.Wait()
	if failed != nil {
		return failed
	}
	if peak := s.ServiceMemory(); peak > peakBefore { // the peak that the system records includes the time between two readings
		most.Store(peak)
	}
	began = time.Now()
	for range times {
		if _, err := drain(ctx, p.http, p.base+"/sim/speech"); err != nil {
			return err
		}
	}
	const target = 64
	over := most.Load() - idle
	fmt.Printf("large:   an answer of %d MB: direct %s   through the router %s   memory idle %d MiB, at most %d MiB over it; target %d MiB "+
		"%s\n",
		largeAnswer/1_000_000, round(time.Since(began)/times), round(took), idle, over, target, verdict(over < target))
	return nil
}

const largeAnswer = 20_000_000

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
