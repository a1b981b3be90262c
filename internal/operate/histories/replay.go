package histories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/payload"
)

// Replayed is the result of replaying one workflow, or one exported history, with this binary.
type Replayed struct {
	Job      job.ID `json:"job,omitempty"`
	File     string `json:"file,omitempty"`
	Workflow string `json:"workflow,omitempty"`
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

// Replay replays the workflows of each of some jobs or calls.
func Replay[T any](ctx context.Context, e Engine, all []T, step func(done, total int64),
	replay func(context.Context, client.Client, Replayer, T) ([]Replayed, error),
) ([]Replayed, error) {
	replayed := []Replayed{}
	err := e.Use(ctx, func(ctx context.Context, c client.Client) error {
		with, err := e.Replayer()
		if err != nil {
			return err
		}
		for i, one := range all {
			results, err := replay(ctx, c, with, one)
			if err != nil {
				return err
			}
			replayed = append(replayed, results...)
			step(int64(i+1), int64(len(all)))
		}
		return nil
	})
	return replayed, err
}

// ReplayRuns replays every execution of a job's runs, and follows executions that continued as new.
func ReplayRuns(ctx context.Context, c client.Client, with Replayer, h inspect.History) ([]Replayed, error) {
	var all []Replayed
	for _, run := range h.Executions() {
		out, err := ReplayChain(ctx, c, with, run.Workflow, run.ID)
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
func ReplayChain(ctx context.Context, c client.Client, with Replayer, workflow, execution string) (out Replayed, err error) {
	for events, err := range Chain(ctx, c, workflow, execution) {
		switch {
		case Gone(err):
			out = Replayed{Result: "forgotten"}
		case err != nil:
			return Replayed{Workflow: workflow}, err
		default:
			out = with.replay(events)
		}
		if out.Result != "replays" {
			break
		}
	}
	out.Workflow = workflow
	return out, nil
}

// taskCompleted reports whether an event shows that workflow code ran. A history without such an event cannot be
// replayed.
func taskCompleted(e *historypb.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
}

// replay replays one history. If that fails, either the code of this version diverges, or a key is missing.
func (r Replayer) replay(history *historypb.History) Replayed {
	if !slices.ContainsFunc(history.GetEvents(), taskCompleted) {
		return Replayed{Result: "empty"}
	}
	err := r.run(history)
	if err == nil {
		return Replayed{Result: "replays"}
	}
	detail := operate.ErrorLine(err)
	if _, missing, ok := strings.Cut(detail, payload.Missing); ok {
		return Replayed{Result: "unreadable", Detail: payload.Missing + missing}
	}
	return Replayed{Result: "diverges", Step: divergence(err), Detail: detail}
}

func (r Replayer) run(history *historypb.History) error {
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
	worker.RegisterPoolWorkflows(replayer)
	return replayer.ReplayWorkflowHistory(r.Log, history)
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

// resultStyles are the styles of the results of replays.
var resultStyles = map[string]terminal.Style{
	"replays": terminal.Good, "diverges": terminal.Bad, "unreadable": terminal.Bad,
	"forgotten": terminal.Notice, "not started": terminal.Notice, "empty": terminal.Notice,
}

// Show writes the results of replays of what, a file or a workflow.
func Show(p *terminal.Printer, what string, all []Replayed) {
	var rows [][]terminal.Cell
	for _, r := range all {
		rows = append(rows, []terminal.Cell{{Text: r.Result, Style: resultStyles[r.Result]}, {Text: r.File + r.Workflow}, {Text: r.Step}})
		if detail := []terminal.Cell{{}, {}, {Text: r.Detail}}; r.Detail != "" {
			rows = append(rows, detail[min(1, len(r.File)):]) // the path of a file may be long
		}
	}
	p.Table([]string{"", what, "STEP"}, rows)
}

// Problem returns an error if a history diverges or cannot be read, or if none was replayed. unread and unbegun say why
// the others were not.
func Problem(all []Replayed, unread, unbegun string) error {
	counts := map[string]int{}
	for _, r := range all {
		counts[r.Result]++
	}
	switch {
	case counts["diverges"] > 0:
		return fmt.Errorf("%d of %d histories diverge: running jobs would fail under this binary", counts["diverges"], len(all))
	case counts["unreadable"] > 0:
		return fmt.Errorf("%d of %d %s", counts["unreadable"], len(all), unread)
	case counts["replays"] > 0:
		return nil
	case counts["not started"]+counts["empty"] > 0:
		return errors.New("no history can be replayed: " + unbegun)
	}
	return errors.New("no history can be replayed: these jobs never began, or Temporal's retention has passed")
}

// WorkflowProblem returns the error of replays of workflows of jobs or calls.
func WorkflowProblem(all []Replayed) error {
	return Problem(all, "histories cannot be read: put the keys that they name into the key ring", "these jobs have not begun")
}
