package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/bench/harness"
)

// bench drives the service and the bare program.
type bench struct {
	base, bare       string
	service, program func() time.Duration // CPU time of either process so far
	http             *http.Client
}

func newBench(base, bare string) *bench {
	return &bench{base: base, bare: bare, http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 2 * concurrency, WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10,
	}}}
}

// block is the pattern of contents; each megabyte of a content differs from every other.
var block = func() []byte {
	b := make([]byte, mb)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b) // never fails
	return b
}()

// content is a file that is made while it is read.
type content struct {
	seed uint64
	size int64
}

func (c content) reader() io.Reader {
	readers := make([]io.Reader, 0, 2*(c.size/mb+1))
	for at := int64(0); at < c.size; at += mb {
		mark := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.seed), uint64(at)) // not negative
		readers = append(readers, bytes.NewReader(mark), bytes.NewReader(block[len(mark):min(mb, c.size-at)]))
	}
	return io.MultiReader(readers...)
}

func (c content) hash() string {
	h := blake3.New()
	io.Copy(h, c.reader()) // memory only
	return fmt.Sprintf("blake3:%x", h.Sum(nil))
}

func (c content) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, c.reader())
	return err
}

const boundary = "millracebenchboundary"

// request is a multipart upload of the content.
func (c content) request(ctx context.Context, target string, fields map[string]string) (*http.Request, error) {
	var head strings.Builder
	for name, value := range fields {
		fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, value)
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n", boundary)
	tail := "\r\n--" + boundary + "--\r\n"
	body := io.MultiReader(strings.NewReader(head.String()), c.reader(), strings.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(head.Len()) + c.size + int64(len(tail))
	req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	return req, nil
}

// send makes a request and decodes a JSON answer into v, if not nil.
func (b *bench) send(req *http.Request, v any) error {
	return harness.Do(b.http, req, v)
}

// upload sends files eight at a time and returns MB/s.
func (b *bench) upload(ctx context.Context, target string, seed uint64, files int, size int64, expect bool) (float64, error) {
	hashes := make([]string, files)
	if expect {
		for i := range hashes {
			hashes[i] = content{seed + uint64(i), size}.hash() // not negative
		}
	}
	next := make(chan int)
	failures := make(chan error, concurrency)
	var group sync.WaitGroup
	began := time.Now()
	for range concurrency {
		group.Go(func() {
			for i := range next {
				fields := map[string]string{"content_type": "application/octet-stream", "file_path": fmt.Sprintf("bench/%d-%d", seed, i)}
				if expect {
					fields["expected_hash"] = hashes[i]
				}
				req, err := content{seed + uint64(i), size}.request(ctx, target, fields) // not negative
				if err == nil {
					err = b.send(req, nil)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	for i := range files {
		select {
		case next <- i:
		case err := <-failures:
			return 0, err
		}
	}
	close(next)
	group.Wait()
	close(failures)
	return float64(int64(files)*size) / mb / time.Since(began).Seconds(), <-failures
}

// settled waits until the background has verified the newest uploads, so that later operations are timed alone.
func (b *bench) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for open := true; open; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/v2/assets?limit=500", nil)
		if err != nil {
			return err
		}
		var page struct {
			Assets []struct {
				VerifiedAt *string `json:"verified_at"`
			}
		}
		if err := b.send(req, &page); err != nil {
			return err
		}
		open = false
		for _, a := range page.Assets {
			open = open || a.VerifiedAt == nil
		}
		time.Sleep(100 * time.Millisecond) // nothing tells a client
	}
	return nil
}

// scanned waits until the background is done with the last upload of a row; id may be empty.
func (b *bench) scanned(ctx context.Context, id string) error {
	for id != "" {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/v2/assets/"+id, nil)
		if err != nil {
			return err
		}
		var asset struct{ Scan *struct{} }
		if err := b.send(req, &asset); err != nil || asset.Scan != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // nothing tells a client
	}
	return nil
}

func (b *bench) reference(ctx context.Context, hash string, n int) error {
	body := fmt.Sprintf(`{"hash":%q,"file_path":"bench/ref-%d"}`, hash, n)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/api/v2/assets/from-hash", strings.NewReader(body))
	if err != nil {
		return err
	}
	return b.send(req, nil)
}

// link uploads a content and returns the link to it.
func (b *bench) link(ctx context.Context, c content) (string, error) {
	req, err := c.request(ctx, b.base+"/api/v2/assets", map[string]string{"content_type": "a/b", "file_path": "bench/big"})
	if err != nil {
		return "", err
	}
	var asset struct{ URL string }
	err = b.send(req, &asset)
	return asset.URL, err
}

// download reads a file ten times and returns MB/s.
func (b *bench) download(ctx context.Context, target string, size int64) (float64, error) {
	const times = 10
	buf := make([]byte, 256<<10)
	began := time.Now()
	for range times {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return 0, err
		}
		resp, err := b.http.Do(req)
		if err != nil {
			return 0, err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf)
		resp.Body.Close()
		if err != nil || n != size {
			return 0, fmt.Errorf("GET %s: %s, %d of %d bytes: %w", target, resp.Status, n, size, err)
		}
	}
	return times * float64(size) / mb / time.Since(began).Seconds(), nil
}

// timing is the median time of one operation.
type timing struct {
	name string
	p50  time.Duration
}

// operations times single uploads, reads and listings, one at a time.
func (b *bench) operations(ctx context.Context) ([]timing, error) {
	var id string
	start := uint64(time.Now().UnixNano()) // after 1970
	kinds := []struct {
		name string
		do   func(i int) error
	}{
		{"upload 4 kB", func(i int) error {
			req, err := content{start + uint64(i), 4096}.request(ctx, b.base+"/api/v2/assets", // not negative
				map[string]string{"content_type": "a/b", "file_path": fmt.Sprintf("bench/op-%d-%d", start, i)})
			if err != nil {
				return err
			}
			var asset struct{ ID string }
			err = b.send(req, &asset)
			id = asset.ID
			return err
		}},
		{"get", func(int) error { return b.get(ctx, "/api/v2/assets/"+id) }},
		{"list 20", func(int) error { return b.get(ctx, "/api/v2/assets?limit=20") }},
		{"list by tag", func(int) error { return b.get(ctx, "/api/v2/assets?limit=20&tag=seed-7") }},
	}
	out := make([]timing, len(kinds))
	for k, kind := range kinds {
		if err := b.scanned(ctx, id); err != nil {
			return nil, err
		}
		var took []time.Duration
		for i := range 400 {
			began := time.Now()
			if err := kind.do(i); err != nil {
				return nil, err
			}
			if i >= 100 { // the first warm plans and caches
				took = append(took, time.Since(began))
			}
		}
		out[k] = timing{kind.name, harness.Quantile(took, 0.5)}
	}
	return out, nil
}

func (b *bench) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		return err
	}
	return b.send(req, nil)
}
