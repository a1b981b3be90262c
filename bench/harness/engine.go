package harness

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
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
