// Package views holds the commands that list, check, rebuild and resume views.
package views

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	operateviews "github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections"
)

// Command returns the commands on views.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "views",
		Short: "List, check and rebuild the views",
		Long: `Polls are answered from the views. A view is folded from the event log and can be folded again:
the new copy is built while the live one is in use, and replaces it at the end.`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listViews(s), rebuildViews(s), resumeViews(s))
	return cmd
}

func listViews(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Show the views, with their positions and halted streams", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withFollowers(cmd.Context(), s, "", func(ctx context.Context, pool *postgres.Pool, all []projections.Projection) error {
				shown, err := operateviews.Status(ctx, pool, all)
				if err != nil {
					return err
				}
				return s.Print(asJSON, shown, func(p *terminal.Printer) { printViews(p, shown) })
			})
		},
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printViews(p *terminal.Printer, shown []operateviews.View) {
	var rows [][]terminal.Cell
	for _, v := range shown {
		style := terminal.Plain
		if len(v.Halted) > 0 {
			style = terminal.Bad
		}
		rows = append(rows, []terminal.Cell{
			{Text: v.Name},
			{Text: fmt.Sprint(v.Position), Right: true},
			{Text: fmt.Sprint(v.Behind), Right: true},
			{Text: fmt.Sprint(len(v.Halted)), Style: style},
		})
		for _, h := range v.Halted {
			rows = append(rows, []terminal.Cell{{Text: fmt.Sprintf("  %s at %d", h.Stream, h.Position), Style: terminal.Bad}},
				[]terminal.Cell{{Text: "    " + h.Error}})
		}
	}
	p.Table([]string{"VIEW", "POSITION", "BEHIND", "HALTED STREAMS"}, rows)
}

func rebuildViews(s *shell.Shell) *cobra.Command {
	compare, asJSON, reason := false, false, ""
	cmd := &cobra.Command{
		Use:   "rebuild [NAME]",
		Short: "Fold a view again from the log, or all of them",
		Long: `Fold one view, or all of them, again from the start of the log. The live view stays in
use until the new one replaces it at the same position. An interrupted rebuild changes
nothing.

With --check, no view is replaced: the rebuilt rows are compared with the live ones, byte
for byte at the same position. The exit code is 1 if they differ.`,
		Example: "  millrace views rebuild\n  millrace views rebuild jobs_v1 --check",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return withViews(cmd.Context(), s, name, func(ctx context.Context, pool *postgres.Pool, chosen []projections.Projection) error {
				all, problems := []operateviews.Result{}, []error{}
				for _, p := range chosen {
					do := func() (operateviews.Result, error) { return rebuild(ctx, s, pool, p, reason) }
					if compare {
						do = func() (operateviews.Result, error) { return checkView(ctx, s, pool, p) }
					}
					one, err := do()
					problems = append(problems, err)
					if one.View == "" {
						continue
					}
					if all = append(all, one); !asJSON {
						problems = append(problems, one.Describe(s.Out, compare))
					}
				}
				if asJSON {
					problems = append(problems, s.PrintJSON(all))
				}
				return errors.Join(problems...)
			})
		},
	}
	cmd.Flags().BoolVar(&compare, "check", compare, "compare only; replace nothing")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func rebuild(ctx context.Context, s *shell.Shell, pool *postgres.Pool, p projections.Projection,
	reason string,
) (operateviews.Result, error) {
	events, err := shell.EventStore(pool)
	if err != nil {
		return operateviews.Result{}, err
	}
	service := operateviews.Service{Pool: pool, Events: events}
	return service.RebuildView(ctx, p, shell.Progress(s.Err, p.Name, "events"), operate.Attribution{Actor: shell.Operator(), Reason: reason})
}

func checkView(ctx context.Context, s *shell.Shell, pool *postgres.Pool, p projections.Projection) (operateviews.Result, error) {
	out, err := operateviews.Check(ctx, pool, p, shell.Progress(s.Err, p.Name, "events"))
	if err == nil && len(out.Differences) > 0 {
		err = fmt.Errorf("view %s differs from its rebuild at position %d; `millrace views rebuild %s` replaces it", p.Name, out.Position,
			p.Name)
	}
	return out, err
}

func resumeViews(s *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "resume VIEW STREAM", Short: "Fold a halted stream again, after its cause was repaired", Args: cobra.ExactArgs(2),
		Long: "Fold the remaining events of a halted stream. The change is recorded with its actor and reason.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFollowers(cmd.Context(), s, args[0], func(ctx context.Context, pool *postgres.Pool, chosen []projections.Projection) error {
				events, err := shell.EventStore(pool)
				if err != nil {
					return err
				}
				service := operateviews.Service{Pool: pool, Events: events}
				if err := service.ResumeStream(ctx, chosen[0], args[1], operate.Attribution{Actor: shell.Operator(), Reason: reason}); err != nil {
					return err
				}
				_, err = fmt.Fprintf(s.Out, "%s continues with %s\n", args[0], args[1])
				return err
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	return cmd
}

// onViews is the work of a command on the database and some of the readers of the log.
type onViews func(context.Context, *postgres.Pool, []projections.Projection) error

// withViews calls work with the database and the named view, or all views.
func withViews(ctx context.Context, s *shell.Shell, name string, work onViews) error {
	all, err := operateviews.All()
	if err != nil {
		return err
	}
	return withChosen(ctx, s, all, name, work)
}

// withFollowers calls work with the database and every reader that a projector runs.
func withFollowers(ctx context.Context, s *shell.Shell, name string, work onViews) error {
	all, err := operateviews.Followers(s.Config.PublicURL)
	if err != nil {
		return err
	}
	return withChosen(ctx, s, all, name, work)
}

func withChosen(ctx context.Context, s *shell.Shell, all []projections.Projection, name string, work onViews) error {
	chosen, names := all[:0:0], ""
	for _, p := range all {
		names += " " + p.Name
		if name == "" || name == p.Name {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("view %q does not exist; the views are:%s", name, names)
	}
	pool, err := s.Database(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	return work(ctx, pool, chosen)
}
