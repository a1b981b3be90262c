// Command servers compares Millrace as the single address of several ComfyUI servers with driving the servers directly. It measures the
// time that Millrace adds to a graph of one picture, the throughput of four servers, how soon a segment runs elsewhere when its server is
// killed, whether anything is lost or done twice while drivers and servers are killed, and whether checkpoints stay where they are loaded.
// Both sides are measured in turns, in one run, with the same client: Millrace speaks ComfyUI's interface. The servers are simulated and
// count their executions. With COMFYUI=URL, the added time is also measured on a real server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

func main() { harness.Main("servers", run) }

// bench is the state that all parts share.
type bench struct {
	samples int
	span    time.Duration
	kills   int
	missed  []string
}

func run(ctx context.Context) error {
	b := &bench{}
	flag.IntVar(&b.samples, "samples", 100, "graphs of one picture on each side")
	flag.DurationVar(&b.span, "span", 8*time.Second, "length of a round of throughput")
	flag.IntVar(&b.kills, "kills", 100, "kills of drivers and servers under load")
	only := flag.String("only", "", "one part: overhead, real, throughput, failover, kills or affinity; default: all")
	flag.Parse()
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"overhead", b.overhead},
		{"real", b.real},
		{"throughput", b.throughput},
		{"failover", b.failover},
		{"kills", b.killing},
		{"affinity", b.affinity},
	} {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if len(b.missed) > 0 {
		return fmt.Errorf("%w: %s", harness.ErrMissed, strings.Join(b.missed, ", "))
	}
	return nil
}

// verdict reports whether a target was met, and remembers a missed one.
func (b *bench) verdict(name string, met bool) string {
	if met {
		return "met"
	}
	b.missed = append(b.missed, name)
	return "MISSED"
}

// machines are simulated servers.
type machines []*sim.Machine

// startMachines starts the given number of servers of a kind.
func startMachines(n int, opts sim.Options) (all machines, err error) {
	for range n {
		m, err := sim.Start("127.0.0.1:0", opts)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (m machines) close() {
	for _, one := range m {
		one.Close()
	}
}

func (m machines) urls() (urls []string) {
	for _, one := range m {
		urls = append(urls, one.URL())
	}
	return urls
}

// served runs measure against a service with these servers.
func served(ctx context.Context, urls []string, measure func(s *harness.Service) error) (err error) {
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, environment(urls)...); err != nil {
		return err
	}
	if err := s.AwaitClass(ctx, "KSampler"); err != nil {
		return err
	}
	return measure(s)
}

func environment(urls []string) []string {
	return []string{"MILLRACE_COMFYUI=" + strings.Join(urls, " "), "MILLRACE_SLOTS=64"}
}

// realServers are the servers that COMFYUI names.
func realServers() []string {
	return strings.FieldsFunc(os.Getenv("COMFYUI"), func(r rune) bool { return r == ',' || r == ' ' })
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
