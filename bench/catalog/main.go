// Command catalog measures requests that clients repeat often: the definitions of all node classes, which every editor loads first, the
// same with the classes of three ComfyUI servers, and the catalog routes of the model router with 1,000 models. Each request is sent
// without and with the ETag of the previous answer. The baseline is a bare net/http program in this process that serves the same bytes, and
// the same 304, from memory over the same kind of socket; the ratio to this program is the cost of the service itself. Each figure is
// printed with its target and whether it was met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// target bounds the median duration of an answer.
const target = 2 * time.Millisecond

func main() { harness.Main("catalog", run) }

func run(ctx context.Context) (err error) {
	span := flag.Duration("span", 5*time.Second, "length of a measurement")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := measureDefinitions(ctx, s, *span); err != nil {
		return err
	}
	if err := measureServers(ctx, s, *span); err != nil {
		return err
	}
	return measureModels(ctx, s, *span)
}

// measureDefinitions measures object_info.
func measureDefinitions(ctx context.Context, s *harness.Service, span time.Duration) error {
	if err := s.Serve(ctx); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	first, err := fetch(ctx, client, s.Base+"/api/object_info", "")
	if err != nil {
		return err
	}
	bare := newBare(first)
	defer bare.Close()
	name := fmt.Sprintf("object_info, %d KiB compressed", len(first.body)>>10)
	whole := comparison{client: client, clients: 2, span: span, target: target, service: s.Base + "/api/object_info", bare: bare.URL}
	unchanged := whole
	unchanged.etag = first.etag
	return errors.Join(whole.run(ctx, name), unchanged.run(ctx, name+", unchanged"), s.StopService(ctx))
}

// newBare serves an answer from memory, and 304 for its entity tag.
func newBare(a answer) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range a.header {
			w.Header()[name] = values
		}
		if a.etag != "" && r.Header.Get("If-None-Match") == a.etag {
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(a.body) // the client may have disconnected
	}))
}

// comparison is the service and the bare program, measured with the same request.
type comparison struct {
	client        *http.Client
	clients       int // concurrent clients
	span          time.Duration
	target        time.Duration // of the service's median
	service, bare string
	etag          string // "" = the whole answer is requested
}

// turns is the number of alternations, so that both are measured under the same conditions.
const turns = 8

// run measures and prints a line.
func (c comparison) run(ctx context.Context, name string) error {
	var ours, theirs []time.Duration
	for turn := range turns + 1 {
		for _, side := range []struct {
			url  string
			into *[]time.Duration
		}{{c.service, &ours}, {c.bare, &theirs}} {
			took, err := c.measure(ctx, side.url)
			if err != nil {
				return err
			}
			if turn > 0 { // the first warms both
				*side.into = append(*side.into, took...)
			}
		}
	}
	p50, p99, base := harness.Quantile(ours, 0.5), harness.Quantile(ours, 0.99), harness.Quantile(theirs, 0.5)
	verdict := "met"
	if p50 > c.target {
		verdict = "MISSED"
	}
	fmt.Printf("%s: p50 %s, p99 %s; bare net/http p50 %s: ratio %.2f; target p50 %s %s\n",
		name, p50.Round(time.Microsecond), p99.Round(time.Microsecond), base.Round(time.Microsecond), float64(p50)/float64(base), c.target,
		verdict)
	return nil
}

// measure makes one side's share of the requests of a turn.
func (c comparison) measure(ctx context.Context, url string) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	var group sync.WaitGroup
	until := time.Now().Add(c.span / turns / 2)
	for range c.clients {
		group.Go(func() {
			var took []time.Duration
			var err error
			for err == nil && time.Now().Before(until) {
				began := time.Now()
				_, err = fetch(ctx, c.client, url, c.etag)
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
	header http.Header
	etag   string
	body   []byte
}

// fetch requests url. With an entity tag, the answer must be 304, otherwise complete.
func fetch(ctx context.Context, client *http.Client, url, etag string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	want := http.StatusOK
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
		want = http.StatusNotModified
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
	if res.StatusCode != want {
		return answer{}, fmt.Errorf("GET %s: %s: %.200s", url, res.Status, body)
	}
	return answer{res.Header, res.Header.Get("ETag"), body}, nil
}
