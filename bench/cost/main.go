// Command cost measures the cost of one unit of each kind of work, including its background work: processor time by
// process, transactions and statements by database, syncs and bytes of the write-ahead log. Idle costs are subtracted
// and shown separately. These figures can be compared between runs on a busy machine, where rates cannot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("cost", run) }

func run(ctx context.Context) (err error) {
	units := flag.Int("units", 600, "units of each kind")
	clients := flag.Int("clients", 20, "clients at once; uploads have 8")
	idle := flag.Duration("idle", 10*time.Second, "how long the idle service is measured")
	profile := flag.String("profile", "", "file for a CPU profile of the service under those kinds of work; nothing is measured then")
	temporal := flag.String("profile-temporal", "", "file for one of Temporal meanwhile")
	heaps := flag.String("heaps", "", "prefix of files for profiles of the heaps after the work")
	statements := flag.Int("statements", 0, "print so many of the most frequent statements of each kind of work")
	compared := flag.Int("compared", 0, "only compare so many calls of a deployment with plain jobs")
	traffic := flag.Bool("traffic", false, "only call a deployment while its versions are promoted and rolled back, then with a share")
	only := flag.String("only", "", "kinds to measure, separated by commas; empty = all")
	flag.Parse()
	s, err := harness.StartCounted(ctx, *temporal != "" || *heaps != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := harness.NewMeter(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	var env []string
	inner := ""
	if *profile != "" || *heaps != "" {
		if inner, err = harness.FreeAddress(); err != nil {
			return err
		}
		env = append(env, "MILLRACE_INTERNAL_ADDR="+inner)
	}
	b, err := newBench(ctx, s, *clients, env...)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.deploy(ctx); err != nil {
		return err
	}
	if *compared > 0 {
		return b.compare(ctx, *compared)
	}
	if *traffic {
		return b.traffic(ctx)
	}
	kinds := b.kinds()
	if *only != "" {
		kinds = slices.DeleteFunc(kinds, func(k kind) bool { return !slices.Contains(strings.Split(*only, ","), k.name) })
	}
	var costs []harness.Cost
	for _, k := range kinds { // the first units warm plans, caches and connections
		if err := harness.Times(ctx, 100, k.clients, k.one); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	if *profile != "" {
		return b.profile(ctx, kinds, map[string]string{*profile: inner, *temporal: s.Profiles})
	}
	nothing, err := m.Idle(ctx, *idle)
	if err != nil {
		return err
	}
	costs = append(costs, nothing)
	for _, k := range kinds {
		if err := m.ForgetStatements(ctx); err != nil {
			return err
		}
		cost, err := m.Measure(ctx, k.name, *units, func() error { return harness.Times(ctx, *units, k.clients, k.one) })
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		costs = append(costs, cost)
		if *statements > 0 {
			fmt.Printf("statements for one %s\n", k.name)
			if err := m.PrintStatements(ctx, os.Stdout, *units, *statements); err != nil {
				return err
			}
		}
	}
	fmt.Println("per unit; databases in the order of their names: millrace, temporal, temporal_visibility")
	if err := harness.Print(os.Stdout, costs...); err != nil {
		return err
	}
	if *heaps != "" {
		if err := errors.Join(harness.Heap(ctx, inner, *heaps+"millrace"), harness.Heap(ctx, s.Profiles, *heaps+"temporal")); err != nil {
			return err
		}
	}
	postgres, engine, service := s.PeakMemory()
	fmt.Printf("peak memory: millrace %d MiB, temporal %d MiB, postgresql's first process %d MiB\n", service, engine, postgres)
	return nil
}

// profiled is the number of clients while a profile is taken.
const profiled = 20

// profile records CPU profiles of processes during the given kinds of work. Each file gets the profile from its address; "" = no profile.
func (b *bench) profile(ctx context.Context, kinds []kind, files map[string]string) error {
	const seconds = 40
	working, stop := context.WithCancel(ctx)
	defer stop()
	group, working := errgroup.WithContext(working)
	for _, k := range kinds {
		if k.name == "bare" { // not the service's work
			continue
		}
		group.Go(func() error {
			_, err := harness.Measure(working, seconds*time.Second, profiled/len(kinds), k.one)
			return err
		})
	}
	for path, address := range files {
		if path != "" {
			group.Go(func() error { return harness.Profile(ctx, address, seconds-2, path) })
		}
	}
	return group.Wait()
}
