package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateassets "github.com/millrace-dev/millrace/internal/operate/assets"
	operatecalls "github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/usage"
)

// withoutSecrets is v in JSON, as commands print it, or err.
func withoutSecrets(v any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return inspect.Redact(raw), nil
}

// engineTimeout bounds the reading of workflow histories for one answer.
const engineTimeout = 30 * time.Second

// besideEngine reads the histories of runs, to be shown beside told.
func besideEngine(ctx context.Context, c client.Client, told any, runs []execution) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	steps, missing, err := workflowSteps(ctx, c, runs)
	return withoutSecrets(besideWorkflow{told, steps, missing}, err)
}

// toldJobs answers what became of jobs. It implements admin.Histories and admin.Replays.
type toldJobs struct {
	teller
	engine client.Client
	log    *slog.Logger
}

var (
	_ admin.Histories = toldJobs{}
	_ admin.Replays   = toldJobs{}
	_ admin.Histories = toldStories[call.Call]{}
)

// Find implements admin.Histories.
func (t toldJobs) Find(ctx context.Context, id string) (string, error) {
	found, err := findJob(ctx, t.pool, id)
	return string(found), err
}

// State implements admin.Histories.
func (t toldJobs) State(ctx context.Context, id, at string) (any, error) {
	h, _, err := t.at(ctx, id, at)
	return withoutSecrets(h.Fold(), err)
}

// Events implements admin.Histories.
func (t toldJobs) Events(ctx context.Context, id string) (any, error) {
	return withoutSecrets(t.history(ctx, id))
}

// Timeline implements admin.Histories.
func (t toldJobs) Timeline(ctx context.Context, id string) (any, error) {
	return withoutSecrets(t.timeline(ctx, id))
}

// Diff implements admin.Histories.
func (t toldJobs) Diff(ctx context.Context, a, b string) (any, error) {
	return withoutSecrets(t.diff(ctx, a, b))
}

// Workflow implements admin.Histories.
func (t toldJobs) Workflow(ctx context.Context, id string) (any, error) {
	h, err := t.history(ctx, id)
	if err != nil {
		return nil, err
	}
	return besideEngine(ctx, t.engine, h, executionsOf(h))
}

// Replay implements admin.Replays.
func (t toldJobs) Replay(ctx context.Context, id string) (any, error) {
	h, err := t.history(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	found, err := replayRuns(ctx, t.engine, sdklog.NewStructuredLogger(t.log), h)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "engine_unavailable", "the workflow histories of job %s cannot be read from Temporal", h.Job)
	}
	return withoutSecrets(replayedRuns{append([]replayed{}, found...)}, nil)
}

// replayedRuns is what the runs of a job came to when they were replayed.
type replayedRuns struct {
	Runs []replayed `json:"runs"`
}

// toldStories answers what became of calls or assets. It implements admin.Histories.
type toldStories[S any] struct {
	kind   storied[S]
	pool   *pgxpool.Pool
	engine client.Client
}

// Find implements admin.Histories.
func (t toldStories[S]) Find(ctx context.Context, id string) (string, error) {
	stream, err := findStream(ctx, t.pool, t.kind.Noun, id)
	return strings.TrimPrefix(stream, t.kind.Noun+"-"), err
}

// State implements admin.Histories.
func (t toldStories[S]) State(ctx context.Context, id, at string) (any, error) {
	story, err := t.kind.at(ctx, t.pool, id, at)
	return withoutSecrets(story.State(), err)
}

// Events implements admin.Histories.
func (t toldStories[S]) Events(ctx context.Context, id string) (any, error) {
	return withoutSecrets(t.kind.story(ctx, t.pool, id))
}

// Timeline implements admin.Histories.
func (t toldStories[S]) Timeline(ctx context.Context, id string) (any, error) {
	return withoutSecrets(t.kind.phases(ctx, t.pool, id))
}

// Diff implements admin.Histories.
func (t toldStories[S]) Diff(ctx context.Context, a, b string) (any, error) {
	return withoutSecrets(t.kind.compare(ctx, t.pool, a, b))
}

// Workflow implements admin.Histories.
func (t toldStories[S]) Workflow(ctx context.Context, id string) (any, error) {
	story, err := t.kind.story(ctx, t.pool, id)
	if err != nil {
		return nil, err
	}
	return besideEngine(ctx, t.engine, story, t.kind.workflows(story.State()))
}

// adminCalls implements admin.Calls.
type adminCalls struct {
	pool  *pgxpool.Pool
	store *postgres.Calls
}

// List implements admin.Calls.
func (a adminCalls) List(ctx context.Context, f operatecalls.Filter) ([]call.Call, int64, error) {
	names, err := accountNames(ctx, a.pool)
	if err != nil {
		return nil, 0, err
	}
	page, err := newestCalls(ctx, a.pool, names, f)
	return page.Calls, page.Next, err
}

// Usage implements admin.Calls.
func (a adminCalls) Usage(ctx context.Context, account, since string) ([]usage.Day, error) {
	names, err := accountNames(ctx, a.pool)
	if err != nil {
		return nil, err
	}
	if since == "" {
		since = usageSince
	}
	return usedSince(ctx, a.pool, names, account, since)
}

// Reconcile implements admin.Calls.
func (a adminCalls) Reconcile(ctx context.Context, id call.ID, micros int64, by operate.Attribution) error {
	_, err := settleCall(ctx, a.pool, a.store, string(id), micros, eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
	return err
}

// settleCall settles the call whose id begins with text by what the provider took for it.
func settleCall(ctx context.Context, pool *pgxpool.Pool, store *postgres.Calls, text string, micros int64, by eventlog.Meta) (call.Call, error) {
	t, err := storiedCalls.story(ctx, pool, text)
	if err != nil {
		return call.Call{}, err
	}
	c := t.State()
	return c, store.Reconcile(ctx, c.Account, c.ID, micros, by)
}

// adminAssets implements admin.Assets.
type adminAssets struct{ pool *pgxpool.Pool }

// List implements admin.Assets.
func (a adminAssets) List(ctx context.Context, f operateassets.Filter) ([]asset.Asset, error) {
	names, err := accountNames(ctx, a.pool)
	if err != nil {
		return nil, err
	}
	return newestAssets(ctx, a.pool, names, f)
}
