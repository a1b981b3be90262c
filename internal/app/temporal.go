package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/dial"
	"github.com/millrace-dev/millrace/worker/namespace"
	"github.com/millrace-dev/millrace/worker/payload"
)

// namespace returns the namespace of the process.
func (in *Instance) namespace() namespace.Namespace {
	return namespace.Namespace{Client: in.client, Name: in.cfg.TemporalNamespace, Retention: in.cfg.JobRetention}
}

// deployment returns the version that the workers of the process run.
func (in *Instance) deployment() worker.Deployment {
	return worker.Deployment{Name: in.cfg.Temporal.Deployment, BuildID: in.cfg.Temporal.BuildID}
}

// TemporalKeys returns the key ring that encrypts payloads; nil means that payloads are not encrypted.
func TemporalKeys(cfg config.Config) (*payload.Ring, error) {
	return payload.Load(cfg.Temporal.Keys, cfg.Temporal.KeysFile)
}

// TemporalOptions returns the options of Temporal clients, for the service and for commands.
func TemporalOptions(cfg config.Config, log *slog.Logger) (client.Options, error) {
	t := cfg.Temporal
	options, err := dial.Settings{
		Address: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace,
		TLS: t.TLS, CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, APIKey: t.APIKey, APIKeyFile: t.APIKeyFile,
	}.Options()
	if err != nil {
		return client.Options{}, fmt.Errorf("connection to Temporal: %w", err)
	}
	keys, err := TemporalKeys(cfg)
	if err != nil {
		return client.Options{}, err
	}
	options.DataConverter = keys.Converter()
	options.FailureConverter = attempt.Failures(options.DataConverter, keys != nil)
	options.Logger = sdklog.NewStructuredLogger(log.With("part", "temporal"))
	return options, nil
}

// The intervals at which a process retries a required server that does not answer yet.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = 5 * time.Second
)

// retry calls attempt until it succeeds, ctx ends, or it fails with a backoff.Permanent error. report is called with
// each other error.
func retry(ctx context.Context, attempt func() error, report func(err error)) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, attempt() },
		backoff.WithBackOff(pause.Delays(firstDelay, longestDelay)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { report(err) }))
	return err
}

// migrate migrates the database to this version. It waits for a database that is starting up or recovering, and up to a time for one
// that does not listen yet. Any other error is final, so that a wrong name or password is reported at once.
func migrate(ctx context.Context, cfg config.Config, within time.Duration, log *slog.Logger) error {
	deadline := time.Now().Add(within)
	return retry(ctx, func() error {
		err := postgres.MigrateFor(ctx, cfg.SessionURL(), cfg.DirectURL != "", func(format string, args ...any) {
			log.Info("schema changed", "change", fmt.Sprintf(format, args...))
		})
		if err != nil && !postgres.IsStarting(err) && (!postgres.MayCome(err) || time.Now().After(deadline)) {
			return backoff.Permanent(err)
		}
		return err
	}, func(err error) {
		log.Warn("waiting for PostgreSQL, which does not accept connections yet", "error", err)
	})
}

// engineTimeout bounds one request to Temporal.
const engineTimeout = 5 * time.Second

// awaitTemporal returns when Temporal answers and has the namespace. It does not fail while either is missing,
// because a worker may start first.
func awaitTemporal(ctx context.Context, c client.Client, namespace string, log *slog.Logger) error {
	return retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, engineTimeout)
		defer cancel()
		if _, err := c.CheckHealth(ctx, nil); err != nil {
			return err
		}
		err := checkNamespace(ctx, c.WorkflowService(), namespace)
		var absent *serviceerror.NamespaceNotFound
		if errors.As(err, &absent) {
			return fmt.Errorf("namespace %s does not exist yet: %w", namespace, err)
		}
		return err
	}, func(err error) { log.Warn("waiting for Temporal", "namespace", namespace, "error", err) })
}

// checkNamespace returns nil if Temporal and its services have the namespace. Each service reads the list of
// namespaces every few seconds; until then it refuses polls and starts, which would end the worker.
func checkNamespace(ctx context.Context, service workflowservice.WorkflowServiceClient, namespace string) error {
	if _, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace}); err != nil {
		return err
	}
	_, err := service.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{ // reaches the frontend and matching
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: "namespace-check"}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
	})
	if err != nil {
		return err
	}
	_, err = service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{ // reaches history
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: "namespace-check"},
	})
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return nil
	}
	return err
}
