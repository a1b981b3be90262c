// Command jobs measures whole jobs against the engine that carries them: a cheap graph
// of three nodes submitted over HTTP, beside a bare Temporal workflow with one empty
// local activity, on the same servers, in turns. It then measures the time from POST
// to the terminal state by GET, alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/bench/stand"
)

// graph is three cheap nodes, another graph each time: the node cache, which is on, has none of them.
func graph() string {
	return fmt.Sprintf(`{"prompt":{
	"1":{"class_type":"PrimitiveString","inputs":{"value":"mill %d"}},
	"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
	"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}}`, graphs.Add(1))
}

var graphs atomic.Int64

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/jobs: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 3, "rounds of each side, in turns")
	span := flag.Duration("span", 6*time.Second, "length of a round")
	clients := flag.Int("clients", 20, "clients at once")
	flag.Parse()
	s, err := stand.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, "MILLRACE_SLOTS=64", "MILLRACE_NODE_CACHE=4294967296"); err != nil {
		return err
	}
	bare, err := newBare(s.TemporalAddress)
	if err != nil {
		return err
	}
	defer bare.close()
	jobs, err := stand.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer jobs.Close()
	job := func(ctx context.Context) error { return jobs.One(ctx, graph()) }
	fmt.Printf("%d clients, %d rounds of %s each side; one task queue partition, 4 workflow pollers, fsync and synchronous commit on\n", *clients, *rounds, *span)
	for _, side := range []func(context.Context) error{bare.one, job} { // warm both
		if _, err := stand.Measure(ctx, *span/2, *clients, side); err != nil {
			return err
		}
	}
	var bareRates, jobRates, ratios []float64
	var bareCost, jobCost []float64
	for i := range *rounds {
		b, bc, err := rateAndCost(ctx, *span, *clients, bare.one)
		if err != nil {
			return err
		}
		j, jc, err := rateAndCost(ctx, *span, *clients, job)
		if err != nil {
			return err
		}
		bareCost, jobCost = append(bareCost, bc), append(jobCost, jc)
		fmt.Printf("round %d: bare workflow %6.1f/s   job %6.1f/s   ratio %.2f\n", i+1, b, j, j/b)
		bareRates, jobRates, ratios = append(bareRates, b), append(jobRates, j), append(ratios, j/b)
	}
	fmt.Printf("median:  bare workflow %6.1f/s   job %6.1f/s   ratio %.2f (target 0.50)\n", stand.Median(bareRates), stand.Median(jobRates), stand.Median(ratios))
	if b, j := stand.Median(bareCost), stand.Median(jobCost); b > 0 {
		fmt.Printf("cpu:     a bare workflow %.1f ms, a job %.1f ms of processor time in all, ratio %.2f\n", b, j, b/j)
	}
	return alone(ctx, s, bare, jobs)
}

// rateAndCost returns how many finished a second, and the processor time of each in milliseconds.
func rateAndCost(ctx context.Context, span time.Duration, clients int, one func(context.Context) error) (rate, millis float64, err error) {
	before, began := stand.CPU(), time.Now()
	rate, err = stand.Measure(ctx, span, clients, one)
	if rate > 0 {
		millis = float64((stand.CPU() - before).Milliseconds()) / (rate * time.Since(began).Seconds())
	}
	return rate, millis, err
}

// alone measures latency with one client.
func alone(ctx context.Context, s *stand.Stand, bare *bare, jobs *stand.Platform) error {
	const samples = 150
	var workflows, polled []time.Duration
	for range samples {
		began := time.Now()
		if err := bare.one(ctx); err != nil {
			return err
		}
		workflows = append(workflows, time.Since(began))
		took, err := jobs.Polled(ctx, graph())
		if err != nil {
			return err
		}
		polled = append(polled, took)
	}
	fmt.Printf("alone:   bare workflow p50 %s   POST to terminal GET p50 %s, p95 %s (target p50 40ms)\n",
		round(stand.Quantile(workflows, 0.5)), round(stand.Quantile(polled, 0.5)), round(stand.Quantile(polled, 0.95)))
	fmt.Printf("memory:  service peak %d MiB\n", s.ServiceMemory())
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// bare is the engine alone.
type bare struct {
	client client.Client
	worker worker.Worker
	next   atomic.Int64
}

const bareQueue = "bare"

func nothing(context.Context) error { return nil }

func bareWorkflow(ctx workflow.Context) error {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
	return workflow.ExecuteLocalActivity(ctx, nothing).Get(ctx, nil)
}

func newBare(address string) (*bare, error) {
	c, err := client.Dial(client.Options{HostPort: address, Logger: silent{}})
	if err != nil {
		return nil, err
	}
	w := worker.New(c, bareQueue, worker.Options{MaxConcurrentWorkflowTaskPollers: 4})
	w.RegisterWorkflow(bareWorkflow)
	w.RegisterActivity(nothing)
	return &bare{client: c, worker: w}, w.Start()
}

func (b *bare) one(ctx context.Context) error {
	run, err := b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("bare-%d", b.next.Add(1)), TaskQueue: bareQueue, EnableEagerStart: true,
	}, bareWorkflow)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

func (b *bare) close() {
	b.worker.Stop()
	b.client.Close()
}

// silent drops the SDK's log.
type silent struct{}

var _ sdklog.Logger = silent{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
