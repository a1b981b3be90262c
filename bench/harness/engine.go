package harness

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const engineQueue = "bare"

// Engine is the engine alone: a worker for one workflow, the baseline of the service.
type Engine struct {
	client   client.Client
	worker   worker.Worker
	workflow any
	next     atomic.Int64
}

// NewEngine starts a worker for a workflow; register adds its activities.
func NewEngine(address string, workflow any, register func(worker.Registry)) (*Engine, error) {
	c, err := client.Dial(client.Options{
		// as in the service
		HostPort: address, Logger: silent{}, ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return nil, err
	}
	w := worker.New(c, engineQueue, worker.Options{MaxConcurrentWorkflowTaskPollers: 4, MaxConcurrentActivityTaskPollers: 4})
	w.RegisterWorkflow(workflow)
	register(w)
	if err := w.Start(); err != nil {
		c.Close()
		return nil, err
	}
	return &Engine{client: c, worker: w, workflow: workflow}, nil
}

// NewBare is NewEngine for a workflow with one local activity that does nothing.
func NewBare(address string) (*Engine, error) {
	return NewEngine(address, bareWorkflow, func(w worker.Registry) { w.RegisterActivity(nothing) })
}

func nothing(context.Context) error { return nil }

func bareWorkflow(ctx workflow.Context) error {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
	return workflow.ExecuteLocalActivity(ctx, nothing).Get(ctx, nil)
}

// One runs the workflow once.
func (e *Engine) One(ctx context.Context) error {
	run, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("bare-%d", e.next.Add(1)), TaskQueue: engineQueue, EnableEagerStart: true,
	}, e.workflow)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

// Open returns the number of open workflows of all kinds.
func (e *Engine) Open(ctx context.Context) (int64, error) {
	open, err := e.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus = 'Running'"})
	return open.GetCount(), err
}

// Close stops the worker.
func (e *Engine) Close() {
	e.worker.Stop()
	e.client.Close()
}

// silent drops the SDK's log.
type silent struct{}

var _ sdklog.Logger = silent{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
