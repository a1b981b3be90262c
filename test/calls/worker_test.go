package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/starter"
)

// workerEnv makes this test program a worker for model calls, so that a test can kill it.
const workerEnv = "MILLRACE_CALLS_TEST_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		if err := runWorker(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// place holds the addresses of the parts of one deployment.
type place struct{ DSN, Temporal, Namespace, Blobs, Provider string }

// parts are opened by every process of the deployment.
type parts struct {
	pool   *pgxpool.Pool
	types  *eventlog.Registry
	wake   *eventstore.Wake
	events *eventstore.Store
	calls  *callstore.Store
	sends  atomic.Pointer[modelcall.Activities] // of the process, if it sends the calls that it accepts
	blobs  blob.Store
	client client.Client
	relay  *outbox.Relay
	log    *slog.Logger
}

func (p place) open(ctx context.Context) (*parts, error) {
	s := &parts{types: eventlog.NewRegistry(), log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	if testing.Testing() && os.Getenv("MILLRACE_CALLS_VERBOSE") == "" {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(call.Register(s.types), credit.Register(s.types), asset.Register(s.types)); err != nil {
		return nil, err
	}
	var err error
	if s.pool, err = postgres.Open(ctx, p.DSN, postgres.PoolOptions{MaxConns: 16}); err != nil {
		return nil, err
	}
	if s.blobs, err = disk.Open(ctx, p.Blobs, disk.Options{}); err != nil {
		return nil, err
	}
	if s.client, err = client.Dial(client.Options{HostPort: p.Temporal, Namespace: p.Namespace, Logger: silent{}}); err != nil {
		return nil, err
	}
	s.wake = eventstore.NewWake(p.DSN, s.log)
	s.events = eventstore.New(s.pool, s.types, s.wake)
	s.calls = callstore.New(s.pool, s.events, accountstore.NewCredits(s.pool, s.events))
	s.relay = outbox.NewRelay(outboxstore.New(s.pool), &starter.Starter{Client: s.client, Queue: "test", Eager: true, Ended: s.endedHere},
		s.log, time.Second)
	s.events.DeliverBy(s.relay.Notify)
	return s, nil
}

// endedHere returns the last step of a call that the process has brought to its end.
func (s *parts) endedHere(id call.ID) (modelcall.Step, bool) {
	models := s.sends.Load()
	if models == nil {
		return modelcall.Step{}, false
	}
	return models.Ended(id)
}

func (p place) models(s *parts, changes ...func(*modelcall.Deps)) *modelcall.Activities {
	deps := modelcall.Deps{
		Events: s.events, Types: s.types, Calls: s.calls, Blobs: s.blobs, Provider: wire{p.Provider}, Hosts: noHosts{},
		Tiers: openTiers, Worker: uuid.NewString(), Log: s.log,
	}
	for _, change := range changes {
		change(&deps)
	}
	return modelcall.New(deps)
}

// withStorage changes where activities store answers.
func withStorage(blobs blob.Store, space func() error, memory int64) func(*modelcall.Deps) {
	return func(d *modelcall.Deps) { d.Blobs, d.Space, d.AnswerMemory = blobs, space, memory }
}

func (p place) worker(s *parts, models *modelcall.Activities) *worker.ModelWorker {
	return worker.NewModels(s.client, models, s.calls, s.log, worker.Options{TaskQueue: "test"})
}

// runWorker runs a worker process until it is killed.
func runWorker(text string) error {
	ctx := context.Background()
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	s, err := p.open(ctx)
	if err != nil {
		return err
	}
	go func() { _ = s.wake.Run(ctx) }()
	go func() { _ = s.relay.Run(ctx) }()
	return p.worker(s, p.models(s)).Run(ctx)
}

// spawn starts a worker process; kill kills it.
func (p place) spawn(t *testing.T) (kill func()) {
	t.Helper()
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0]) // this test program
	cmd.Env = append(os.Environ(), workerEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	return func() {
		_ = cmd.Process.Kill() // a worker that could not start has ended already
		_ = cmd.Wait()
	}
}

// wire is the provider's protocol: POST /run answers, or returns a handle for GET /run/{handle}.
type wire struct{ base string }

func (w wire) Dispatch(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/run", c.Body)
	if err != nil {
		return call.Exchange{}, err
	}
	req.ContentLength = c.Size
	if w.Idempotent(c) {
		req.Header.Set("Idempotency-Key", string(c.Call))
	}
	return exchange(req, sink)
}

func (w wire) Poll(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+"/run/"+c.Handle, nil)
	if err != nil {
		return call.Exchange{}, err
	}
	return exchange(req, sink)
}

func (w wire) Cancel(ctx context.Context, c call.Conversation) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.base+"/run/"+c.Handle, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotImplemented {
		return call.ErrNoCancel
	}
	return nil
}

// idempotentModel is a model whose requests have an idempotency header.
const idempotentModel = "test/idempotent"

func (wire) Idempotent(c call.Conversation) bool { return c.Model == idempotentModel }

func (wire) Total(string) time.Duration { return time.Minute }

func exchange(req *http.Request, sink io.Writer) (call.Exchange, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return call.Exchange{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		_, err := io.Copy(sink, resp.Body)
		return call.Exchange{
			Phase: call.PhaseAnswered, ContentType: resp.Header.Get("Content-Type"), Price: price, Host: resp.Header.Get("X-Host") != "",
		}, err
	case http.StatusAccepted:
		handle, err := io.ReadAll(resp.Body)
		return call.Exchange{Phase: call.PhaseAccepted, Handle: string(handle), PollAfter: 50 * time.Millisecond}, err
	case http.StatusNoContent:
		return call.Exchange{Phase: call.PhasePending, PollAfter: 50 * time.Millisecond}, nil
	default:
		return call.Exchange{Phase: call.PhaseFailed, Failure: &call.Failure{
			Type: call.PolicyViolation, Status: 400, Detail: "refused", UpstreamStatus: resp.StatusCode,
		}}, nil
	}
}

// price is the price of a call of the test's provider, in USD millionths.
const price = 40_000

type noHosts struct{}

func (noHosts) Host(_ context.Context, c call.Call) (call.HostedV1, error) {
	return call.HostedV1{Answer: *c.Answer}, nil
}

// limits is a function that implements call.Tiers.
type limits func(account string) call.Limits

func (l limits) CallLimits(_ context.Context, account string) (call.Limits, error) {
	return l(account), nil
}

func (l limits) CallBounds(account string) call.Limits { return l(account) }

var openTiers = limits(func(string) call.Limits {
	return call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 5000}}, Backlog: 100, QueueFor: time.Hour}
})

// silent drops the engine client's log.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
