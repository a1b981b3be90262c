package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// The short segments of the throughput: a quarter of a second, as a small picture takes on a server that has its models
// loaded.
const (
	shortSteps = 50
	shortStep  = 5 * time.Millisecond
)

// throughput measures four servers behind Millrace beside four clients that drive one server each.
func (b *bench) throughput(ctx context.Context) error {
	const servers, rounds = 4, 3
	all, err := startMachines(servers, sim.Options{Step: shortStep})
	if err != nil {
		return err
	}
	defer all.close()
	return served(ctx, all.urls(), func(s *harness.Service) error {
		var bare []*client
		for _, m := range all {
			c, err := dial(ctx, m.URL())
			if err != nil {
				return err
			}
			defer c.close()
			bare = append(bare, c)
		}
		through, err := dial(ctx, s.Base)
		if err != nil {
			return err
		}
		defer through.close()
		one := func(c *client) func(context.Context) error {
			return func(ctx context.Context) error {
				return c.picture(ctx, onePicture(simulatedCheckpoint, 64, shortSteps))
			}
		}
		var ratios []float64
		for i := range rounds + 1 {
			direct, err := together(ctx, b.span, bare, one)
			if err != nil {
				return err
			}
			routed, err := harness.Measure(ctx, b.span, 4*servers, one(through))
			if err != nil {
				return err
			}
			if i == 0 { // it warmed both sides
				continue
			}
			fmt.Printf("throughput: round %d: four direct clients %.2f/s   Millrace %.2f/s   ratio %.3f\n", i, direct, routed, routed/direct)
			ratios = append(ratios, routed/direct)
		}
		ratio := harness.Median(ratios)
		fmt.Printf("throughput: %d servers, segments of %s: median ratio %.3f; target %.2f %s\n",
			servers, shortSteps*shortStep, ratio, leastThroughput, b.verdict("throughput", ratio >= leastThroughput))
		return nil
	})
}

// together returns the number of graphs per second of clients that each use one server.
func together(ctx context.Context, span time.Duration, clients []*client, one func(*client) func(context.Context) error) (float64, error) {
	var group sync.WaitGroup
	var sum atomic.Int64
	errs := make(chan error, len(clients))
	for _, c := range clients {
		group.Go(func() {
			rate, err := harness.Measure(ctx, span, 1, one(c))
			sum.Add(int64(rate * 1000))
			errs <- err
		})
	}
	group.Wait()
	for range clients {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return float64(sum.Load()) / 1000, nil
}
