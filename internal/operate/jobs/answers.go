package jobs

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/histories"
)

// Answers returns histories and replays of jobs as values for JSON, without secrets.
type Answers struct {
	Histories
	Engine client.Client
	Values converter.DataConverter // decodes the payloads of histories
	Log    *slog.Logger
}

// Find implements admin.Histories.
func (t Answers) Find(ctx context.Context, id string) (string, error) {
	found, err := FindJob(ctx, t.Pool, id)
	return string(found), err
}

// State implements admin.Histories.
func (t Answers) State(ctx context.Context, id, at string) (any, error) {
	h, _, err := t.At(ctx, id, at)
	return operate.Redacted(h.State(), err)
}

// Events implements admin.Histories.
func (t Answers) Events(ctx context.Context, id string) (any, error) {
	return operate.Redacted(t.History(ctx, id))
}

// Timeline implements admin.Histories.
func (t Answers) Timeline(ctx context.Context, id string) (any, error) {
	return operate.Redacted(t.Measure(ctx, id))
}

// Diff implements admin.Histories.
func (t Answers) Diff(ctx context.Context, a, b string) (any, error) {
	return operate.Redacted(t.Compare(ctx, a, b))
}

// Workflow implements admin.Histories.
func (t Answers) Workflow(ctx context.Context, id string) (any, error) {
	h, err := t.History(ctx, id)
	if err != nil {
		return nil, err
	}
	return histories.WithWorkflows(ctx, t.Engine, h, histories.ExecutionsOf(h))
}

// Replay implements admin.Replays.
func (t Answers) Replay(ctx context.Context, id string) (any, error) {
	h, err := t.History(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, histories.EngineTimeout)
	defer cancel()
	found, err := histories.ReplayRuns(ctx, t.Engine, histories.NewReplayer(t.Log, t.Values), h)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, fault.CodeEngineUnavailable,
			"the workflow histories of job %s cannot be read from Temporal", h.Job())
	}
	return operate.Redacted(replayedRuns{append([]histories.Replayed{}, found...)}, nil)
}

// replayedRuns holds the results of replaying the runs of a job.
type replayedRuns struct {
	Runs []histories.Replayed `json:"runs"`
}
