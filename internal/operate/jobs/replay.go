package jobs

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

var replay = action.Of[Service, chosen, []histories.Replayed]{
	Spec: action.Spec{Help: chosenHelp, Commands: []action.Command{{
		Use: "replay ID... | --since 24h | --failed …", Short: "Replay the workflows of jobs against this binary, before a deployment",
		Long: `Download the workflow history of each selected job from Temporal and replay it against the
workflow code of this binary. A history that diverges is reported with the diverging step. The exit
code is 1 if a history diverges, and also if none could be replayed, so that a pipeline does not pass
without histories. The command changes nothing.`,
		Example:  "  millrace jobs replay --since 24h --limit 500\n  millrace jobs replay 62e89ef5 --json",
		Temporal: true,
	}}},
	Do: func(ctx context.Context, s Service, p chosen, _ operate.Attribution) ([]histories.Replayed, error) {
		found, err := s.recorded(ctx, p)
		if err != nil {
			return nil, err
		}
		return s.replayed(ctx, found)
	},
	Show: func(out *terminal.Printer, _ chosen, all []histories.Replayed) { histories.Show(out, "WORKFLOW", all) },
	Fail: func(_ chosen, all []histories.Replayed) error { return histories.WorkflowProblem(all) },
}.Untyped()

// replayed replays the workflows of jobs.
func (s Service) replayed(ctx context.Context, found []inspect.History) ([]histories.Replayed, error) {
	return histories.Replay(ctx, s.Engine, found, s.Session.Step("replay", "jobs"), histories.ReplayRuns)
}

type replayOneParams struct {
	ID string `name:"id" help:"An id, or its first characters, four at least, while no other begins with them."`
}

var replayOne = action.Of[Service, replayOneParams, []histories.Replayed]{
	Spec: action.Spec{
		ID: "adminReplayJob", Route: "GET /jobs/{id}/replay", Schema: "AdminReplayed", Member: "runs", List: true, Redact: true,
		Summary: "Replay the workflows of a job with the code of the process that answers. Nothing is changed.",
	},
	Do: func(ctx context.Context, s Service, p replayOneParams, _ operate.Attribution) ([]histories.Replayed, error) {
		h, err := s.History(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		found, err := s.replayed(ctx, []inspect.History{h})
		if err != nil {
			return nil, fault.Wrap(err, fault.Unavailable, fault.CodeEngineUnavailable,
				"the workflow histories of job %s cannot be read from Temporal", h.Job())
		}
		return found, nil
	},
}.Untyped()
