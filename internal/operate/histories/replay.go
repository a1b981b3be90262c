package histories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/payload"
)

// Replayed is the result of replaying one workflow with this binary.
type Replayed struct {
	Job      job.ID `json:"job,omitempty"`
	Workflow string `json:"workflow"`
	Result   string `json:"result"` // replays, diverges, not started, empty, forgotten, unreadable
	Step     string `json:"step,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Replayer replays histories against the workflow code of this binary.
type Replayer struct {
	Log       sdklog.Logger
	Converter converter.DataConverter // decodes the payloads of histories
}

// NewReplayer returns a replayer.
func NewReplayer(log *slog.Logger, values converter.DataConverter) Replayer {
	return Replayer{Log: sdklog.NewStructuredLogger(log), Converter: values}
}

// ReplayRuns replays every execution of a job's runs, and follows executions that continued as new.
func ReplayRuns(ctx context.Context, c client.Client, with Replayer, h inspect.History) ([]Replayed, error) {
	var all []Replayed
	for _, run := range h.Executions() {
		out, err := ReplayChain(ctx, c, with, h.Job().WorkflowID(run.Run), run.ID)
		if err != nil {
			return nil, err
		}
		if out.Result == "forgotten" && run.ID == "" && !h.Ended() {
			out.Result = "not started" // the run waits in its queue or for Temporal, so a missing history is normal
		}
		out.Job = h.Job()
		all = append(all, out)
	}
	return all, nil
}

// ReplayChain replays an execution, or the workflow's latest execution for "", and the executions that continue it.
func ReplayChain(ctx context.Context, c client.Client, with Replayer, workflow, execution string) (Replayed, error) {
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
		if !slices.ContainsFunc(events.GetEvents(), taskCompleted) {
			out.Result = "empty"
			return out, nil
		}
		if err := with.replay(events); err != nil {
			out.Result, out.Step, out.Detail = verdict(err)
			return out, nil
		}
		if next == "" {
			return out, nil
		}
		execution = next
	}
}

// replay replays one history.
func (r Replayer) replay(history *historypb.History) error {
	replayer, err := sdkworker.NewWorkflowReplayerWithOptions(sdkworker.WorkflowReplayerOptions{
		DataConverter: r.Converter, FailureConverter: attempt.Failures(r.Converter, false),
	})
	if err != nil {
		return err
	}
	worker.RegisterWorkflows(replayer)
	worker.RegisterAssetWorkflows(replayer)
	worker.RegisterExportWorkflows(replayer)
	worker.RegisterModelWorkflows(replayer)
	return replayer.ReplayWorkflowHistory(r.Log, history)
}

// verdict returns the result of a failed replay: either the code of this version diverges, or a key is missing.
func verdict(err error) (result, step, detail string) {
	detail = operate.ErrorLine(err)
	if _, missing, ok := strings.Cut(detail, payload.Missing); ok {
		return "unreadable", "", payload.Missing + missing
	}
	return "diverges", divergence(err), detail
}

// Messages of the SDK about a step that the replay did not repeat.
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
