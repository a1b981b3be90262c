// Command graphs measures what a job costs by its size: the time of a node in a graph of
// 200 cheap nodes beside one in a graph of 20, in turns, and the memory of the service
// over many jobs in a row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("graphs", run) }

// The compared sizes.
const few, many = 20, 200

// steps is the number of readings of the memory.
const steps = 10

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 3, "rounds of each size, in turns")
	span := flag.Duration("span", 5*time.Second, "length of a round")
	total := flag.Int("jobs", 10_000, "jobs in a row for the memory")
	clients := flag.Int("clients", 20, "clients at once")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, "MILLRACE_SLOTS=64"); err != nil {
		return err
	}
	jobs, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer jobs.Close()
	if err := sizes(ctx, jobs, *rounds, *span, *clients); err != nil {
		return err
	}
	return memory(ctx, s, jobs, *total, *clients)
}

// sizes compares the cost of a node.
func sizes(ctx context.Context, jobs *harness.Platform, rounds int, span time.Duration, clients int) error {
	perNode := func(nodes int) (time.Duration, error) {
		rate, err := harness.Measure(ctx, span, clients, func(ctx context.Context) error {
			return jobs.One(ctx, chain(nodes))
		})
		return time.Duration(float64(time.Second) / rate / float64(nodes)), err
	}
	if _, err := perNode(few); err != nil { // warm
		return err
	}
	var ratios []float64
	for i := range rounds {
		small, err := perNode(few)
		if err != nil {
			return err
		}
		large, err := perNode(many)
		if err != nil {
			return err
		}
		ratios = append(ratios, float64(large)/float64(small))
		fmt.Printf("round %d: a node of %d takes %s, a node of %d %s   ratio %.2f\n", i+1, few, small, many, large, ratios[i])
	}
	fmt.Printf("median:  ratio %.2f (target at most 1)\n", harness.Median(ratios))
	return nil
}

// memory runs many jobs and looks at the service's resident memory as they pass.
func memory(ctx context.Context, s *harness.Service, jobs *harness.Platform, total, clients int) error {
	graph := chain(3)
	var first int64
	for step := range steps {
		if err := harness.Times(ctx, total/steps, clients, func(ctx context.Context) error { return jobs.One(ctx, graph) }); err != nil {
			return err
		}
		now := s.ResidentMemory()
		if step == 0 {
			first = now
		}
		fmt.Printf("after %6d jobs: %d MiB resident\n", (step+1)*total/steps, now)
	}
	if first > 0 {
		fmt.Printf("memory:  %.2f of what it was after the first tenth (flat is about 1), peak %d MiB\n",
			float64(s.ResidentMemory())/float64(first), s.ServiceMemory())
	}
	return nil
}

// chain is a graph of cheap nodes, each of which reads the previous one.
func chain(nodes int) string {
	var b strings.Builder
	b.WriteString(`{"prompt":{"0":{"class_type":"PrimitiveString","inputs":{"value":"x"}}`)
	for i := 1; i < nodes-1; i++ {
		fmt.Fprintf(&b, `,"%d":{"class_type":"StringConcatenate","inputs":{"string_a":["%d",0],"string_b":"","delimiter":""}}`, i, i-1)
	}
	fmt.Fprintf(&b, `,"%d":{"class_type":"PreviewAny","inputs":{"source":["%d",0]}}}}`, nodes-1, nodes-2)
	return b.String()
}
