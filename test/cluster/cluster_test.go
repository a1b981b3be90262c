//go:build linux

// Package cluster_test runs the service as a cluster in somebody's data centre: every process in a network namespace
// of its own, TLS with the operator's certificate authority to PostgreSQL and to Temporal, files in a bucket. Under
// load, the cluster is upgraded from one release to another and back, process by process, and each kind of process is
// killed. Accepted work is neither lost nor fails, and a client that retries as requested sees no error of the
// service.
package cluster_test

import (
	"crypto/rand"
	"crypto/tls"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/s3server"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/test/load"
)

const (
	// patience bounds every wait, far above the usual time.
	patience = 90 * time.Second
	tick     = 50 * time.Millisecond
	// namespace is the service's namespace in Temporal.
	namespace = "pictures"
)

// cluster is a running service: two APIs, three workers and two projectors.
type cluster struct {
	t          testing.TB
	dir        string
	net        *network
	env        map[string]string // of every process
	postgres   *pgtest.Secured
	temporal   *engine
	provider   *load.Provider
	engine     client.Client // without TLS
	apis       []*process
	workers    []*process
	projectors []*process
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	bucket := s3server.NewBucket(t) // skips the test if there is no server
	dir, err := scratch.New("millrace-cluster")
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Remove() }) // if this fails, the next run removes the directory
	c := &cluster{t: t, dir: dir.Path, net: newNetwork(t), provider: load.NewProvider(), env: map[string]string{
		"MILLRACE_LOG": "warn", "MILLRACE_SLOTS": "6", "MILLRACE_SECRET_KEY": strings.Repeat("5e", 32), "MILLRACE_STOP_AFTER": "20s",
		"TEMPORAL_NAMESPACE": namespace, "MILLRACE_BUCKET": bucket.Name, "MILLRACE_BUCKET_REGION": s3server.Region,
		"MILLRACE_BUCKET_INSECURE":   "true",
		"MILLRACE_BUCKET_ACCESS_KEY": s3server.AccessKey, "MILLRACE_BUCKET_SECRET_KEY": s3server.SecretKey,
	}}
	c.env["MILLRACE_BUCKET_ENDPOINT"] = c.net.forward(bucket.Addr, nil)
	models := httptest.NewUnstartedServer(c.provider)
	models.Listener = c.net.listen()
	models.Start()
	t.Cleanup(func() { models.Close(); c.provider.Close() })
	c.env["MILLRACE_SIMULATOR"] = models.URL
	c.startServers()
	for n := range 3 {
		if n < 2 {
			c.apis, c.projectors = append(c.apis, c.process("api", n+1)), append(c.projectors, c.process("projector", n+1))
		}
		c.workers = append(c.workers, c.process("worker", n+1))
	}
	return c
}

// startServers starts PostgreSQL and Temporal, both with certificates of one authority.
func (c *cluster) startServers() {
	t, until := c.t, time.Now().Add(time.Hour)
	t.Helper()
	ca := authority.New(t)
	file := func(name string, content []byte) string {
		return authority.WriteFile(t, filepath.Join(c.dir, "tls", name), content)
	}
	root := file("ca.pem", ca.PEM)
	cert, key := ca.Issue(t, c.net.address, until)
	c.postgres = pgtest.NewSecured(t, c.net.address, cert, key)
	c.env["DATABASE_URL"] = c.postgres.URL(url.Values{"sslmode": {"verify-full"}, "sslrootcert": {root}})

	c.temporal = newEngine(t, c.dir)
	cert, key = ca.Issue(t, "millrace", until)
	c.env["TEMPORAL_ADDRESS"] = c.net.forward(c.temporal.opts.Address, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{ca.Pair(t, "temporal.test", until)},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(),
	})
	c.env["TEMPORAL_TLS_SERVER_NAME"] = "temporal.test"
	c.env["TEMPORAL_TLS_SERVER_CA_CERT_PATH"] = root
	c.env["TEMPORAL_TLS_CLIENT_CERT_PATH"] = file("client.pem", cert)
	c.env["TEMPORAL_TLS_CLIENT_KEY_PATH"] = file("client.key", key)
	var err error
	c.engine, err = client.DialContext(t.Context(), client.Options{HostPort: c.temporal.opts.Address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.engine.Close)
}

// engine is a Temporal server that can be killed.
type engine struct {
	t      testing.TB
	opts   temporal.Options
	server *temporal.Server
}

func newEngine(t testing.TB, dir string) *engine {
	t.Helper()
	address, err := ports.Address()
	require.NoError(t, err)
	host, port, user, password := pgtest.Address(t)
	e := &engine{t: t, opts: temporal.Options{
		Binary: temporaltest.Binary(t), Postgres: temporal.Postgres{Host: host, Port: port, User: user, Password: password},
		Database: "cluster_" + strings.ToLower(rand.Text()[:8]), Address: address, Namespace: namespace,
		LogFile: filepath.Join(dir, "temporal.log"),
	}}
	e.start()
	t.Cleanup(func() {
		if t.Failed() {
			raw, _ := os.ReadFile(e.opts.LogFile) // it may be missing
			t.Logf("log of Temporal:\n%s", tail(string(raw)))
		}
		_ = e.server.Stop(t.Context()) // kills the server, because the context has ended
	})
	return e
}

func (e *engine) start() {
	e.t.Helper()
	var err error
	e.server, err = temporal.Start(e.t.Context(), e.opts)
	require.NoError(e.t, err)
}

// kill kills the server and restarts it.
func (e *engine) kill() {
	e.t.Helper()
	require.NoError(e.t, syscall.Kill(e.server.PID(), syscall.SIGKILL))
	<-e.server.Done()
	e.start()
}

// start starts every process of a release.
func (c *cluster) start(r release) {
	c.t.Helper()
	for _, all := range [][]*process{c.projectors, c.apis, c.workers} {
		for _, p := range all {
			p.start(r)
		}
	}
	c.command(r, "workers", "promote", r.build)
}

// command runs a command of a release until it succeeds.
func (c *cluster) command(r release, args ...string) string {
	c.t.Helper()
	for until := time.Now().Add(patience); ; {
		out, err := c.try(r, args...)
		if err == nil {
			return out
		}
		require.True(c.t, time.Now().Before(until), "%s: %v: %s", strings.Join(args, " "), err, out)
		pauseOrFail(c.t)
	}
}

func pauseOrFail(t testing.TB) {
	t.Helper()
	require.True(t, load.Pause(t.Context(), tick))
}

// urls returns the addresses of the APIs for clients.
func (c *cluster) urls() (all []string) {
	for _, p := range c.apis {
		all = append(all, p.url())
	}
	return all
}

// releases returns the program of this tree and the previous release: the binary in MILLRACE_TEST_PREVIOUS, or the
// same program under another build id.
func releases(t testing.TB) (previous, current release) {
	t.Helper()
	binary, err := filepath.Abs("../../bin/millrace")
	require.NoError(t, err)
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("no program to run: %v; make test/cluster builds it", err)
	}
	previous, current = release{binary, "one"}, release{binary, "two"}
	if path := os.Getenv("MILLRACE_TEST_PREVIOUS"); path != "" {
		previous.binary, err = filepath.Abs(path)
		require.NoError(t, err)
		return previous, current
	}
	t.Log("MILLRACE_TEST_PREVIOUS names no earlier release: both releases are the same program, with two build ids")
	return previous, current
}
