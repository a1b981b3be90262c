// Command operate measures commands of operators: showing a job among 100,000 jobs, relative to 100 jobs, and
// rebuilding all views from 500,000 events. One statement inserts the events into a private PostgreSQL, and the
// commands run in this process, so that only their own work is timed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// The targets.
const (
	targetRatio = 1.2    // of jobs show, among many jobs relative to few
	targetRate  = 10_000 // events per second of a rebuild of all views
)

// perJob is the number of events of each seeded job.
const perJob = 5

type options struct{ jobs, few, rounds int }

func main() {
	var o options
	flag.IntVar(&o.jobs, "jobs", 100_000, "jobs in the large database, of five events each")
	flag.IntVar(&o.few, "few", 100, "jobs in the small one")
	flag.IntVar(&o.rounds, "rounds", 40, "pairs of jobs show")
	flag.Parse()
	harness.Main("operate", func(ctx context.Context) error { return run(ctx, os.Stdout, o) })
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	server, err := harness.StartDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	few, err := seeded(ctx, server.URL("postgres"), "few", server.URL("few"), o.few)
	if err != nil {
		return err
	}
	many, err := seeded(ctx, server.URL("postgres"), "many", server.URL("many"), o.jobs)
	if err != nil {
		return err
	}
	ratio, err := show(ctx, out, few, many, o.rounds)
	if err != nil {
		return err
	}
	rate, err := rebuild(ctx, out, many, o.jobs*perJob)
	if err == nil && (ratio > targetRatio || rate < targetRate) {
		err = harness.ErrMissed
	}
	return err
}

// seeded makes a database of succeeded jobs. It fills only the log and the checkpoints.
func seeded(ctx context.Context, admin, name, dsn string, jobs int) (string, error) {
	pool, err := postgres.Open(ctx, admin, postgres.PoolOptions{})
	if err != nil {
		return "", err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "create database "+name); err != nil {
		return "", err
	}
	if err := postgres.Migrate(ctx, dsn, nil); err != nil {
		return "", err
	}
	target, err := postgres.Open(ctx, dsn, postgres.PoolOptions{})
	if err != nil {
		return "", err
	}
	defer target.Close()
	for _, statement := range seed {
		if _, err := target.Exec(ctx, statement, seedArgs(statement, jobs)...); err != nil {
			return "", fmt.Errorf("seed %s: %w", name, err)
		}
	}
	return dsn, nil
}

// command runs a command of the program on a database and returns how long it took.
func command(ctx context.Context, dsn string, args ...string) (time.Duration, error) {
	var out, errs bytes.Buffer
	cmd := cli.Command(&out, &errs, func(name string) (string, bool) {
		switch name {
		case "DATABASE_URL":
			return dsn, true
		case "MILLRACE_DATA":
			return "/nonexistent", true
		}
		return "", false
	})
	cmd.SetArgs(args)
	began := time.Now()
	if err := cmd.ExecuteContext(ctx); err != nil {
		return 0, fmt.Errorf("%v: %w: %s", args, err, errs.String())
	}
	return time.Since(began), nil
}

// show alternates jobs show in both databases and returns the ratio of the medians.
func show(ctx context.Context, out io.Writer, few, many string, rounds int) (float64, error) {
	var times [2][]time.Duration
	for range rounds {
		for i, dsn := range []string{few, many} {
			took, err := command(ctx, dsn, "jobs", "show", seededJob)
			if err != nil {
				return 0, err
			}
			times[i] = append(times[i], took)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	a, b := times[0][rounds/2], times[1][rounds/2]
	ratio := float64(b) / float64(a)
	// printed
	fmt.Fprintf(out, "jobs show, median of %d: among few %s, among many %s\n", rounds, a.Round(time.Microsecond), b.Round(time.Microsecond))
	_, err := fmt.Fprintf(out, "jobs_show_ratio %.2f (target <= %.1f)\n\n", ratio, targetRatio)
	return ratio, err
}

// rebuild folds all views again and returns the events of the log per second.
func rebuild(ctx context.Context, out io.Writer, dsn string, events int) (float64, error) {
	took, err := command(ctx, dsn, "views", "rebuild")
	if err != nil {
		return 0, err
	}
	rate := float64(events) / took.Seconds()
	_, err = fmt.Fprintf(out, "views rebuild, all, %d events in %s\nrebuild_events_per_second %.0f (target >= %d)\n", events,
		took.Round(time.Millisecond), rate, targetRate)
	return rate, err
}
