package records

import (
	"context"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Answers returns histories of calls or assets as values for JSON, without secrets.
type Answers[S any] struct {
	Kind   Kind[S]
	Pool   *postgres.Pool
	Engine client.Client
}

// Find implements admin.Histories.
func (t Answers[S]) Find(ctx context.Context, id string) (string, error) {
	stream, err := FindStream(ctx, t.Pool, t.Kind.Noun, id)
	return strings.TrimPrefix(stream, t.Kind.Noun+"-"), err
}

// State implements admin.Histories.
func (t Answers[S]) State(ctx context.Context, id, at string) (any, error) {
	history, err := t.Kind.At(ctx, t.Pool, id, at)
	return operate.Redacted(history.State(), err)
}

// Events implements admin.Histories.
func (t Answers[S]) Events(ctx context.Context, id string) (any, error) {
	return operate.Redacted(t.Kind.History(ctx, t.Pool, id))
}

// Timeline implements admin.Histories.
func (t Answers[S]) Timeline(ctx context.Context, id string) (any, error) {
	return operate.Redacted(t.Kind.Phases(ctx, t.Pool, id))
}

// Diff implements admin.Histories.
func (t Answers[S]) Diff(ctx context.Context, a, b string) (any, error) {
	return operate.Redacted(t.Kind.Compare(ctx, t.Pool, a, b))
}

// Workflow implements admin.Histories.
func (t Answers[S]) Workflow(ctx context.Context, id string) (any, error) {
	history, err := t.Kind.History(ctx, t.Pool, id)
	if err != nil {
		return nil, err
	}
	return histories.WithWorkflows(ctx, t.Engine, history, t.Kind.Workflows(history.State()))
}
