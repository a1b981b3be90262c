// Command fairness measures how accounts of one worker pool affect each other: the share of jobs that accounts get
// while one of them has a long queue, the duration of a small job beside an account whose graphs have hundreds of ready
// nodes, and the cost of reading a queue of 10,000 jobs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("fairness", run) }

func run(ctx context.Context) (err error) {
	span := flag.Duration("span", 8*time.Second, "length of a measurement of shares")
	deep := flag.Int("deep", 10_000, "jobs of the deep queue")
	only := flag.String("only", "", "one part: shares, wide, turns or queue; default: all")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, "MILLRACE_AUTH=keys", "MILLRACE_QUEUE_DEPTH=25000"); err != nil {
		return err
	}
	b := &bench{Service: s}
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"shares", func(ctx context.Context) error { return b.shares(ctx, *span) }},
		{"wide", b.wide},
		{"turns", b.turns},
		{"queue", func(ctx context.Context) error { return b.queue(ctx, *deep) }},
	} {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("memory:  service peak %d MiB\n", s.ServiceMemory())
	return nil
}

// bench is the service under measurement, with accounts.
type bench struct{ *harness.Service }

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
