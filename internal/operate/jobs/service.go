// Package jobs lets operators list jobs, see what was recorded of one, retry, cancel and requeue them, and replay their
// workflows. A dry run makes the same checks as the change itself, and every change is recorded with its actor and reason.
package jobs

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// Service reads jobs for operators, and changes them.
type Service struct {
	Histories
	Engine  histories.Engine
	Session operate.Session
	Change  func(ctx context.Context, work func(*Changes) error) error // calls work with what changes jobs
}

// Actions are what operators do with jobs.
var Actions = action.Group[Service]{
	Use:   "jobs",
	Short: "List jobs, and show the history of one",
	Long: `Show the history of a job, from its recorded events. An ID may be shortened to its first
characters, at least four, if no other job's ID begins with them.`,
	Example: `  millrace jobs list --status failed --since 24h
  millrace jobs show 62e89ef5
  millrace jobs show 62e89ef5 --at 7
  millrace jobs timeline 62e89ef5`,
	Actions: append([]action.For[Service]{list, retryMany, cancelMany, requeueMany, retryOne, cancelOne, requeueOne, replay, replayOne},
		records.Actions[Service](records.Texts{
			Noun: "job", A: "a job", State: "Get the state of a job, its retries and why it waits. With at, the state at that version or time.",
			Parts: "nodes", Differ: "graph, events, results, times", Phases: "AdminTimeline", Diff: "AdminComparison",
		})...),
}

// State implements records.Reader.
func (s Service) State(ctx context.Context, id, at string) (records.Answer, error) {
	h, whole, err := s.at(ctx, id, at)
	if err != nil {
		return records.Answer{}, err
	}
	body := map[string]any{"job": h.State()}
	waits := []string{} // why its segments wait now
	if at == "" {
		waiting, failed := serverstore.New(s.Pool, nil).WaitsOf(ctx, []job.ID{h.Job()})
		for _, w := range waiting {
			waits = append(waits, w.Reason)
		}
		body["waits"] = waits
		body["retries"], err = jobstore.New(s.Pool, nil).Retries(ctx, h.Job())
		err = errors.Join(err, failed)
	}
	return records.Answer{
		JSON: h.State(), Body: body,
		Show: func(p *terminal.Printer) {
			report.State(p, h, len(whole.Events))
			for _, reason := range waits {
				p.Field("waits", reason, terminal.Notice)
			}
		},
	}, err
}

// Events implements records.Reader.
func (s Service) Events(ctx context.Context, id string) (records.Answer, error) {
	return records.Shown(report.Events)(s.History(ctx, id))
}

// Timeline implements records.Reader.
func (s Service) Timeline(ctx context.Context, id string) (records.Answer, error) {
	return records.Shown(report.Timeline)(s.measure(ctx, id))
}

// Diff implements records.Reader.
func (s Service) Diff(ctx context.Context, a, b string) (records.Answer, error) {
	return records.Shown(report.Comparison)(s.compare(ctx, a, b))
}

// Workflow implements records.Reader.
func (s Service) Workflow(ctx context.Context, id, at string) (records.Answer, error) {
	h, _, err := s.at(ctx, id, at)
	if err != nil {
		return records.Answer{}, err
	}
	return records.Beside(ctx, s.Engine, h, h.Events, h.Executions())
}
