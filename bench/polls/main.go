// Command polls measures the most frequent request of clients, the status of a job, while 50 jobs run: first with few
// jobs in the database, then with 100,000 finished jobs, which are seeded through the event log like real ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("polls", run) }

const running = 50

func run(ctx context.Context) (err error) {
	finished := flag.Int("finished", 100_000, "finished jobs to seed")
	span := flag.Duration("span", 6*time.Second, "length of a measurement")
	clients := flag.Int("clients", 16, "polling clients")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, "MILLRACE_SLOTS=64"); err != nil {
		return err
	}
	b := &bench{base: s.Base, clients: *clients, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if _, err := b.measure(ctx, *span/2); err != nil { // warms everything
		return err
	}
	few, err := b.measure(ctx, *span)
	if err != nil {
		return err
	}
	fmt.Printf("few jobs:      %6.0f polls/s   p50 %-8s p99 %s\n", few.rate, show(few.p50), show(few.p99))
	began := time.Now()
	if err := seed(ctx, s.DatabaseURL, *finished); err != nil {
		return err
	}
	fmt.Printf("seeded %d finished jobs through the event log in %s\n", *finished, time.Since(began).Round(time.Second))
	many, err := b.measure(ctx, *span)
	if err != nil {
		return err
	}
	fmt.Printf("%7d more:  %6.0f polls/s   p50 %-8s p99 %s\n", *finished, many.rate, show(many.p50), show(many.p99))
	fmt.Printf("as slow by rate: %.2f times   by p50: %.2f times   (target at most 1.20)\n", few.rate/many.rate,
		float64(many.p50)/float64(few.p50))
	return nil
}

func show(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

type bench struct {
	base    string
	clients int
	http    *http.Client
}

type figures struct {
	rate     float64
	p50, p99 time.Duration
}

// measure keeps 50 jobs running and polls them in turn.
func (b *bench) measure(ctx context.Context, span time.Duration) (figures, error) {
	ids, err := b.start(ctx)
	if err != nil {
		return figures{}, err
	}
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	var group sync.WaitGroup
	began := time.Now()
	for c := range b.clients {
		group.Go(func() {
			took, err := b.poll(ctx, ids[c*3%len(ids):], began.Add(span))
			mu.Lock()
			defer mu.Unlock()
			all, failure = append(all, took...), errors.Join(failure, err)
		})
	}
	group.Wait()
	elapsed := time.Since(began)
	return figures{
		rate: float64(len(all)) / elapsed.Seconds(), p50: harness.Quantile(all, 0.5), p99: harness.Quantile(all, 0.99),
	}, errors.Join(failure, b.stop(ctx))
}

func (b *bench) poll(ctx context.Context, ids []string, until time.Time) ([]time.Duration, error) {
	var took []time.Duration
	for i := 0; time.Now().Before(until); i++ {
		began := time.Now()
		if err := b.call(ctx, http.MethodGet, "/api/job/"+ids[i%len(ids)]+"/status", "", nil); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// slow keeps a worker busy for some seconds.
const slow = `{"prompt":{
	"1":{"class_type":"EmptyImage","inputs":{"width":2048,"height":2048,"batch_size":4,"color":%d}},
	"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":1.0}},
	"3":{"class_type":"ImageSharpen","inputs":{"image":["2",0],"sharpen_radius":31,"sigma":1.0,"alpha":1.0}},
	"4":{"class_type":"GetImageSize","inputs":{"image":["3",0]}},
	"5":{"class_type":"PreviewAny","inputs":{"source":["4",0]}}}}`

func (b *bench) start(ctx context.Context) ([]string, error) {
	ids := make([]string, running)
	for i := range ids {
		var answer struct {
			PromptID string `json:"prompt_id"`
		}
		if err := b.call(ctx, http.MethodPost, "/api/prompt", fmt.Sprintf(slow, i), &answer); err != nil {
			return nil, err
		}
		ids[i] = answer.PromptID
	}
	return ids, nil
}

// stop ends running jobs, so that the next measurement begins in the same state.
func (b *bench) stop(ctx context.Context) error {
	if err := b.call(ctx, http.MethodPost, "/api/interrupt", "", nil); err != nil {
		return err
	}
	for {
		var queue struct {
			Running []any `json:"queue_running"`
		}
		if err := b.call(ctx, http.MethodGet, "/api/queue", "", &queue); err != nil || len(queue.Running) == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (b *bench) call(ctx context.Context, method, path, body string, into any) error {
	return harness.Call(ctx, b.http, method, b.base+path, body, into)
}
