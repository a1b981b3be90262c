// Package show holds the commands that show the history of one job, call or asset. They are the same for all three
// kinds.
package show

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Workflow shows events and workflow steps in order of time. whole is the history that JSON output shows.
func Workflow(ctx context.Context, s *shell.Shell, whole any, events []inspect.Event, runs []histories.Execution, asJSON bool) error {
	c, err := s.Temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	steps, missing, err := histories.WorkflowSteps(ctx, c, runs)
	if err != nil {
		return err
	}
	return s.Print(asJSON, histories.WithWorkflow{History: whole, Workflow: steps, Forgotten: missing}, func(p *terminal.Printer) {
		report.SideBySide(p, events, steps)
		for _, id := range missing {
			p.Line("Temporal has no workflow "+id+": it never began, or its retention has passed", terminal.Notice)
		}
	})
}

// Commands shows the aggregates of one kind and prints their state.
type Commands[S any] struct {
	records.Kind[S]
	Print func(*terminal.Printer, S)
}

// Show returns the command that shows the state of one aggregate, now or at any version or time.
func (k Commands[S]) Show(s *shell.Shell) *cobra.Command {
	var at string
	var asJSON, workflow bool
	cmd := &cobra.Command{
		Use: "show ID", Args: cobra.ExactArgs(1), Short: "Show the state of one, now or at any version or time",
		Long: `Show the state, folded from the events: now or, with --at, at a version or a time. With --workflow,
show the events together with the steps of the workflow in Temporal.`,
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			t, err := k.At(ctx, pool, args[0], at)
			if err != nil {
				return err
			}
			switch {
			case workflow:
				return Workflow(ctx, s, t, t.Events, k.Workflows(t.State()), asJSON)
			case asJSON:
				return s.PrintJSON(t.State())
			}
			p := s.Printer()
			k.Print(p, t.State())
			return p.Err()
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "a version (12) or a time (2026-01-02T15:04:05Z); default: now")
	cmd.Flags().BoolVar(&workflow, "workflow", false, "show the events together with the steps of the workflow")
	s.EngineFlags(cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// Events returns the command that lists every event of one aggregate.
func (k Commands[S]) Events(s *shell.Shell) *cobra.Command {
	return Answer(s, "events ID", "List every event, with time, position, actor and reason", 1, report.StreamEvents[S],
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.StreamHistory[S], error) {
			return k.History(ctx, pool, args[0])
		})
}

// Timeline returns the command that shows how one aggregate used its time.
func (k Commands[S]) Timeline(s *shell.Shell) *cobra.Command {
	return Answer(s, "timeline ID", "Show the use of time: waits, steps, attempts, workers", 1, report.Phases,
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.Phases, error) {
			return k.Phases(ctx, pool, args[0])
		})
}

// Diff returns the command that shows the differences between two aggregates.
func (k Commands[S]) Diff(s *shell.Shell) *cobra.Command {
	return Answer(s, "diff ID ID", "Show the differences between two: state, events, times", 2, report.StreamComparison,
		func(ctx context.Context, pool *postgres.Pool, args []string) (inspect.StreamComparison, error) {
			return k.Compare(ctx, pool, args[0], args[1])
		})
}

// Answer returns a command that takes n ids. ask computes the answer, and print writes it for people.
func Answer[T any](s *shell.Shell, use, short string, n int, print func(*terminal.Printer, T),
	tell func(context.Context, *postgres.Pool, []string) (T, error),
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(n),
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			answer, err := tell(ctx, pool, args)
			if err != nil {
				return err
			}
			return s.Print(asJSON, answer, func(p *terminal.Printer) { print(p, answer) })
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
