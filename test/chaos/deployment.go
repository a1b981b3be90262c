//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/load"
)

// deployment is a running service and the parts that can be broken.
type deployment struct {
	name     string
	client   *load.Client
	provider *load.Provider
	bases    []string // addresses of the API, one for each of its processes
	parts    []part
	troubles []trouble
	database func() string      // the address of its PostgreSQL
	machines []*comfyui.Machine // its ComfyUI servers
	roles    []*process         // restarted when they end
	run      *run
	env      []string
	closers  []func()
}

// part is a process, or several, that can be killed or stopped for a while.
type part struct {
	name string
	pids func() []int // present process ids; their descendants are stopped with them
	kill func()       // nil = SIGKILL to the pids
}

// temporalBinary is the path of the local Temporal server that the Makefile builds.
const temporalBinary = "bin/millrace-temporal"

func (d *deployment) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

// prepare makes the parts of both modes: a provider, addresses and the environment of the program.
func prepare(r *run, name, dir string) (*deployment, string, error) {
	addr, err := ports.Address()
	if err != nil {
		return nil, "", err
	}
	if err := ports.ForServers(dir); err != nil {
		return nil, "", err
	}
	temporal, err := filepath.Abs(temporalBinary)
	if err != nil {
		return nil, "", err
	}
	provider := load.NewProvider()
	server := httptest.NewServer(provider)
	d := &deployment{
		name: name, run: r, client: load.NewClient("http://" + addr), provider: provider, bases: []string{"http://" + addr},
		closers: []func(){provider.Close, server.Close},
		env: []string{
			"MILLRACE_SLOTS=6", "MILLRACE_LOG=warn", "MILLRACE_TEMPORAL_BIN=" + temporal, "MILLRACE_SIMULATOR=" + server.URL,
			"MILLRACE_NODE_TIMEOUT=" + nodeTimeout.String(), "MILLRACE_DISK_RESERVE=1048576",
			"MILLRACE_PRICE_RUN=" + load.RunPrice,
		},
	}
	return d, addr, d.addServers()
}

// startLocal starts local mode: one process with all roles, and its private servers.
func startLocal(_ context.Context, r *run, dir string) (*deployment, error) {
	d, addr, err := prepare(r, "local", dir)
	if err != nil {
		return nil, err
	}
	d.env = append(d.env, "MILLRACE_DATA="+dir)
	d.database = func() string { return localDatabase(dir) }
	if err := d.addTroubles(filepath.Join(dir, "blobs")); err != nil {
		return nil, err
	}
	service := d.role(filepath.Join(dir, "dev.log"), "dev", "--addr", addr)
	pid := func() []int { return []int{service.pid()} }
	again := func() {
		if err := service.start(); err != nil {
			r.log.Error("process not started", "error", err)
		}
	}
	d.parts = []part{
		{name: "everything", pids: pid, kill: func() {
			below := withDescendants(pid())[1:]
			service.kill(below...)
			again()
		}},
		{name: "millrace", pids: pid, kill: func() {
			service.kill()
			again()
		}},
		{name: "temporal", pids: func() []int { return childrenOf(service.pid(), "millrace-temporal") }},
		{name: "postgres", pids: func() []int { return childrenOf(service.pid(), "postgres") }},
	}
	return d, service.start()
}

