// Package router_test uses the model router over HTTP in the configuration of an operator: behind an https address,
// with tokens, ceilings, bounds and a deadline. One service runs all tests: a private PostgreSQL, a real Temporal
// server, all roles, and the provider simulator in place of every provider.
package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/sim"
	"github.com/millrace-dev/millrace/test/served"
)

const (
	patience   = 5 * time.Minute // how long anything may take; far more than it does
	credential = "s3cr3t-credential-of-the-operator"
	jwtSecret  = "a-secret-that-the-issuer-and-the-router-share"
	maxBody    = 64 << 10
	adminToken = "token-of-the-operators"
)

// service is the running service that the tests of this package share.
type service struct {
	base, data string
	catalog    string // directory of catalog files
	probe      *probe
	mail       *mailbox // messages to webhooks at the address hooks
	hooks      string
	log        served.Log
	err        error
}

var (
	theService = sync.OnceValue(startService)
	stop       = func() {}
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": credential, "BFL_API_KEY": credential, "ELEVENLABS_API_KEY": credential,
		"PARROT_API_KEY": parrotKey,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

func start(t *testing.T) *service {
	t.Helper()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t))) // the same for every test: they run in parallel
	s := theService()
	require.NoError(t, s.err)
	return s
}

// deadline is how long a caller waits. It is longer than sending a request and storing the provider's handle take on
// a busy machine.
const deadline = 15 * time.Second

// settings are the settings of the service besides its environment. others holds addresses of providers that are not
// simulated, by name; hooks is the host that webhooks may reach; entries is the directory of catalog files.
func settings(simulator string, others map[string]string, hooks, entries string) map[string]string {
	providers := []string{"acme=" + simulator + "/sim"}
	for name, base := range others {
		providers = append(providers, name+"="+base)
	}
	for name, base := range sim.Bases(simulator) {
		providers = append(providers, name+"="+base)
	}
	return map[string]string{
		"MILLRACE_PUBLIC_URL": "https://router.example", "MILLRACE_SIMULATOR": simulator, "MILLRACE_PROVIDER_URLS": strings.Join(providers, ","),
		"MILLRACE_ROUTER_MAX_BODY": fmt.Sprint(maxBody), "MILLRACE_ROUTER_SPEND_CEILING": "1", "MILLRACE_ROUTER_CONCURRENCY": "0:8",
		"MILLRACE_ROUTER_DEADLINE": deadline.String(), "MILLRACE_JWT_SECRET": jwtSecret, "MILLRACE_ADMIN_TOKEN": adminToken,
		"MILLRACE_CATALOG": entries, "MILLRACE_WEBHOOK_ALLOW": hooks,
	}
}

func startService() *service {
	dir, err := scratch.New("mr-router")
	if err != nil {
		return &service{err: err}
	}
	addr, err := ports.Address()
	s := &service{base: "http://" + addr, data: filepath.Join(dir.Path, "data"), catalog: filepath.Join(dir.Path, "catalog"), err: err}
	s.err = errors.Join(s.err, ports.ForServers(s.data))
	simulator := sim.New(sim.Options{Delay: 20 * time.Millisecond})
	providers := httptest.NewServer(simulator)
	s.probe = newProbe()
	probe, repeating := httptest.NewServer(s.probe), httptest.NewServer(parrot())
	s.mail = &mailbox{}
	receiver := httptest.NewServer(s.mail)
	s.hooks = receiver.URL
	if err := errors.Join(
		os.Mkdir(s.catalog, 0o755), os.WriteFile(filepath.Join(s.catalog, "probe.yaml"), []byte(probeEntries), 0o600),
		os.WriteFile(filepath.Join(s.catalog, "parrot.yaml"), []byte(parrotEntries), 0o600),
	); err != nil {
		return &service{err: err}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	others := map[string]string{"probe": probe.URL, "parrot": repeating.URL}
	lookup := withSettings(settings(providers.URL, others, strings.TrimPrefix(s.hooks, "http://"), s.catalog))
	go func() {
		cmd := cli.Command(io.Discard, &s.log, lookup)
		cmd.SetArgs([]string{"dev", "--data", s.data, "--addr", addr, "--auth", "keys", "--log", "debug"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
		for _, server := range []*httptest.Server{providers, probe, repeating, receiver} {
			server.CloseClientConnections() // closes connections whose answers never end
			server.Close()
		}
		simulator.Close()
		dir.Remove() // the next run removes it
	}
	s.err = errors.Join(s.err, served.AwaitReady(s.base, 2*patience, ended))
	return s
}

func withSettings(own map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if v, ok := own[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
}

// client is an account of its own, with a key and tokens.
type client struct {
	*service
	t            *testing.T
	account, key string
}

func newClient(t *testing.T) *client {
	t.Helper()
	s := start(t)
	name := fmt.Sprint(t.Name(), time.Now().UnixNano())
	s.run(t, "accounts", "create", name, "--tier", "pro")
	return &client{service: s, t: t, account: name, key: s.run(t, "keys", "create", "--account", name)}
}

// run executes a command of the service's own command line and returns its last line.
func (s *service) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := served.Command(t.Context(), os.LookupEnv, append(args, "--data", s.data)...)
	require.NoError(t, err, out)
	return served.LastLine(out)
}

// bearer returns the value of an Authorization header with a token that names the account.
func (c *client) bearer() string {
	c.t.Helper()
	now := time.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": c.account, "iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	}).SignedString([]byte(jwtSecret))
	require.NoError(c.t, err)
	return "Bearer " + token
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request with the account's key, and with a token below /v1; headers come in pairs.
func (c *client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if strings.HasPrefix(path, "/v1/") {
		req.Header.Set("Authorization", c.bearer())
	} else {
		req.Header.Set("X-API-Key", c.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.send(req)
}

func (c *client) send(req *http.Request) reply {
	c.t.Helper()
	checked := &http.Client{Transport: openapitest.Transport(c.t, http.DefaultTransport)}
	res, err := checked.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return reply{res.StatusCode, res.Header, string(raw)}
}
