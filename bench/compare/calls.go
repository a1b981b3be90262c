package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// jobs compares jobs of three text nodes with a workflow that has one empty local activity.
func jobs(ctx context.Context, o options, s *harness.Service, _ *provider) error {
	bare, err := harness.NewBare(s.TemporalAddress)
	if err != nil {
		return err
	}
	defer bare.Close()
	platform, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer platform.Close()
	job := func(ctx context.Context) error {
		return platform.One(ctx, fmt.Sprintf(`{"prompt":{
			"1":{"class_type":"PrimitiveString","inputs":{"value":"mill %s"}},
			"2":{"class_type":"StringConcatenate","inputs":{"string_a":["1",0],"string_b":"race","delimiter":""}},
			"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}}`, names.name()))
	}
	return o.compare(ctx, "job of three text nodes", "a bare workflow", bare.One, job)
}

// calls compares model calls with the same requests through a reverse proxy and a gateway.
func calls(ctx context.Context, o options, s *harness.Service, p *provider) error {
	proxy, err := harness.Again(ctx, "-proxy", p.base)
	if err != nil {
		return err
	}
	defer proxy.Stop()
	client := keepAlive(o.clients)
	by := func(address string) side { return func(ctx context.Context) error { return ask(ctx, client, address) } }
	router := by(s.Base + "/v2/models/sim/echo")
	if err := o.compare(ctx, "model call", "a reverse proxy", by(proxy.Base+"/sim/echo"), router); err != nil {
		return err
	}
	if o.gateway == "" {
		fmt.Println("-gateway names no address: model calls are not compared with a gateway")
		return nil
	}
	return o.compare(ctx, "model call", "a gateway", by(o.gateway), router)
}

// provider echoes each request after the time that a quick model takes.
type provider struct {
	base   string
	server *http.Server
}

const answersAfter = 50 * time.Millisecond

func newProvider(address string) (*provider, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &provider{base: "http://" + l.Addr().String()}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		select {
		case <-time.After(answersAfter):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","input":%s}`, body) // the caller sees a broken answer
	})}
	go p.server.Serve(l) // ends with close
	return p, nil
}

func (p *provider) close() { p.server.Close() } // the measurement is over

func ask(ctx context.Context, c *http.Client, address string) error {
	return harness.Call(ctx, c, http.MethodPost, address, `{"prompt":"a red square"}`, nil)
}

func keepAlive(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxIdleConns: connections}}
}

// beProxy passes requests on to an address.
func beProxy(ctx context.Context, to string) error {
	target, err := url.Parse(to)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: keepAlive(256).Transport,
	}
	return harness.Listen(ctx, proxy)
}
