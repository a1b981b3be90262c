package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/bench/harness"
)

// requests counts the requests. Each differs from the others, as those of users do: the blob store has neither it nor its answer.
var requests atomic.Int64

// provider answers echoes after a while, and tones of 20 MB at once.
type provider struct {
	base     string
	delay    atomic.Int64
	answered atomic.Int64 // echoes
	server   *http.Server
	http     *http.Client
}

func newProvider() (*provider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{base: "http://" + l.Addr().String(), http: keepAlive(256)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sim/echo", p.echo)
	mux.HandleFunc("POST /sim/speech", p.speech)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l) // ends with close
	return p, nil
}

func (p *provider) close() { p.server.Close() } // the measurement is over

func (p *provider) echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	select {
	case <-time.After(time.Duration(p.delay.Load())):
	case <-r.Context().Done():
		return
	}
	p.answered.Add(1)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"1","input":%s}`, body) // the caller sees a broken answer
}

func (p *provider) speech(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // only the answer counts
	w.Header().Set("Content-Type", "audio/wav")
	part := bytes.Repeat([]byte("tone"), 8000)
	for sent := 0; sent < largeAnswer; sent += len(part) {
		if _, err := w.Write(part[:min(len(part), largeAnswer-sent)]); err != nil {
			return
		}
	}
}

// call calls the provider directly.
func (p *provider) call(ctx context.Context) error { return post(ctx, p.http, p.base+"/sim/echo") }

func keepAlive(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxIdleConns: connections}}
}

func post(ctx context.Context, c *http.Client, address string) error {
	size, err := drain(ctx, c, address)
	if err == nil && size == 0 {
		return fmt.Errorf("%s answered nothing", address)
	}
	return err
}

// errLater is the error of a call that the service refused for now.
var errLater = errors.New("to be sent later")

func drain(ctx context.Context, c *http.Client, address string) (int64, error) {
	body := fmt.Sprintf(`{"prompt":"a red square","seed":%d}`, requests.Add(1))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the body only explains the error
		err := fmt.Errorf("%s answered %s: %s", address, resp.Status, said)
		if resp.StatusCode == http.StatusServiceUnavailable && bytes.Contains(said, []byte("no capacity for this call now")) {
			err = errors.Join(errLater, err)
		}
		return 0, err
	}
	return io.Copy(io.Discard, resp.Body)
}

// router is the service from the point of view of clients.
type router struct {
	base string
	http *http.Client
}

func newRouter(base string, clients int) *router {
	return &router{base: base, http: keepAlive(clients)}
}

func (r *router) one(ctx context.Context) error {
	return post(ctx, r.http, r.base+"/v2/models/sim/echo")
}

// bytes requests an answer of that size.
func (r *router) bytes(ctx context.Context, size int64) error {
	got, err := drain(ctx, r.http, r.base+"/v2/models/sim/speech")
	if err == nil && got != size {
		err = fmt.Errorf("an answer of %d bytes came as %d", size, got)
	}
	return err
}

// callWorkflow is the bare workflow: one activity that makes the same call.
func callWorkflow(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, "call").Get(ctx, nil)
}

func newBare(address string, p *provider) (*harness.Engine, error) {
	return harness.NewEngine(address, callWorkflow, func(w worker.Registry) {
		w.RegisterActivityWithOptions(p.call, activity.RegisterOptions{Name: "call"})
	})
}
