package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/engine/node"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// remoteClasses is the number of classes that each of the remoteServers has besides those of Millrace.
const (
	remoteClasses = 1000
	remoteServers = 3
)

// knownWithin bounds the time until the classes of the servers are known.
const knownWithin = time.Minute

// measureServers measures object_info with the classes of ComfyUI servers, of which each has a checkpoint of its own.
func measureServers(ctx context.Context, s *harness.Service, span time.Duration) error {
	var addresses []string
	for i := range remoteServers {
		m, err := sim.Start("127.0.0.1:0", sim.Options{Classes: manyClasses(), Checkpoints: []string{checkpoint(i)}})
		if err != nil {
			return err
		}
		defer m.Close()
		addresses = append(addresses, m.URL())
	}
	if err := s.Serve(ctx, "MILLRACE_COMFYUI="+strings.Join(addresses, " ")); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	first, plain, err := awaitClasses(ctx, client, s.Base+"/api/object_info")
	if err != nil {
		return err
	}
	bare := newBare(first)
	defer bare.Close()
	name := fmt.Sprintf("object_info of %d classes on each of %d servers, %d KiB, %d KiB compressed", remoteClasses, remoteServers, plain>>10,
		len(first.body)>>10)
	whole := comparison{client: client, clients: 1, span: span, target: target, service: s.Base + "/api/object_info", bare: bare.URL}
	unchanged := whole
	unchanged.etag, unchanged.target = first.etag, unchangedTarget
	return errors.Join(whole.run(ctx, name), unchanged.run(ctx, name+", unchanged"), s.StopService(ctx))
}

func checkpoint(i int) string { return fmt.Sprintf("server-%d.safetensors", i) }

// manyClasses are classes with definitions of about the size of ComfyUI's.
func manyClasses() []*node.Class {
	classes := make([]*node.Class, remoteClasses)
	for i := range classes {
		c := &node.Class{
			Name: fmt.Sprintf("Remote%04d", i), DisplayName: fmt.Sprintf("Remote class %d", i), Category: "remote", Module: "custom_nodes.remote",
			Description: "A class that only servers have.", OutputNode: true,
			Outputs: []node.Output{{Type: "MODEL"}, {Type: node.Image}},
			Run:     func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
		}
		for k := range 8 {
			c.Inputs = append(c.Inputs, node.Input{
				Name: fmt.Sprintf("input_%d", k), Type: node.Float, Default: 1.0, Min: 0.0, Max: 100.0, Step: 0.1,
				Tooltip: "A number that changes what the class makes of its other inputs.",
			})
		}
		classes[i] = c
	}
	return classes
}

// awaitClasses polls until the answer has the classes and checkpoints of all servers. It also returns the size of the plain answer.
func awaitClasses(ctx context.Context, client *http.Client, url string) (answer, int, error) {
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		a, err := fetch(ctx, client, url, "")
		if err != nil {
			return answer{}, 0, err
		}
		plain, err := inflated(a.body)
		if err != nil {
			return answer{}, 0, err
		}
		known := bytes.Contains(plain, []byte(`"Remote0999"`))
		for i := range remoteServers {
			known = known && bytes.Contains(plain, []byte(checkpoint(i)))
		}
		if known {
			return a, len(plain), nil
		}
		select {
		case <-ctx.Done():
			return answer{}, 0, fmt.Errorf("the classes of the servers did not become known: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func inflated(zipped []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