// startSeparate starts each role as a separate process, on servers that this process supervises.
func startSeparate(ctx context.Context, r *run, dir string) (*deployment, error) {
	d, addr, err := prepare(r, "separate", dir)
	if err != nil {
		return nil, err
	}
	temporal, err := filepath.Abs(temporalBinary)
	if err != nil {
		return nil, err
	}
	stack, err := localstack.Start(ctx, localstack.Options{DataDir: dir, TemporalBinary: temporal, Log: r.log})
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	d.closers = append(d.closers, func() {
		if err := stack.Close(context.Background()); err != nil {
			r.log.Warn("private servers not stopped", "error", err)
		}
	})
	d.env = append(d.env, "DATABASE_URL="+stack.DatabaseURL, "TEMPORAL_ADDRESS="+stack.TemporalAddress,
		"MILLRACE_DATA="+filepath.Join(dir, "service"), "MILLRACE_NO_WORKFLOW_CACHE=true")
	d.database = func() string { return stack.DatabaseURL }
	if err := d.addTroubles(filepath.Join(dir, "service", "blobs")); err != nil {
		return d, err
	}
	if err := d.addRestore(ctx, dir); err != nil {
		return d, err
	}
	role := func(name string, args ...string) *process {
		return d.role(filepath.Join(dir, name+".log"), append([]string{
			"serve", "--roles", strings.TrimRight(name, "12"), "--internal-addr",
			"127.0.0.1:0",
		}, args...)...)
	}
	other, err := ports.Address()
	if err != nil {
		return d, err
	}
	d.bases = append(d.bases, "http://"+other)
	api, otherAPI := role("api1", "--addr", addr), role("api2", "--addr", other)
	first, second, projector := role("worker1"), role("worker2"), role("projector")
	d.parts = []part{
		d.partOf("api", api), d.partOf("other api", otherAPI), d.partOf("worker", first), d.partOf("workers", first, second),
		d.partOf("projector", projector),
		{name: "temporal", pids: func() []int { return childrenOf(os.Getpid(), "millrace-temporal") }},
		{name: "postgres", pids: func() []int { return childrenOf(os.Getpid(), "postgres") }},
		{name: "everything", pids: func() []int {
			pids := append(childrenOf(os.Getpid(), "millrace-temporal"), childrenOf(os.Getpid(), "postgres")...)
			return append(pids, api.pid(), otherAPI.pid(), first.pid(), second.pid(), projector.pid())
		}},
	}
	for _, p := range d.roles {
		if err := p.start(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// role returns a process of the program that is restarted whenever it ends.
func (d *deployment) role(log string, args ...string) *process {
	p := &process{binary: d.run.binary, args: args, env: d.env, log: log, report: d.run.log}
	d.roles = append(d.roles, p)
	d.closers = append(d.closers, p.stop)
	return p
}

func (d *deployment) partOf(name string, processes ...*process) part {
	return part{name: name, pids: func() (pids []int) {
		for _, p := range processes {
			pids = append(pids, p.pid())
		}
		return pids
	}}
}

// checkViews runs the program's comparison of every view with its rebuild.
func (d *deployment) checkViews(ctx context.Context) error {
	out, err := d.command(ctx, "views", "rebuild", "--check")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if !bytes.Contains(out, []byte("equals its rebuild")) || bytes.Contains(out, []byte("differs")) {
		return fmt.Errorf("not as rebuilt: %s", out)
	}
	return nil
}

// deploy publishes the deployment that the load calls, and gives the account the credit that its jobs cost.
func (d *deployment) deploy(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "deployed.json")
	if err := os.WriteFile(file, []byte(load.DeployedGraph), 0o600); err != nil {
		return err
	}
	args := []string{"deploy", file, "--name", load.Deployment, "--output", "picture=2"}
	for _, in := range load.DeployedInputs {
		args = append(args, "--input", in)
	}
	for _, args := range [][]string{args, {"accounts", "credit", "local", "--amount", "100000", "--reason", "the load"}} {
		if out, err := d.command(ctx, args...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	clients := 1
	if d.run.kills > 0 {
		clients = 4
	}
	d.client.Deployed(clients)
	return nil
}

// judgeCharges compares the ledger of keys with the account's credit.
func (d *deployment) judgeCharges(ctx context.Context, ledger *load.Ledger, report *report) {
	out, err := d.command(ctx, "accounts", "ledger", "local", "--json")
	var shown struct{ Entries []load.Booking }
	if err == nil {
		err = json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &shown) // the log precedes it
	}
	if err != nil {
		report.check(d.name+": the account's credit is read", fmt.Errorf("%w: %s", err, out[:min(len(out), 1000)]))
		return
	}
	compared, err := ledger.JudgeCharges(ctx, d.client, shown.Entries)
	report.seen = append(report.seen, d.name+": "+compared)
	report.check(d.name+": each key has one job and one charge", err)
}
