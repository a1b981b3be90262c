package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// Temporal stores the errors of activities with its histories, and shows them in its Web UI. They contain no messages
// of the database.
func TestWorkflowHistoriesHoldNoErrorTextOfTheDatabase(t *testing.T) {
	t.Parallel()
	address, namespace := temporaltest.Namespace(t)
	options, err := app.TemporalOptions(config.Config{TemporalAddress: address, TemporalNamespace: namespace}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	c, err := client.DialContext(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	cause := &pgconn.PgError{Severity: "ERROR", Code: "23505", Message: `duplicate key value violates constraint "secret_table_pkey"`}
	failures := map[string]error{
		"Plain":      fmt.Errorf("record a node: %w", cause),
		"Classified": attempt.Error(fault.Wrap(fmt.Errorf("record a node: %w", cause), fault.Unavailable, "", "the database is away")),
		"Final":      attempt.Error(fault.Wrap(fmt.Errorf("record a node: %w", cause), fault.Conflict, "", "taken")),
		"Joined":     errors.Join(errors.New("first"), cause),
	}
	w := worker.New(c, "work", worker.Options{})
	for name, failure := range failures {
		w.RegisterActivityWithOptions(func(context.Context) error { return failure }, activity.RegisterOptions{Name: name})
	}
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, local bool, name string) error {
		once := &temporal.RetryPolicy{MaximumAttempts: 1}
		if local {
			ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: once})
			return workflow.ExecuteLocalActivity(ctx, name).Get(ctx, nil)
		}
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: once})
		return workflow.ExecuteActivity(ctx, name).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Run"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	for name := range failures {
		for _, local := range []bool{false, true} {
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: "work"}, "Run", local, name)
			require.NoError(t, err)
			require.Error(t, run.Get(t.Context(), nil))
			history := ""
			for events := c.GetWorkflowHistory(t.Context(), run.GetID(), run.GetRunID(), false,
				enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
				event, err := events.Next()
				require.NoError(t, err)
				history += protojson.Format(event)
			}
			require.Contains(t, history, "SQLSTATE 23505", name)
			require.NotContains(t, history, "secret_table", name)
		}
	}
}
