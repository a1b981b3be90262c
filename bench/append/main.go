// Command append measures the event log against itself: appends with 32 writers with and without
// subscribers, and the time from publishing an event to its handler. It runs on a private PostgreSQL
// with fsync on, takes under a minute, and prints ratios, since absolute figures belong to the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// What the log must reach.
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/append:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(2)
	}
}

// run measures and prints; it reports whether the targets were reached.
func run(ctx context.Context, out io.Writer, o options) (bool, error) {
	dsn, stop, err := database(ctx, o.dsn)
	if err != nil {
		return false, err
	}
	defer stop()
	if err := postgres.Migrate(ctx, dsn, nil); err != nil {
		return false, err
	}
	ratio, err := throughput(ctx, out, dsn, o)
	if err != nil {
		return false, err
	}
	fast, err := latency(ctx, out, dsn, o)
	if err != nil {
		return false, err
	}
	return ratio >= targetRatio && fast, nil
}

// database returns the connection string of a server, private unless one is given.
func database(ctx context.Context, given string) (dsn string, stop func(), err error) {
	if given != "" {
		return given, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return "", nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server may run as another user
		return "", nil, err
	}
	server, err := localcluster.Start(ctx, filepath.Join(dir, "c"), localcluster.Options{})
	if err != nil {
		return "", nil, err
	}
	return server.URL("postgres"), func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "bench/append: stop PostgreSQL:", err)
		}
		_ = os.RemoveAll(dir)
	}, nil
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

// latency times single events on an otherwise quiet log, to a handler of this process and to
// one that only PostgreSQL connects to the writer.
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
