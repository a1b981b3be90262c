package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/worker"
)

// replayed is what became of one workflow under this binary.
type replayed struct {
	Job      job.ID `json:"job,omitempty"`
	Workflow string `json:"workflow"`
	Result   string `json:"result"` // replays, diverges, forgotten
	Step     string `json:"step,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func (s *shell) replayJobs() *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use: "replay ID... | --since 24h | --failed …", Short: "Replay the workflows of jobs against this binary, before a deployment",
		Long: `Download the workflow history of each job that is meant from Temporal and replay it against the
workflow code of this binary. A history that takes another course is reported with the step at which
it does. The exit code is 1 if any diverges, and also if there is nothing to replay, so that a
pipeline does not pass for want of histories. Nothing is changed.`,
		Example: `  millrace jobs replay --since 24h --limit 500
  millrace jobs replay 62e89ef5 --json`,
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			ids, err := sel.pick(ctx, pool, args)
			if err != nil {
				return err
			}
			return s.replayHistories(ctx, pool, ids, sel.asJSON)
		}),
	}
	f := cmd.Flags()
	sel.filter.Limit = 1000
	f.BoolVar(&sel.failed, "failed", false, "those that failed; short for --status failed")
	f.StringSliceVar(&sel.filter.States, "status", nil, "those in one of these states")
	f.StringVar(&sel.filter.Account, "account", "", "those of an account, by name or id")
	f.StringVar(&sel.filter.Since, "since", "", "those submitted in the last 24h, 30m, …, or after a time")
	f.StringVar(&sel.filter.Class, "class", "", "those in which a node of this class ran or failed")
	f.IntVar(&sel.filter.Limit, "limit", sel.filter.Limit, "how many at most, newest first")
	s.engineFlags(cmd)
	jsonFlag(cmd, &sel.asJSON)
	return cmd
}

func (s *shell) replayHistories(ctx context.Context, pool *pgxpool.Pool, ids []job.ID, asJSON bool) error {
	c, err := s.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	log, err := s.logger()
	if err != nil {
		return err
	}
	var all []replayed
	step := progress(s.err, "replay", "jobs")
	for i, id := range ids {
		h, err := history(ctx, pool, string(id))
		if err != nil {
			return err
		}
		found, err := replayRuns(ctx, c, sdklog.NewStructuredLogger(log), h)
		if err != nil {
			return err
		}
		all = append(all, found...)
		if step != nil {
			step(int64(i+1), int64(len(ids)))
		}
	}
	return s.printReplayed(all, asJSON)
}

// replayRuns replays every execution of a job's runs, along their chains of continued executions.
func replayRuns(ctx context.Context, c client.Client, log sdklog.Logger, h inspect.History) ([]replayed, error) {
	var all []replayed
	for _, run := range h.Executions() {
		out, err := replayChain(ctx, c, log, h.Job.WorkflowID(run.Run), run.ID)
		if err != nil {
			return nil, err
		}
		out.Job = h.Job
		all = append(all, out)
	}
	return all, nil
}

// replayChain replays an execution, the latest of the workflow for "", and those that continue it.
func replayChain(ctx context.Context, c client.Client, log sdklog.Logger, workflow, execution string) (replayed, error) {
	out := replayed{Workflow: workflow, Result: "replays"}
	for {
		events, next, err := downloadHistory(ctx, c, workflow, execution)
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			out.Result = "forgotten"
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("read the history of workflow %s: %w", workflow, err)
		}
		if err := replayHistory(log, events); err != nil {
			out.Result, out.Step, out.Detail = "diverges", divergence(err), firstLine(err)
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

// downloadHistory reads one execution; next is the one that continues it.
func downloadHistory(ctx context.Context, c client.Client, id, execution string) (h *historypb.History, next string, err error) {
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

// What the SDK says of a step that did not come again, in its several ways.
var (
	expectedAt = regexp.MustCompile(`matching (\w+) command was expected in history event position (\d+)`)
	eventOf    = regexp.MustCompile(`(?:history event is|missing replay command for|history event) (.*?)(?:, replay command is|, replay|$)`)
	extraOf    = regexp.MustCompile(`extra replay command for (.*)$`)
)

// divergence names the step of a history at which a replay took another course.
func divergence(err error) string {
	text := firstLine(err)
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

func (s *shell) printReplayed(all []replayed, asJSON bool) error {
	counts := map[string]int{}
	var rows [][]inspect.Cell
	styles := map[string]inspect.Style{"replays": inspect.Good, "diverges": inspect.Bad, "forgotten": inspect.Notice}
	for _, r := range all {
		counts[r.Result]++
		rows = append(rows, []inspect.Cell{{Text: r.Result, Style: styles[r.Result]}, {Text: r.Workflow}, {Text: r.Step}})
		if r.Detail != "" {
			rows = append(rows, []inspect.Cell{{}, {}, {Text: r.Detail}})
		}
	}
	if asJSON {
		if err := s.printJSON(all); err != nil {
			return err
		}
	} else {
		p := s.printer()
		p.Table([]string{"", "WORKFLOW", "STEP"}, rows)
		if err := p.Err(); err != nil {
			return err
		}
	}
	switch {
	case counts["diverges"] > 0:
		return fmt.Errorf("%d of %d histories diverge: running jobs would fail under this binary", counts["diverges"], len(all))
	case counts["replays"] == 0:
		return errors.New("there is no history to replay: these jobs never began, or Temporal's retention has passed")
	}
	return nil
}
