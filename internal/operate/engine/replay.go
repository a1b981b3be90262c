package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/worker"
)

// Replayed is the result of replaying one workflow with this binary.
type Replayed struct {
	Job      job.ID `json:"job,omitempty"`
	Workflow string `json:"workflow"`
	Result   string `json:"result"` // replays, diverges, forgotten
	Step     string `json:"step,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// ReplayRuns replays every execution of a job's runs, and follows executions that continued as new.
func ReplayRuns(ctx context.Context, c client.Client, log sdklog.Logger, h inspect.History) ([]Replayed, error) {
	var all []Replayed
	for _, run := range h.Executions() {
		out, err := ReplayChain(ctx, c, log, h.Job().WorkflowID(run.Run), run.ID)
		if err != nil {
			return nil, err
		}
		out.Job = h.Job()
		all = append(all, out)
	}
	return all, nil
}

// ReplayChain replays an execution, the latest of the workflow for "", and those that continue it.
func ReplayChain(ctx context.Context, c client.Client, log sdklog.Logger, workflow, execution string) (Replayed, error) {
	out := Replayed{Workflow: workflow, Result: "replays"}
	for {
		events, next, err := DownloadHistory(ctx, c, workflow, execution)
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			out.Result = "forgotten"
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("read the history of workflow %s: %w", workflow, err)
		}
		if err := replayHistory(log, events); err != nil {
			out.Result, out.Step, out.Detail = "diverges", divergence(err), operate.ErrorLine(err)
			return out, nil
		}
		if next == "" {
			return out, nil
		}
		execution = next
	}
}

func replayHistory(log sdklog.Logger, history *historypb.History) error {
	replayer := sdkworker.NewWorkflowReplayer()
	worker.RegisterWorkflows(replayer)
	worker.RegisterAssetWorkflows(replayer)
	worker.RegisterExportWorkflows(replayer)
	worker.RegisterModelWorkflows(replayer)
	return replayer.ReplayWorkflowHistory(log, history)
}

// Messages of the SDK for a step that the replay did not repeat.
var (
	expectedAt = regexp.MustCompile(`matching (\w+) command was expected in history event position (\d+)`)
	eventOf    = regexp.MustCompile(`(?:history event is|missing replay command for|history event) (.*?)(?:, replay command is|, replay|$)`)
	extraOf    = regexp.MustCompile(`extra replay command for (.*)$`)
)

// divergence returns the step of a history at which a replay diverged.
func divergence(err error) string {
	text := operate.ErrorLine(err)
	if m := expectedAt.FindStringSubmatch(text); m != nil {
		return "event " + m[2] + ", " + m[1]
	}
	if m := eventOf.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := extraOf.FindStringSubmatch(text); m != nil {
		return "before " + m[1]
	}
	return "the end"
}
