// Command compare runs Millrace beside the programs that a user might run instead, in turns and in one run, and prints ratios:
//
//   - a bare Temporal workflow for jobs,
//   - tusd for resumable uploads, and an S3 server for small ones,
//   - a bare reverse proxy and a gateway for model calls,
//   - a bare broadcast for messages (bench/fanout) and a ComfyUI that is driven directly (bench/servers).
//
// tusd, the proxy and the broadcast are made from their libraries. The S3 server is the program that MILLRACE_TEST_S3_SERVER names
// (versitygw), and the gateway is any program that passes requests on to the provider of this run:
//
//	go run ./bench/compare -provider 127.0.0.1:8191 -gateway http://127.0.0.1:4000/echo
//
// A part whose program is missing is skipped with a message. COMFYUI names a real ComfyUI server for bench/servers.
//
// None of these programs makes the promises that Millrace makes: tusd and the S3 server do not wait for the disk, a proxy records
// nothing. The ratios are what those promises cost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// options are the flags.
type options struct {
	rounds, clients   int
	span              time.Duration
	provider, gateway string
}

func main() {
	tusd := flag.String("tusd", "", "internal: be tusd over that directory")
	proxy := flag.String("proxy", "", "internal: be a reverse proxy before that address")
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "rounds of each side, in turns")
	flag.DurationVar(&o.span, "span", 4*time.Second, "length of a round")
	flag.IntVar(&o.clients, "clients", 8, "clients at once")
	flag.StringVar(&o.provider, "provider", "127.0.0.1:0", "address of the provider that the router, the proxy and the gateway call")
	flag.StringVar(&o.gateway, "gateway", "", "address of a gateway that passes a POST on to /sim/echo of the provider; empty = none")
	flag.Parse()
	harness.Main("compare", func(ctx context.Context) error {
		switch {
		case *tusd != "":
			return beTusd(ctx, *tusd)
		case *proxy != "":
			return beProxy(ctx, *proxy)
		}
		return run(ctx, o)
	})
}

func run(ctx context.Context, o options) (err error) {
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := newProvider(o.provider)
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.Serve(ctx, "MILLRACE_SIMULATOR="+p.base, "MILLRACE_SLOTS=64"); err != nil {
		return err
	}
	for _, part := range []func(context.Context, options, *harness.Service, *provider) error{jobs, uploads, calls} {
		if err := part(ctx, o, s, p); err != nil {
			return err
		}
	}
	if err := another(ctx, "./bench/fanout"); err != nil {
		return err
	}
	servers := "overhead"
	if os.Getenv("COMFYUI") != "" {
		servers = "real"
	}
	return another(ctx, "./bench/servers", "-only", servers)
}

// another runs a benchmark that has a comparison of its own.
func another(ctx context.Context, args ...string) error {
	fmt.Println("\ngo run", args)
	cmd := exec.CommandContext(ctx, "go", append([]string{"run"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// side does one piece of work in one of the compared ways.
type side func(context.Context) error

// compare measures both ways in turns and prints the median of the ratios of their rates, with their range.
func (o options) compare(ctx context.Context, what, their string, theirs, ours side) error {
	measure := func(one side, span time.Duration) (float64, error) { return harness.Measure(ctx, span, o.clients, one) }
	for _, one := range []side{theirs, ours} { // warm both
		if _, err := measure(one, o.span/4); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	var rates, own, ratios []float64
	for range o.rounds {
		t, err := measure(theirs, o.span)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", what, their, err)
		}
		m, err := measure(ours, o.span)
		if err != nil {
			return fmt.Errorf("%s, Millrace: %w", what, err)
		}
		rates, own, ratios = append(rates, t), append(own, m), append(ratios, m/t)
	}
	fmt.Printf("%-32s %-22s %8.1f/s   Millrace %8.1f/s   ratio %s\n", what, their, harness.Median(rates),
		harness.Median(own), harness.Spread(ratios))
	return nil
}
