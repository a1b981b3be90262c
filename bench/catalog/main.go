// Command catalog measures what every editor asks for first: the definitions of all node classes,
// compressed, and again with the ETag of the answer before. Beside the service stands a bare
// net/http program in this process that serves the same bytes from memory; the ratio to it is
// what the service itself costs: authentication, the files that inputs offer, and the lookup.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/bench/stand"
)

// target is how long the median answer may take (issue: object_info).
const target = 2 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/catalog: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	span := flag.Duration("span", 5*time.Second, "length of a measurement")
	flag.Parse()
	s, err := stand.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	first, err := fetch(ctx, client, s.Base+"/api/object_info", "")
	if err != nil {
		return err
	}
	fmt.Printf("object_info: %d KiB compressed, ETag %s\n", len(first.body)>>10, first.etag)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(first.body) // a client that left is no concern of a benchmark
	}))
	defer bare.Close()
	return errors.Join(
		compare(ctx, client, *span, "whole", s.Base+"/api/object_info", bare.URL, ""),
		compare(ctx, client, *span, "unchanged", s.Base+"/api/object_info", bare.URL, first.etag),
	)
}

// compare measures the service and the bare program in turns, so that both meet the same machine.
func compare(ctx context.Context, client *http.Client, span time.Duration, name, service, bare, etag string) error {
	var ours, theirs []time.Duration
	const turns = 4
	for range turns {
		for url, into := range map[string]*[]time.Duration{service: &ours, bare: &theirs} {
			took, err := measure(ctx, client, span/turns/2, url, etag)
			if err != nil {
				return err
			}
			*into = append(*into, took...)
		}
	}
	p50, p99, base := stand.Quantile(ours, 0.5), stand.Quantile(ours, 0.99), stand.Quantile(theirs, 0.5)
	verdict := "met"
	if p50 > target {
		verdict = "MISSED"
	}
	fmt.Printf("%-10s p50 %s, p99 %s; bare net/http p50 %s: ratio %.2f; target p50 %s %s\n",
		name, p50.Round(time.Microsecond), p99.Round(time.Microsecond), base.Round(time.Microsecond), float64(p50)/float64(base), target, verdict)
	return nil
}

// clients ask at once: as many as this stand has cores.
const clients = 2

func measure(ctx context.Context, client *http.Client, span time.Duration, url, etag string) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	var group sync.WaitGroup
	until := time.Now().Add(span)
	for range clients {
		group.Go(func() {
			var took []time.Duration
			var err error
			for err == nil && time.Now().Before(until) {
				began := time.Now()
				_, err = fetch(ctx, client, url, etag)
				took = append(took, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all, failure = append(all, took...), errors.Join(failure, err)
		})
	}
	group.Wait()
	return all, failure
}

type answer struct {
	etag string
	body []byte
}

func fetch(ctx context.Context, client *http.Client, url, etag string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified {
		return answer{}, fmt.Errorf("GET %s: %s: %.200s", url, res.Status, body)
	}
	return answer{res.Header.Get("ETag"), body}, nil
}
