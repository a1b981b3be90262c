package histories

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Engine reaches the Temporal of a deployment.
type Engine struct {
	Connect  func() (client.Client, error)
	Replayer func() (Replayer, error)
	Shared   bool // the client belongs to the process, which answers within sharedTimeout
}

// sharedTimeout bounds the time for reading workflow histories for one answer of a process of the service.
const sharedTimeout = 30 * time.Second

// Served returns the engine of a process of the service. values decodes the payloads of histories.
func Served(c client.Client, values converter.DataConverter, log *slog.Logger) Engine {
	return Engine{
		Connect:  func() (client.Client, error) { return c, nil },
		Replayer: func() (Replayer, error) { return NewReplayer(log, values), nil },
		Shared:   true,
	}
}

// Use calls work with a client.
func (e Engine) Use(ctx context.Context, work func(ctx context.Context, c client.Client) error) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	if !e.Shared {
		defer c.Close()
		return work(ctx, c)
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	return work(ctx, c)
}

// Chain returns the histories of an execution, or of the workflow's latest one for "", and of those that continue it.
// The last error says that Temporal has no such history (see Gone), or that it cannot be read.
func Chain(ctx context.Context, c client.Client, workflow, execution string) iter.Seq2[*historypb.History, error] {
	return func(yield func(*historypb.History, error) bool) {
		for {
			events, next, err := download(ctx, c, workflow, execution)
			if err != nil {
				yield(nil, fmt.Errorf("read the history of workflow %s: %w", workflow, err))
				return
			}
			if !yield(events, nil) || next == "" {
				return
			}
			execution = next
		}
	}
}

// Gone reports whether Temporal has no such history: the workflow never began, or its retention has passed.
func Gone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

// FirstExecution returns the first execution in the chain that ends with a workflow's latest one.
func FirstExecution(ctx context.Context, c client.Client, workflow string) (string, error) {
	it := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := it.Next()
	if Gone(err) {
		return "", fault.Wrap(err, fault.NotFound, "", "Temporal has no history of %s: the workflow never began, or Temporal's retention has "+
			"passed", workflow)
	}
	if err != nil {
		return "", fmt.Errorf("read the history of workflow %s: %w", workflow, err)
	}
	return event.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId(), nil
}

// download reads one execution. next is the execution that continues it, if any.
func download(ctx context.Context, c client.Client, id, execution string) (h *historypb.History, next string, err error) {
	h = &historypb.History{}
	it := c.GetWorkflowHistory(ctx, id, execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		if err != nil {
			return nil, "", err
		}
		h.Events = append(h.Events, event)
		if e := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); e != nil {
			next = e.GetNewExecutionRunId()
		}
	}
	return h, next, nil
}
