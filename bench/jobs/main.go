// Command jobs measures whole jobs against the engine that runs them: a cheap graph
// of three nodes submitted over HTTP, beside a bare Temporal workflow with one empty
// local activity, on the same servers, in turns. It then measures the time from POST
// to the terminal state by GET, alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// graph has three cheap nodes. It differs each time, so that the node cache has none of them.
func graph() string {
	return fmt.Sprintf(`{"prompt":{
	"1":{"class_type":"PrimitiveString","inputs":{"value":"mill %d"}},
	"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
	"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}}`, graphs.Add(1))
}

// picture makes and saves an image of another colour each time.
func picture() string {
	return fmt.Sprintf(`{"prompt":{
	"1":{"class_type":"EmptyImage","inputs":{"width":512,"height":512,"batch_size":1,"color":%d}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"bench"}}}}`, graphs.Add(1)%(1<<24))
}

var graphs atomic.Int64

func main() { harness.Main("jobs", run) }

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 3, "rounds of each side, in turns")
	span := flag.Duration("span", 6*time.Second, "length of a round")
	clients := flag.Int("clients", 20, "clients at once")
	many := flag.Int("burst", 5000, "jobs that are submitted at once at the end")
	crowd := flag.Int("crowd", 64, "clients that submit them")
	samples := flag.Int("alone", 150, "jobs of one client whose latency is measured")
	watch := watching{}
	flag.StringVar(&watch.profile, "profile", "", "file for a CPU profile of the service during the burst")
	flag.IntVar(&watch.statements, "statements", 0, "print so many of the most frequent statements of the burst")
	flag.Parse()
	s, err := watch.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	env, err := watch.env()
	if err != nil {
		return err
	}
	if err := s.Serve(ctx, append(env, "MILLRACE_SLOTS=64", "MILLRACE_QUEUE_DEPTH="+strconv.Itoa(*many+*crowd),
		"MILLRACE_NODE_CACHE=4294967296")...); err != nil {
		return err
	}
	bare, err := harness.NewBare(s.TemporalAddress)
	if err != nil {
		return err
	}
	defer bare.Close()
	jobs, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer jobs.Close()
	if *rounds > 0 {
		if err := compare(ctx, bare, jobs, *rounds, *clients, *span); err != nil {
			return err
		}
	}
	if *samples > 0 {
		if err := alone(ctx, s, bare, jobs, *samples); err != nil {
			return err
		}
	}
	if *many <= 0 {
		return nil
	}
	return watch.during(ctx, s, *many, func() error { return runBurst(ctx, s.Base, *many, *crowd) })
}

// compare measures rates.
func compare(ctx context.Context, bare *harness.Engine, jobs *harness.Platform, rounds, clients int, span time.Duration) error {
	job := func(ctx context.Context) error { return jobs.One(ctx, graph()) }
	fmt.Printf("%d clients, %d rounds of %s each side; one task queue partition, 4 workflow pollers, fsync and synchronous commit on\n",
		clients, rounds, span)
	for _, side := range []func(context.Context) error{bare.One, job} { // warm both
		if _, err := harness.Measure(ctx, span/2, clients, side); err != nil {
			return err
		}
	}
	var bareRates, jobRates, ratios []float64
	var bareCost, jobCost []float64
	for i := range rounds {
		b, bc, err := rateAndCost(ctx, span, clients, bare.One)
		if err != nil {
			return err
		}
		j, jc, err := rateAndCost(ctx, span, clients, job)
		if err != nil {
			return err
		}
		bareCost, jobCost = append(bareCost, bc), append(jobCost, jc)
		fmt.Printf("round %d: bare workflow %6.1f/s   job %6.1f/s   ratio %.2f\n", i+1, b, j, j/b)
		bareRates, jobRates, ratios = append(bareRates, b), append(jobRates, j), append(ratios, j/b)
	}
	fmt.Printf("median:  bare workflow %6.1f/s   job %6.1f/s   ratio %s (target 0.80)\n", harness.Median(bareRates),
		harness.Median(jobRates), harness.Spread(ratios))
	if b, j := harness.Median(bareCost), harness.Median(jobCost); b > 0 {
		fmt.Printf("cpu:     a bare workflow %s ms, a job %s ms of processor time in all (target 8.5), ratio %.2f\n",
			harness.Spread(bareCost), harness.Spread(jobCost), b/j)
	}
	return nil
}

// rateAndCost returns the rate per second, and the processor time of each run in milliseconds.
func rateAndCost(ctx context.Context, span time.Duration, clients int, one func(context.Context) error) (rate, millis float64, err error) {
	before, began := harness.CPU(), time.Now()
	rate, err = harness.Measure(ctx, span, clients, one)
	if rate > 0 {
		millis = float64((harness.CPU() - before).Milliseconds()) / (rate * time.Since(began).Seconds())
	}
	return rate, millis, err
}

// alone measures latency with one client.
func alone(ctx context.Context, s *harness.Service, bare *harness.Engine, jobs *harness.Platform, samples int) error {
	var workflows, polled, pictures []time.Duration
	for range samples {
		began := time.Now()
		if err := bare.One(ctx); err != nil {
			return err
		}
		workflows = append(workflows, time.Since(began))
		took, err := jobs.Polled(ctx, graph())
		if err != nil {
			return err
		}
		polled = append(polled, took)
		if took, err = jobs.Polled(ctx, picture()); err != nil {
			return err
		}
		pictures = append(pictures, took)
	}
	fmt.Printf("alone:   bare workflow p50 %s   POST to terminal GET p50 %s, p95 %s (target p50 12ms)   with a picture of 512² p50 %s, p95 "+
		"%s (18ms)\n",
		round(harness.Quantile(workflows, 0.5)), round(harness.Quantile(polled, 0.5)), round(harness.Quantile(polled, 0.95)),
		round(harness.Quantile(pictures, 0.5)), round(harness.Quantile(pictures, 0.95)))
	fmt.Printf("memory:  service peak %d MiB\n", s.ServiceMemory())
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
