// Command console measures how long the pages of the console take with 100,000 jobs and 1,000,000 assets, against the
// same pages with a handful. Jobs and assets are copied into the log and folded by the projections of the service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("console", run) }

// bound is the maximum duration of 95 of 100 requests for a page.
const bound = 50 * time.Millisecond

func run(ctx context.Context) (err error) {
	jobs := flag.Int("jobs", 100_000, "jobs to seed")
	assets := flag.Int("assets", 1_000_000, "assets to seed")
	times := flag.Int("times", 40, "requests for each page, one after the other")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	few, err := measured(ctx, s, 10, 10, *times)
	if err != nil {
		return err
	}
	many, err := measured(ctx, s, *jobs, *assets, *times)
	if err != nil {
		return err
	}
	fmt.Printf("%-32s %9s %9s %9s %9s\n", "page", "p50", "p95", "kB", "p50 / few")
	missed := false
	for i, p := range many {
		mark := ""
		if p.p95 > bound {
			mark, missed = "  over "+bound.String(), true
		}
		fmt.Printf("%-32s %9s %9s %9.1f %9.2f%s\n", p.name, show(p.p50), show(p.p95), float64(p.bytes)/1000, float64(p.p50)/float64(few[i].p50),
			mark)
	}
	if missed {
		return harness.ErrMissed
	}
	return nil
}

func show(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

const first = `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":8,"height":8,"batch_size":1,"color":0}},` +
	`"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}}`

// figures are the times of one page.
type figures struct {
	name     string
	p50, p95 time.Duration
	bytes    int
}

// measured adds jobs and assets while the service is down and measures every page when it is back.
func measured(ctx context.Context, s *harness.Service, jobs, assets, times int) ([]figures, error) {
	if s.Base == "" { // the first start makes the tables, and its job the checkpoints of the views
		if err := s.Serve(ctx); err != nil {
			return nil, err
		}
		if err := harness.Call(ctx, http.DefaultClient, http.MethodPost, s.Base+"/api/prompt", first, nil); err != nil {
			return nil, err
		}
		if err := folded(ctx, s.DatabaseURL); err != nil {
			return nil, err
		}
	}
	if err := s.StopService(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := harness.SeedAssets(ctx, s.DatabaseURL, assets); err != nil {
		return nil, err
	}
	id, output, err := seed(ctx, s.DatabaseURL, jobs)
	if err != nil {
		return nil, err
	}
	if err := s.Serve(ctx); err != nil {
		return nil, err
	}
	if err := folded(ctx, s.DatabaseURL); err != nil {
		return nil, err
	}
	fmt.Printf("seeded %d jobs and %d assets in %s\n", jobs, assets, time.Since(began).Round(time.Second))
	paths, err := pages(ctx, s.Base, string(id), output)
	if err != nil {
		return nil, err
	}
	var all []figures
	for _, path := range paths {
		f, err := page(ctx, s.Base, path, times)
		if err != nil {
			return nil, err
		}
		f.name = strings.NewReplacer(string(id), "ID", output, "ASSET").Replace(path)
		all = append(all, f)
	}
	return all, nil
}

var link = regexp.MustCompile(`href="/console(/[a-z]+)"`)

// pages are the paths below /console: those in the navigation, and those to which these pages link.
func pages(ctx context.Context, base, id, output string) ([]string, error) {
	raw, err := get(ctx, base+"/console", "identity")
	if err != nil {
		return nil, err
	}
	paths := []string{
		"", "?status=failed", "?q=mill", "?class=SaveImage", "?status=failed&since=7d", "?group=cause", "?since=30d&until=7d",
		"/overview?range=24h", "/overview?range=30d", "/gallery?q=mill", "/jobs/" + id, "/jobs/" + id + "?at=3",
		"/jobs/" + id + "/outputs/" + output, "/jobs/" + id + "/again", "/jobs/bulk?action=retry&id=" + id,
	}
	for _, found := range link.FindAllSubmatch(raw, -1) {
		if path := string(found[1]); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// page requests a page several times, after one request that warms plans and caches.
func page(ctx context.Context, base, path string, times int) (figures, error) {
	var f figures
	var took []time.Duration
	for i := range times + 1 {
		began := time.Now()
		raw, err := get(ctx, base+"/console"+path, "gzip")
		if err != nil {
			return f, err
		}
		if i > 0 {
			took = append(took, time.Since(began))
		}
		f.bytes = len(raw)
	}
	f.p50, f.p95 = harness.Quantile(took, 0.5), harness.Quantile(took, 0.95)
	return f, nil
}

// get returns the bytes of an answer as they were sent.
func get(ctx context.Context, address, encoding string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", address, resp.Status, raw)
	}
	return raw, err
}
