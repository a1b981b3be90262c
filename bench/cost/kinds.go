package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/bench/harness"
)

// kind is work whose unit is measured.
type kind struct {
	name    string
	clients int
	one     func(context.Context) error
}

// bench drives the service.
type bench struct {
	base    string
	clients int
	http    *http.Client
	partner *provider
	bare    *harness.Engine
	jobs    *harness.Platform
	next    atomic.Uint64 // makes every graph and file different
}

func newBench(ctx context.Context, s *harness.Service, clients int, env ...string) (*bench, error) {
	partner, err := newProvider()
	if err != nil {
		return nil, err
	}
	env = append(env, "MILLRACE_SLOTS=64", "MILLRACE_NODE_CACHE=4294967296", "MILLRACE_SIMULATOR="+partner.base,
		"MILLRACE_ADMIN_TOKEN="+adminToken)
	if err := s.Serve(ctx, env...); err != nil {
		return nil, err
	}
	bare, err := harness.NewBare(s.TemporalAddress)
	if err != nil {
		return nil, err
	}
	jobs, err := harness.NewPlatform(ctx, s.Base)
	if err != nil {
		bare.Close()
		return nil, err
	}
	return &bench{
		base: s.Base, partner: partner, clients: clients, bare: bare, jobs: jobs,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}, nil
}

func (b *bench) close() {
	b.jobs.Close()
	b.bare.Close()
	b.partner.close()
}

// uploaders is the number of concurrent uploading clients.
const uploaders = 8

func (b *bench) kinds() []kind {
	return []kind{
		{"bare", b.clients, b.bare.One},
		{"job", b.clients, b.job},
		{"upload", uploaders, func(ctx context.Context) error { return b.upload(ctx, b.next.Add(1), false) }},
		{"duplicate", uploaders, func(ctx context.Context) error { return b.upload(ctx, 0, false) }},
		{"expected", uploaders, func(ctx context.Context) error { return b.upload(ctx, 0, true) }},
		{"call", b.clients, b.call},
		{"burst", b.clients, b.accepted}, // jobs of which each client waits for the acceptance only, as in the next two
		{"plain", b.clients, b.plain},
		{"deployed", b.clients, b.called},
	}
}

// job runs three cheap nodes. The graph differs each time, so that the node cache has none of them.
func (b *bench) job(ctx context.Context) error { return b.jobs.One(ctx, b.text()) }

// accepted submits such a job.
func (b *bench) accepted(ctx context.Context) error { return b.post(ctx, "/api/prompt", b.text()) }

func (b *bench) text() string {
	return fmt.Sprintf(`{"prompt":`+shown+`}`, fmt.Sprint("mill ", b.next.Add(1)))
}

// call calls the simulated model that answers at once. Request and answer differ each time, so that the blob store has none of them.
func (b *bench) call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/v2/models/sim/echo",
		strings.NewReader(fmt.Sprintf(`{"prompt":"a red square","seed":%d}`, b.next.Add(1))))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return b.send(req)
}

// fileSize is the size of an upload.
const fileSize = 64 << 10

// upload stores a file, whose content seed determines, as a new asset. With expect, the client states its hash.
func (b *bench) upload(ctx context.Context, seed uint64, expect bool) error {
	content := make([]byte, fileSize)
	for i := 0; i < fileSize; i += 8 {
		binary.BigEndian.PutUint64(content[i:], seed+uint64(i)) // not negative
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := map[string]string{"content_type": "application/octet-stream", "file_path": fmt.Sprintf("bench/%d", b.next.Add(1))}
	if expect {
		fields["expected_hash"] = fmt.Sprintf("blake3:%x", blake3.Sum256(content))
	}
	var failed error
	for name, value := range fields {
		failed = errors.Join(failed, form.WriteField(name, value))
	}
	file, err := form.CreateFormFile("file", "f")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(failed, err, form.Close()); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/api/v2/assets", &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return b.send(req)
}

func (b *bench) send(req *http.Request) error {
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s: %s", req.URL, resp.Status, said)
	}
	return nil
}
