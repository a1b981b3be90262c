// Package apitest starts the HTTP API for the tests of its surfaces: over parts that live in memory, over files that are
// really stored, with an editor or with the model router. It promises that every answer of an API that it started is
// compared with the OpenAPI document. What needs workflows, or a process of its own, is tested in test/e2e.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// documented checks every answer of a handler under test against the OpenAPI document.
func documented(t testing.TB, opts Options, next http.Handler) http.Handler {
	t.Helper()
	mount := ""
	if u, err := url.Parse(opts.PublicURL); err == nil {
		mount = strings.TrimRight(u.Path, "/")
	}
	return openapitest.Handler(t, mount, next)
}

// Harness is the API over parts that live in memory.
type Harness struct {
	Jobs *MemoryJobs
	Hub  *stream.Hub
	Live *HubLive
	Logs *bytes.Buffer
	URL  string
}

type plainLinks struct{}

func (plainLinks) Sign(asset, _, filename, _ string) (string, time.Time) {
	return "/files/" + asset + "/" + filename + "?sig=x", Then.Add(time.Hour)
}

// Parts are the parts of a service and whether each is ready.
type Parts []about.Part

// Check returns the parts.
func (p Parts) Check(context.Context) []about.Part { return p }

// twoKeys accepts the keys of two accounts, and one that may only read.
type twoKeys struct{}

func (twoKeys) IdentityByKey(_ context.Context, hash account.KeyHash) (account.Identity, error) {
	all := []account.Scope{account.ScopeRead, account.ScopeWrite}
	for secret, id := range map[string]account.Identity{
		"key-a": {Account: "a", Tier: account.TierPro, Active: true, Scopes: all},
		"key-b": {Account: "b", Tier: account.TierPro, Active: true, Scopes: all},
		"read":  {Account: "a", Tier: account.TierPro, Active: true, Scopes: all[:1]},
		"lapse": {Account: "c", Tier: account.TierPro, Scopes: all},
	} {
		if account.HashKey(secret) == hash {
			return id, nil
		}
	}
	return account.Identity{}, fault.New(fault.NotFound, "", "no such key")
}

// Then is when every job was submitted.
var Then = time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)

// Start starts the API over parts in memory.
func Start(t testing.TB, opts Options) *Harness { return StartWith(t, opts, func(*Deps) {}) }

// StartWith starts the API over parts that change may replace.
func StartWith(t testing.TB, opts Options, change func(*Deps)) *Harness {
	h := &Harness{Jobs: &MemoryJobs{Jobs: map[job.ID]job.Job{}}, Hub: stream.NewHub(stream.HubOptions{}), Logs: &bytes.Buffer{}}
	h.Live = &HubLive{Hub: h.Hub}
	var auth edge.Authenticator = account.Anyone{}
	switch opts.Mode {
	case account.ModeKeys:
		auth = account.NewKeys(twoKeys{})
	case account.ModeToken:
		static, err := account.NewStatic("s3cret")
		require.NoError(t, err)
		auth = static
	case account.ModeNone, "":
	}
	deps := Deps{
		Auth: auth, Jobs: h.Jobs, Reader: h.Jobs, Queue: h.Jobs, Sources: h.Jobs, Steps: h.Jobs, Links: plainLinks{}, Live: h.Live,
		Readiness: Parts{{Name: "postgresql", OK: true, Required: true}, {Name: "temporal", Detail: "not reachable"}},
		Logger:    slog.New(slog.NewTextHandler(&lockedWriter{w: h.Logs}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	change(&deps)
	handler, err := New(deps, opts)
	require.NoError(t, err)
	server := httptest.NewServer(documented(t, opts, handler))
	t.Cleanup(server.Close)
	t.Cleanup(h.Hub.Stop)
	h.URL = server.URL
	return h
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Reply is an answer that was read whole.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request; headers come in pairs.
func (h *Harness) Do(t *testing.T, method, path, body string, headers ...string) Reply {
	req, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return h.Send(t, req)
}

// Send sends a request and follows no redirect.
func (h *Harness) Send(t *testing.T, req *http.Request) Reply {
	t.Helper()
	return send(t, &http.Client{CheckRedirect: noRedirect}, req)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// send sends a request and reads the answer whole.
func send(t *testing.T, client *http.Client, req *http.Request) Reply {
	t.Helper()
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return Reply{res.StatusCode, res.Header, string(raw)}
}

// JSON decodes the body, which is an object.
func (r Reply) JSON(t *testing.T) map[string]any {
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.Body), &v), r.Body)
	return v
}
