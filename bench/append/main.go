// Command append measures the event log against itself: appends with 32 writers with and without
// subscribers, and the time from publishing an event to its handler. It runs on a private PostgreSQL
// with fsync on, takes under a minute, and prints ratios, since absolute figures belong to the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// The targets of the log.
const (
	targetRatio   = 0.8
	targetLatency = 3 * time.Millisecond
)

type options struct {
	dsn     string
	writers int
	rounds  int
	round   time.Duration
	samples int
}

func main() {
	var o options
	flag.StringVar(&o.dsn, "dsn", "", "PostgreSQL to use instead of a private one; its schema must be empty or migrated")
	flag.IntVar(&o.writers, "writers", 32, "concurrent writers")
	flag.IntVar(&o.rounds, "rounds", 12, "pairs of rounds, one with and one without subscribers")
	flag.DurationVar(&o.round, "round", time.Second, "length of a round")
	flag.IntVar(&o.samples, "samples", 500, "events whose way to a handler is timed")
	flag.Parse()
	harness.Main("append", func(ctx context.Context) error { return run(ctx, os.Stdout, o) })
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	dsn := o.dsn
	if dsn == "" {
		var server *harness.Database
		if server, err = harness.StartDatabase(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close(ctx)) }()
		dsn = server.URL("postgres")
	}
	if err := postgres.Migrate(ctx, dsn, nil); err != nil {
		return err
	}
	ratio, err := throughput(ctx, out, dsn, o)
	if err != nil {
		return err
	}
	fast, err := latency(ctx, out, dsn, o)
	if err == nil && (ratio < targetRatio || !fast) {
		err = harness.ErrMissed
	}
	return err
}

// throughput runs pairs of rounds, with and without subscribers, each pair in the other order than the
// one before, and returns the median of their ratios.
func throughput(ctx context.Context, out io.Writer, dsn string, o options) (float64, error) {
	fmt.Fprintf(out, "append, %d writers, 3 events of about 270 bytes each, fsync on\n", o.writers)
	var ratios []float64
	for pair := range o.rounds {
		var rates [2]float64 // without, with
		for _, with := range []int{pair % 2, 1 - pair%2} {
			rate, err := writeFor(ctx, dsn, o, with == 1)
			if err != nil {
				return 0, err
			}
			rates[with] = rate
		}
		ratios = append(ratios, rates[1]/rates[0])
		fmt.Fprintf(out, "  alone %8.0f appends/s    with subscribers %8.0f appends/s    ratio %.2f\n", rates[0], rates[1], rates[1]/rates[0])
	}
	ratio := median(ratios)
	fmt.Fprintf(out, "append_with_subscribers_ratio %.2f (target >= %.2f)\n\n", ratio, targetRatio)
	return ratio, nil
}

// latency measures single events on an otherwise quiet log, to a handler of this process and to a handler that only
// PostgreSQL connects to the writer.
func latency(ctx context.Context, out io.Writer, dsn string, o options) (bool, error) {
	fmt.Fprintf(out, "publish to handler, %d single events, from the call of Append to the call of the handler\n", o.samples)
	fast := true
	for _, name := range []string{"same_process", "other_process"} {
		took, err := timeEvents(ctx, dsn, o.samples, name == "other_process")
		if err != nil {
			return false, err
		}
		slices.Sort(took)
		p50, p99 := took[len(took)/2], took[(len(took)-1)*99/100]
		fmt.Fprintf(out, "publish_to_handler_%s p50 %.2f ms (target <= %.0f ms), p99 %.2f ms\n",
			name, ms(p50), ms(targetLatency), ms(p99))
		fast = fast && p50 <= targetLatency
	}
	return fast, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
