//go:build linux

// Chaos breaks a running service at random and checks that it keeps its promise: nothing that it accepted is lost,
// done twice, or failed because a part of the service was away.
//
// It starts the program in local mode, then as separate processes, and puts load on each: jobs, uploads and model
// calls. Meanwhile it kills (SIGKILL) and stops (SIGSTOP, later SIGCONT) the API, the workers, the projector, Temporal,
// PostgreSQL and all of them together, and causes failures around them: projections that fall behind, a full disk, a
// ComfyUI server whose nodes hang or whose classes and outputs have unusable names, and, in separate mode, databases of
// Temporal that are restored from their beginning. A ledger outside of the service
// records the accepted work, and the program's own provider counts its requests. At the end, both are compared with the
// records of the service, and the keys of deployment calls with the charges in the account's credit. Other clients ask
// about the same jobs, calls and uploads at the same time, and package history judges whether their answers agree.
//
//	make test/chaos MINUTES=10 ARGS="-seed 7"
//
// With -each it measures instead: it kills each part so many times while a single job runs, and reports how long it
// took until a new job completed and until the interrupted one went on.
//
//	make test/chaos ARGS="-each 10"
//
// With -kills it only kills, so many times in each mode, under load.
//
// The last line is "N passed, N failed". It counts accepted pieces of work with the right outcome, faults with a
// recovery, and views that equal their rebuild; all others count as failed. The exit status is 1 if anything failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/test/history"
	"github.com/millrace-dev/millrace/test/load"
)

func main() {
	minutes := flag.Float64("minutes", 2, "how long to break things, in all")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the order of faults and of the load")
	mode := flag.String("mode", "both", "local, separate or both")
	each := flag.Int("each", 0, "instead of breaking things at random, kill each part so many times on an idle service")
	kills := flag.Int("kills", 0, "only kill, so many times in each mode, instead of breaking things for a time")
	stop := flag.Duration("stop", longestStop, "the longest time for which a part is stopped or in trouble, more than a second")
	pause := flag.Duration("pause", longestPause, "the longest time between a recovery and the next fault, more than 0")
	observers := flag.Int("observers", 1, "groups of clients whose answers are judged; each group asks about subjects of its own")
	keep := flag.Bool("keep", false, "keep the data directories and logs")
	flag.Parse()
	if *stop <= time.Second || *pause <= 0 {
		fmt.Fprintln(os.Stderr, "chaos: -stop must be more than a second, and -pause more than 0")
		os.Exit(2)
	}
	ctx, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer done()
	run := &run{
		out: os.Stdout, log: slog.New(slog.NewTextHandler(os.Stderr, nil)), keep: *keep, each: *each, kills: *kills, observers: *observers,
		stop: *stop, pause: *pause,
		seed: *seed, random: rand.New(rand.NewPCG(*seed, 1)), // the order of faults need not be secret
	}
	ok, err := run.all(ctx, *mode, time.Duration(*minutes*float64(time.Minute)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run is one execution of the program.
type run struct {
	out       io.Writer
	log       *slog.Logger
	keep      bool
	each      int // kills of each part of an idle service; 0 = random faults under load
	kills     int // under load, in each mode; 0 = faults of every kind, for a time
	observers int
	lasts     time.Duration // of each mode
	stop      time.Duration // of a part, at most
	pause     time.Duration // between a recovery and the next fault, at most
	seed      uint64
	random    *rand.Rand
	binary    string
}

// all breaks each deployment for its share of the time, reports the results, and returns whether no check failed.
func (r *run) all(ctx context.Context, mode string, total time.Duration) (bool, error) {
	dir, err := scratch.NewIn("/var/tmp", "millrace-chaos") // a directory that the database's own user can enter
	if err != nil {
		return false, err
	}
	if !r.keep {
		defer dir.Remove() // if this fails, the next run removes the directory
	}
	if r.binary, err = r.build(ctx, dir.Path); err != nil {
		return false, err
	}
	starts := map[string]func(context.Context, *run, string) (*deployment, error){"local": startLocal, "separate": startSeparate}
	modes := []string{"local", "separate"}
	if mode != "both" {
		modes = []string{mode}
	}
	r.lasts = total / time.Duration(len(modes))
	report := &report{seed: r.seed}
	for _, name := range modes {
		if starts[name] == nil {
			return false, fmt.Errorf("mode %q is not local, separate or both", name)
		}
		began := time.Now()
		if err := r.one(ctx, starts[name], filepath.Join(dir.Path, name), report); err != nil {
			return false, fmt.Errorf("%s mode: %w", name, err)
		}
		r.log.Info("mode finished", "mode", name, "took", time.Since(began).Round(time.Second))
	}
	report.write(r.out)
	return report.failed() == 0, nil
}

// build makes the program under test.
func (r *run) build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "millrace")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/millrace")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build the program under test: %w", err)
	}
	return binary, nil
}

// pace is the pause between requests of a client.
const pace = 50 * time.Millisecond

// settleWithin bounds the time until accepted work ends after the last fault, and until its outcome can be read.
// Longer loads get as much time again.
const settleWithin = 5 * time.Minute

// one breaks one deployment for a while, lets it recover, and adds the outcomes of all entries to the report.
func (r *run) one(ctx context.Context, start func(context.Context, *run, string) (*deployment, error), dir string, report *report) error {
	if err := os.MkdirAll(dir, 0o711); err != nil { // the database's own user must be able to enter
		return err
	}
	d, err := start(ctx, r, dir)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.client.UntilReady(ctx); err != nil {
		return err
	}
	if r.each > 0 {
		return r.killEach(ctx, d, report, r.each)
	}
	if err := d.deploy(ctx, dir); err != nil {
		return err
	}
	ledger := &load.Ledger{Mode: d.name}
	loading, stop := context.WithCancel(ctx)
	clients := load.Start(loading, d.client, ledger, r.seed, pace, load.Rendered)
	seen := history.New()
	var observers sync.WaitGroup
	for n := range r.observers {
		name := fmt.Sprintf("%s-%d", d.name, n)
		observers.Go(func() { seen.Observe(loading, r.seed+uint64(n), name, slices.Repeat(d.bases, 4/len(d.bases))...) })
	}
	r.breakThings(ctx, d, report, time.Now().Add(r.lasts))
	stop()
	clients.Wait()
	observers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, settleWithin+r.lasts)
	defer cancel()
	ledger.Settle(settling, d.client, d.provider)
	report.add(ledger)
	d.judgeCharges(settling, ledger, report)
	report.judge(d.name, seen)
	report.check(d.name+": views equal their rebuild", d.checkViews(ctx))
	return nil
}
