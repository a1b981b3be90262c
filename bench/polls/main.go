// Command polls measures the most frequent request of clients, the status of a job, while 50 jobs run or wait for a simulated ComfyUI
// server: first with few jobs in the database, then with 100,000 finished jobs, which are seeded through the event log like real ones.
// The jobs need next to no processor time, so that it is the polls that are measured.
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
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
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
	server, err := sim.Start("127.0.0.1:0", sim.Options{Step: time.Second})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := s.Serve(ctx, "MILLRACE_SLOTS=64", "MILLRACE_COMFYUI="+server.URL()); err != nil {
		return err
	}
	if err := s.AwaitClass(ctx, "KSampler"); err != nil {
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

// measure has 50 jobs run, or wait for the server, and polls them in turn.
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

// slow takes the simulated server minutes.
const slow = `{"prompt":{
	"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
	"2":{"class_type":"CLIPTextEncode","inputs":{"text":"","clip":["1",1]}},
	"3":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
	"4":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["2",0],"latent_image":["3",0],
		"seed":%d,"steps":500,"cfg":7.0,"sampler_name":"euler","scheduler":"normal","denoise":1.0}},
	"5":{"class_type":"VAEDecode","inputs":{"samples":["4",0],"vae":["1",2]}},
	"6":{"class_type":"SaveImage","inputs":{"images":["5",0],"filename_prefix":"slow"}}}}`

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
