package histories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault"
)

// FirstExecution returns the first execution in the chain that ends with a workflow's latest one.
func FirstExecution(ctx context.Context, c client.Client, workflow string) (string, error) {
	it := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := it.Next()
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return "", fault.Wrap(err, fault.NotFound, "", "Temporal has no history of %s: the workflow never began, or Temporal's retention has "+
			"passed", workflow)
	}
	if err != nil {
		return "", fmt.Errorf("read the history of workflow %s: %w", workflow, err)
	}
	return event.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId(), nil
}

// HistoryFiles expands paths to files: a directory stands for the histories (*.json) in it.
func HistoryFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.json"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("no histories (*.json) found")
	}
	return files, nil
}

// taskCompleted reports whether an event shows that workflow code ran. A history without such an event cannot be
// replayed.
func taskCompleted(e *historypb.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
}

// maxHistory is the maximum size of a file in bytes. Temporal's own limit for a history is lower.
const maxHistory = 256 << 20

func readHistory(file string) (*historypb.History, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	events, err := client.HistoryFromJSON(io.LimitReader(f, maxHistory), client.HistoryJSONOptions{})
	if err != nil || len(events.GetEvents()) == 0 {
		return nil, errors.New("the file is not a workflow history in JSON")
	}
	return events, nil
}

// DownloadHistory reads one execution. next is the execution that continues it, if any.
func DownloadHistory(ctx context.Context, c client.Client, id, execution string) (h *historypb.History, next string, err error) {
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
