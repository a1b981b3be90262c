// Command memory measures the memory of all processes of the service, PostgreSQL's included: after its start, at the end of a load of text
// jobs and pictures, and at rest afterwards.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

func main() { harness.Main("memory", run) }

const (
	textJob = `{"prompt":{"1":{"class_type":"PrimitiveString","inputs":{"value":"mill %d"}},
	"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}}`
	pictureJob = `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":512,"height":512,"batch_size":1,"color":%d}},
	"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":8,"sigma":2.0}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"bench"}}}}`
)

func run(ctx context.Context) (err error) {
	texts := flag.Int("texts", 2000, "text jobs")
	pictures := flag.Int("pictures", 300, "jobs that blur and save a picture of 512 by 512 pixels")
	clients := flag.Int("clients", 20, "clients at once")
	rest := flag.Duration("rest", 5*time.Minute, "how long the service rests after the load")
	flag.Parse()
	s, err := harness.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Serve(ctx, "MILLRACE_SLOTS=64"); err != nil {
		return err
	}
	jobs, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		return err
	}
	defer jobs.Close()
	show("after the start", s)
	var next atomic.Int64
	for _, load := range []struct {
		name, graph string
		count       int
	}{{"text jobs", textJob, *texts}, {"pictures", pictureJob, *pictures}} {
		err := harness.Times(ctx, load.count, *clients, func(ctx context.Context) error {
			return jobs.One(ctx, fmt.Sprintf(load.graph, next.Add(1)))
		})
		if err != nil {
			return err
		}
		show(fmt.Sprintf("after %d %s", load.count, load.name), s)
	}
	const parts = 5
	for part := range parts {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(*rest / parts):
		}
		show(fmt.Sprintf("%s later", (*rest*time.Duration(part+1)/parts).Round(time.Second)), s)
	}
	return nil
}

func show(when string, s *harness.Service) {
	m := s.Memory()
	fmt.Printf("%-22s %5.0f MB   millrace %4.0f   temporal %4.0f   postgresql %4.0f\n", when, m["millrace"]+m["temporal"]+m["postgresql"],
		m["millrace"], m["temporal"], m["postgresql"])
}
