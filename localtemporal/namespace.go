package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// startWait bounds the time until the services answer after their start.
const startWait = 4 * time.Minute

// hasNamespace reports whether an earlier server registered the namespace.
func (o options) hasNamespace(ctx context.Context) (exists bool, err error) {
	db, err := o.connect(ctx, o.database)
	if err != nil {
		return false, err
	}
	defer db.Close(context.WithoutCancel(ctx))
	err = db.QueryRow(ctx, `select exists (select from namespaces where name = $1)`, o.namespace).Scan(&exists)
	return exists, err
}

// registerNamespace waits for the frontend and ensures that the namespace exists.
func registerNamespace(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	nc, err := client.NewNamespaceClient(client.Options{HostPort: o.frontend})
	if err != nil {
		return fmt.Errorf("reach the frontend: %w", err)
	}
	defer nc.Close()
	for {
		err := nc.Register(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: o.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(o.retention),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if err == nil || errors.As(err, &exists) {
			break
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("register namespace %s: %w", o.namespace, err)
		}
	}
	return awaitNamespace(ctx, o)
}

// awaitNamespace returns once the namespace can be used: the services read it from a cache that
// follows within seconds.
func awaitNamespace(ctx context.Context, o options) error {
	c, err := client.Dial(client.Options{HostPort: o.frontend, Namespace: o.namespace})
	if err != nil {
		return fmt.Errorf("reach the frontend: %w", err)
	}
	defer c.Close()
	for {
		_, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: o.namespace, Execution: probe,
		})
		var absent *serviceerror.NotFound
		if errors.As(err, &absent) {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("namespace %s does not become usable: %w", o.namespace, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
