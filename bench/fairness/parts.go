package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// cheap is a graph of three cheap nodes.
const cheap = `{"1":{"class_type":"PrimitiveString","inputs":{"value":"mill"}},
	"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
	"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`

// wideGraph has the given number of independent nodes, each of which is a Temporal task with small values.
func wideGraph(branches int) string {
	nodes := []string{`"0":{"class_type":"EmptyImage","inputs":{"width":2048,"height":2048,"batch_size":1,"color":255}}`}
	for i := 1; i <= branches; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["0",0],"blur_radius":%d,"sigma":%d.0}},
			"%d":{"class_type":"ImageScale","inputs":{"image":["%d",0],"upscale_method":"nearest-exact","width":8,"height":8,"crop":"disabled"}},
			"%d":{"class_type":"PreviewImage","inputs":{"images":["%d",0]}}`, i, 22+i%10, 1+i%9, 1000+i, i, 2000+i, 1000+i))
	}
	return "{" + strings.Join(nodes, ",") + "}"
}

// shares fills the queues of several accounts and counts whose jobs end.
func (b *bench) shares(ctx context.Context, span time.Duration) error {
	for _, c := range []struct {
		name         string
		huge, small  string // tiers
		backlog, own int    // jobs that wait at the start
		fair         float64
	}{
		{"equal tiers, one queue ten times as deep", "creator", "creator", 20_000, 2000, 1}, // neither is empty at the end
		{"tiers of 5 and 1 slots", "pro", "standard", 20_000, 2000, 0.2},
	} {
		huge, small, err := b.pair(ctx, c.name, c.huge, c.small)
		if err != nil {
			return err
		}
		if err := b.fill(ctx, huge, c.backlog); err != nil {
			return err
		}
		if err := b.fill(ctx, small, c.own); err != nil {
			return err
		}
		h, s, err := b.during(ctx, span, huge, small)
		if err != nil {
			return err
		}
		fmt.Printf("shares:  %s: %d and %d jobs in %s, ratio %.2f (fair: %.2f)\n", c.name, h, s, span, float64(s)/float64(h), c.fair)
		for _, t := range []*tenant{huge, small} {
			if err := t.call(ctx, http.MethodPost, "/api/queue", `{"clear":true}`, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) pair(ctx context.Context, name, huge, small string) (*tenant, *tenant, error) {
	name = strings.ReplaceAll(name, " ", "-")
	h, err := b.newTenant(ctx, name+"-huge", huge)
	if err != nil {
		return nil, nil, err
	}
	s, err := b.newTenant(ctx, name+"-small", small)
	return h, s, err
}

// fill pauses a queue and submits n cheap jobs to it.
func (b *bench) fill(ctx context.Context, t *tenant, n int) error {
	if _, err := b.command(ctx, "queue", "pause", "--account", t.name, "--reason", "bench"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for range n {
		group.Go(func() error { _, err := t.submit(ctx, cheap); return err })
	}
	return group.Wait()
}

// during opens both queues at once, waits, and counts the jobs that have ended since both queues move.
func (b *bench) during(ctx context.Context, span time.Duration, huge, small *tenant) (h, s int, err error) {
	for _, t := range []*tenant{huge, small} {
		if _, err := b.command(ctx, "queue", "resume", "--account", t.name, "--reason", "bench"); err != nil {
			return 0, 0, err
		}
	}
	var before, after [2]int
	if err := pause.For(ctx, 2*time.Second); err != nil {
		return 0, 0, err
	}
	for _, counts := range []*[2]int{&before, &after} {
		for i, t := range []*tenant{huge, small} {
			if counts[i], err = t.completed(ctx); err != nil {
				return 0, 0, err
			}
		}
		if counts == &before {
			if err := pause.For(ctx, span); err != nil {
				return 0, 0, err
			}
		}
	}
	return after[0] - before[0], after[1] - before[1], nil
}

// wide measures one node's job alone and beside an account whose graphs have hundreds ready.
func (b *bench) wide(ctx context.Context) error {
	huge, small, err := b.pair(ctx, "wide", "pro", "standard")
	if err != nil {
		return err
	}
	const samples, branches = 3, 40
	one := wideGraph(1)
	measure := func() ([]time.Duration, error) {
		var took []time.Duration
		for range samples {
			d, err := small.finish(ctx, one)
			if err != nil {
				return nil, err
			}
			took = append(took, d)
		}
		return took, nil
	}
	if _, err := measure(); err != nil { // warm
		return err
	}
	alone, err := measure()
	if err != nil {
		return err
	}
	for range 5 {
		if _, err := huge.submit(ctx, wideGraph(branches)); err != nil {
			return err
		}
	}
	if err := pause.For(ctx, 10*time.Second); err != nil {
		return err
	}
	beside, err := measure()
	if err != nil {
		return err
	}
	done, err := huge.completed(ctx)
	if err != nil {
		return err
	}
	a, h := harness.Median(seconds(alone)), harness.Median(seconds(beside))
	fmt.Printf("wide:    a job of one long node takes %.0f ms alone and %.0f ms beside 5 jobs of %d long nodes each, ratio %.1f; %d of "+
		"those 5 had ended\n",
		a*1000, h*1000, branches, h/a, done)
	return huge.call(ctx, http.MethodPost, "/api/interrupt", "", nil)
}

func seconds(ds []time.Duration) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = d.Seconds()
	}
	return out
}

// queue compares the cost of reading a job in a deep queue and in a shallow one, in turns.
func (b *bench) queue(ctx context.Context, deep int) error {
	long, short, err := b.pair(ctx, "queue", "pro", "pro")
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.fill(ctx, long, deep); err != nil {
		return err
	}
	fmt.Printf("queue:   %d jobs queued, %.0f/s\n", deep, float64(deep)/time.Since(began).Seconds())
	if err := b.fill(ctx, short, 10); err != nil {
		return err
	}
	last := map[*tenant]string{}
	for _, t := range []*tenant{long, short} {
		if last[t], err = t.submit(ctx, cheap); err != nil {
			return err
		}
	}
	for _, look := range []struct {
		name string
		path func(t *tenant) string
		body func(t *tenant) string
	}{
		{"GET v2 job (queue_position)", func(t *tenant) string { return "/api/v2/jobs/" + last[t] }, nil},
		{"GET prompt (queue_remaining)", func(*tenant) string { return "/api/prompt" }, nil},
		{"POST prompt", func(*tenant) string { return "/api/prompt" }, func(*tenant) string { return `{"prompt":` + cheap + `}` }},
	} {
		took := map[*tenant][]time.Duration{}
		for range 100 {
			for _, t := range []*tenant{long, short} {
				at := time.Now()
				method, body := http.MethodGet, ""
				if look.body != nil {
					method, body = http.MethodPost, look.body(t)
				}
				if err := t.call(ctx, method, look.path(t), body, nil); err != nil {
					return err
				}
				took[t] = append(took[t], time.Since(at))
			}
		}
		l, s := harness.Quantile(took[long], 0.5), harness.Quantile(took[short], 0.5)
		fmt.Printf("queue:   %s p50 among %d %s, among 10 %s, ratio %.2f\n", look.name, deep, round(l), round(s), l.Seconds()/s.Seconds())
	}
	began = time.Now()
	if err := long.call(ctx, http.MethodPost, "/api/queue", `{"clear":true}`, nil); err != nil {
		return err
	}
	fmt.Printf("queue:   emptying it took %s\n", round(time.Since(began)))
	return nil
}
