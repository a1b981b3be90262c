package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// counter is a provider that counts its requests. The first word of a body selects the behaviour, the second names
// the request: "fast a", "async b", "refuse c", "gate d" (answers when released), "hold e" (accepts, and has the result when
// released).
type counter struct {
	*httptest.Server
	mu       sync.Mutex // guards the fields below
	charged  map[string]int
	keys     map[string]int // requests by their idempotency key
	polls    map[string]int
	canceled map[string]bool
	begun    chan string              // names of gated requests, as they arrive
	gates    map[string]chan struct{} // closed to release a gated request
}

func newProvider(t *testing.T) *counter {
	t.Helper()
	p := &counter{
		charged: map[string]int{}, keys: map[string]int{}, polls: map[string]int{}, canceled: map[string]bool{}, begun: make(chan string, 1000),
		gates: map[string]chan struct{}{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", p.run)
	mux.HandleFunc("GET /run/{handle}", p.poll)
	mux.HandleFunc("DELETE /run/{handle}", p.cancel)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// again returns how often a request with the key has arrived. The first one is charged, and so is every one without a key.
func (p *counter) again(key, name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key != "" {
		p.keys[key]++
	}
	if p.keys[key] <= 1 {
		p.charged[name]++
	}
	return p.keys[key]
}

// requests returns how often a call was sent with its idempotency key.
func (p *counter) requests(id call.ID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[string(id)]
}

func (p *counter) gate(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[name] == nil {
		p.gates[name] = make(chan struct{})
	}
	return p.gates[name]
}

func (p *counter) run(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	how, name, _ := strings.Cut(string(body), " ")
	if p.again(r.Header.Get("Idempotency-Key"), name) > 1 && how != "drop" {
		how = "fast"
	}
	switch how {
	case "async", "endless", "hold":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, how+"-"+name)
		return
	case "refuse":
		w.WriteHeader(http.StatusForbidden)
		return
	case "drop", "lose": // "lose" answers a repeated request
		panic(http.ErrAbortHandler)
	case "slow":
		select {
		case <-time.After(time.Duration(20+len(name)*13%80) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	case "gate":
		p.begun <- name
		select {
		case <-p.gate(name):
		case <-r.Context().Done():
			return
		}
	case "host":
		w.Header().Set("X-Host", "yes")
	case "link":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"url": "https://elsewhere.example/%s"}`, name)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, answerTo(name))
}

func answerTo(name string) string { return "the answer to " + name }

func (p *counter) poll(w http.ResponseWriter, r *http.Request) {
	how, name, _ := strings.Cut(r.PathValue("handle"), "-")
	p.mu.Lock()
	p.polls[name]++
	n, canceled := p.polls[name], p.canceled[name]
	p.mu.Unlock()
	if how == "hold" {
		select {
		case <-p.gate(name):
			n = 3
		default:
			n = 0
		}
	}
	if canceled {
		w.WriteHeader(http.StatusGone)
		return
	}
	if how == "endless" || n < 3 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, answerTo(name))
}

func (p *counter) cancel(_ http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(r.PathValue("handle"), "-")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.canceled[name] = true
}

func (p *counter) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.charged[name]
}

// deployment is a deployment. This process is its API; workers are separate processes or run in this one.
type deployment struct {
	*parts
	*call.Service
	place    place
	provider *counter
	watch    *call.Watch
}

// anyModel offers every model at the test's price.
type anyModel struct{}

func (anyModel) Offer(_ context.Context, inv call.Invocation) (call.Offer, error) {
	if inv.Model == "no/such" {
		return call.Offer{}, call.Refuse(fault.NotFound, call.ModelNotFound, "there is no such model")
	}
	return call.Offer{Model: inv.Model, Provider: "test", Reserve: price}, nil
}

func newDeployment(t *testing.T, tiers call.Tiers) *deployment {
	t.Helper()
	s := &deployment{provider: newProvider(t)}
	s.place = place{DSN: pgtest.Migrated(t, postgres.Migrate), Blobs: t.TempDir(), Provider: s.provider.URL}
	s.place.Temporal, s.place.Namespace = temporaltest.Namespace(t)
	var err error
	s.parts, err = s.place.open(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	tail, err := eventstore.OpenTailer(t.Context(), s.pool, s.place.DSN, s.wake, eventstore.TailerOptions{})
	require.NoError(t, err)
	s.watch = call.NewWatch(s.types)
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{
		s.wake.Run, tail.Run, s.relay.Run, func(ctx context.Context) error { return eventlog.Follow(ctx, tail, tail.Start(), s.watch.Observe) },
	} {
		group.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
		s.client.Close()
		s.pool.Close()
	})
	s.Service = call.NewService(call.Deps{
		Store: s.calls, Models: anyModel{}, Tiers: tiers, Blobs: s.blobs, Notify: s.relay.Notify,
		Watch: s.watch, Deadline: patience, Log: s.log,
	})
	return s
}

// work runs a worker within this process, and lets the API of this process send calls itself.
func (s *deployment) work(t *testing.T) {
	t.Helper()
	s.workInProcess(t, true)
}

// workInProcess runs a worker within this process. Calls are sent by the API or by their workflows.
func (s *deployment) workInProcess(t *testing.T, together bool) {
	t.Helper()
	s.workWith(t, s.place.models(s.parts), together)
}

// workWith is workInProcess with activities that the test has changed.
func (s *deployment) workWith(t *testing.T, models *modelcall.Activities, together bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	if together {
		s.Sender = models
		s.sends.Store(models)
	}
	go func() { stopped <- s.place.worker(s.parts, models).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-stopped)
	})
}

func (s *deployment) sweeper() *sweep.CallSweeper {
	return &sweep.CallSweeper{Client: s.client, Calls: s.calls, Tiers: openTiers, Log: s.log, Age: time.Millisecond}
}

func invocation(account, key, body string) call.Invocation {
	return call.Invocation{
		Account: account, RequestID: string(call.NewID()), Key: key, Method: "POST", Target: "/v2/models/test/model", Model: "test/model",
		API: call.V2, ContentType: "application/json", Body: []byte(body),
	}
}

// read returns an answer's bytes.
func read(t testing.TB, res *call.Result) string {
	r, err := res.Open(context.Background())
	require.NoError(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(raw)
}

// refused returns err as a refusal.
func refused(t *testing.T, err error) *call.Refusal {
	t.Helper()
	var r *call.Refusal
	require.ErrorAs(t, err, &r)
	return r
}

// again reports whether a client of the router would send the same request again.
func again(err error) bool {
	var r *call.Refusal
	if !errors.As(err, &r) {
		return false
	}
	return r.RetryAfter > 0
}

// statusOf returns the HTTP status with which the router answers a refusal.
func statusOf(r *call.Refusal) int { return router.Status(r) }
