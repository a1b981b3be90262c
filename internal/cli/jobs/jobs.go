// Package jobs holds the commands on jobs.
package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/show"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Command returns the commands on jobs.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs, and show the history of one",
		Long: `Show the history of a job, from its recorded events. An ID may be shortened to its first
characters, at least four, if no other job's ID begins with them.`,
		Example: `  millrace jobs list --status failed --since 24h
  millrace jobs show 62e89ef5
  millrace jobs show 62e89ef5 --at 7
  millrace jobs timeline 62e89ef5`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listJobs(s), showJob(s), jobEvents(s), jobTimeline(s), diffJobs(s))
	cmd.AddCommand(retryJobs(s), cancelJobs(s), requeueJobs(s), replayJobs(s))
	return cmd
}

func showJob(s *shell.Shell) *cobra.Command {
	var at string
	var asJSON, workflow bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show the state of a job, now or at any version or time",
		Long: `Show the state of a job, folded from its events: now or, with --at, at a version or a time.
With --workflow, show its events together with the steps of its workflow in Temporal.`,
		Example: `  millrace jobs show 62e89ef5 --at 7
  millrace jobs show 62e89ef5 --at 2026-01-02T15:04:05Z
  millrace jobs show 62e89ef5 --workflow`,
		Args: cobra.ExactArgs(1),
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			h, whole, err := s.Histories(pool).At(ctx, args[0], at)
			if err != nil {
				return err
			}
			if workflow {
				return show.Workflow(ctx, s, h, h.Events, histories.ExecutionsOf(h), asJSON)
			}
			return s.Print(asJSON, h.State(), func(p *terminal.Printer) { report.State(p, h, len(whole.Events)) })
		}),
	}
	cmd.Flags().StringVar(&at, "at", at, "a version (12) or a time (2026-01-02T15:04:05Z)")
	cmd.Flags().BoolVar(&workflow, "workflow", workflow, "show the events together with the steps of the workflow")
	s.EngineFlags(cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func jobEvents(s *shell.Shell) *cobra.Command {
	return show.Answer(s, "events ID", "List every event of a job, with time, position, actor and reason", 1, report.Events,
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.History, error) {
			return s.Histories(pool).History(ctx, args[0])
		})
}

func jobTimeline(s *shell.Shell) *cobra.Command {
	return show.Answer(s, "timeline ID", "Show how a job used its time: waits, nodes, attempts, workers", 1, report.Timeline,
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.Timeline, error) {
			return s.Histories(pool).Measure(ctx, args[0])
		})
}

func diffJobs(s *shell.Shell) *cobra.Command {
	return show.Answer(s, "diff ID ID", "Show the differences between two jobs: graph, events, results, times", 2, report.Comparison,
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.Comparison, error) {
			return s.Histories(pool).Compare(ctx, args[0], args[1])
		})
}
