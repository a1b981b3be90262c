package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/operated"
	"github.com/millrace-dev/millrace/internal/queue"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/calls"
	hidden "github.com/millrace-dev/millrace/projections/history"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/usage"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// views lists every projection of the program.
func views() ([]projections.Projection, error) {
	types, err := eventTypes()
	if err != nil {
		return nil, err
	}
	return []projections.Projection{jobs.NewProjection(types), assets.NewProjection(types), calls.NewProjection(types), usage.NewProjection(types), hidden.NewProjection(types), webhooks.NewProjection(types)}, nil
}

// viewNames are the names of all views, and of what else reads the log with a checkpoint: facts stay until
// all of them have seen them.
func viewNames() []string {
	return []string{jobs.Name, assets.Name, calls.Name, usage.Name, hidden.Name, webhooks.Name, webhooks.OutgoingName}
}

// followers lists what a projector runs: the views, and what makes messages of facts, which is not to be
// rebuilt. base is the public URL of links in messages.
func followers(base string) ([]projections.Projection, error) {
	all, err := views()
	if err != nil {
		return nil, err
	}
	types, err := eventTypes()
	if err != nil {
		return nil, err
	}
	return append(all, webhooks.NewOutgoing(types, base)), nil
}

func (s *shell) viewsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "views",
		Short: "List, check and rebuild the views",
		Long: `The views are what polls are answered from. Each is folded from the event log and can
be folded again: beside the live one, which goes on serving, and swapped in at the end.`,
	}
	s.databaseFlags(cmd)
	cmd.AddCommand(s.listViews(), s.rebuildViews(), s.resumeViews())
	return cmd
}

func (s *shell) listViews() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show each view, how far it has come, and what is halted", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.withFollowers(cmd.Context(), "", func(ctx context.Context, pool *pgxpool.Pool, all []projections.Projection) error {
				var head int64
				if err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&head); err != nil {
					return err
				}
				w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "VIEW\tPOSITION\tBEHIND\tHALTED STREAMS") //nolint:errcheck // flushed below
				for _, p := range all {
					position, err := projections.Position(ctx, pool, p.Name())
					if err != nil {
						return err
					}
					halted, err := projections.ListHalted(ctx, pool, p.Name())
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", p.Name(), position, max(0, head-position), len(halted)) //nolint:errcheck // as above
					for _, h := range halted {
						fmt.Fprintf(w, "  %s\t%d\t\t%s\n", h.Stream, h.Position, h.Error) //nolint:errcheck // as above
					}
				}
				return w.Flush()
			})
		},
	}
}

func (s *shell) rebuildViews() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "rebuild [NAME]",
		Short: "Fold a view again from the log, or all of them",
		Long: `Fold one view, or all of them, again from the start of the log. The live view goes on
serving and is replaced at the same position in one moment. An interrupted rebuild
changes nothing.

With --check nothing is replaced: the rebuilt rows are compared with the live ones, byte
for byte at the same position. The exit code is 1 if they differ.`,
		Example: "  millrace views rebuild\n  millrace views rebuild jobs_v1 --check",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return s.withViews(cmd.Context(), name, func(ctx context.Context, pool *pgxpool.Pool, chosen []projections.Projection) error {
				var problems []error
				for _, p := range chosen {
					problems = append(problems, s.rebuild(ctx, pool, p, check))
				}
				return errors.Join(problems...)
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", check, "compare only; replace nothing")
	return cmd
}

func (s *shell) rebuild(ctx context.Context, pool *pgxpool.Pool, p projections.Projection, check bool) error {
	began := time.Now()
	opts := projections.RebuildOptions{Progress: progress(s.err, p.Name())}
	if !check {
		done, err := projections.Rebuild(ctx, pool, p, opts)
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", p.Name(), err)
		}
		events, err := eventStore(pool)
		if err != nil {
			return err
		}
		ops := &operations{pool: pool, events: events}
		if err := ops.record(ctx, operated.ViewStream(p.Name()), queue.All, operated.TypeViewRebuilt,
			operated.ViewRebuiltV1{Position: done.Position}, act{Actor: operator(), Reason: "rebuilt by command"}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s rebuilt at position %d in %s, %d streams halted\n", p.Name(), done.Position, time.Since(began).Round(time.Millisecond), len(done.Halted))
		return err
	}
	report, err := projections.Check(ctx, pool, p, opts)
	if err != nil {
		return fmt.Errorf("check %s: %w", p.Name(), err)
	}
	if report.Same() {
		_, err = fmt.Fprintf(s.out, "%s equals its rebuild at position %d (%d rows, %s)\n", p.Name(), report.Position, report.Rows, time.Since(began).Round(time.Millisecond))
		return err
	}
	for _, d := range report.Differences {
		fmt.Fprintf(s.out, "%s %s %s\n", d.Table, d.Kind, d.Key) //nolint:errcheck // the error below tells, too
	}
	return fmt.Errorf("view %s differs from its rebuild at position %d; `millrace views rebuild %s` replaces it", p.Name(), report.Position, p.Name())
}

// progress shows a bar on a terminal and nothing elsewhere.
func progress(w io.Writer, what string) func(done, total int64) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
				progressbar.OptionShowIts(), progressbar.OptionSetItsString("events"), progressbar.OptionShowCount(),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		bar.ChangeMax64(total)
		bar.Set64(done) //nolint:errcheck // drawing only
	}
}

func (s *shell) resumeViews() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "resume VIEW STREAM", Short: "Fold a halted stream again, after its cause was mended", Args: cobra.ExactArgs(2),
		Long: "Fold the facts of a halted stream that were held back, and let it go on. Who did so and why is recorded.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.withFollowers(cmd.Context(), args[0], func(ctx context.Context, pool *pgxpool.Pool, chosen []projections.Projection) error {
				events, err := eventStore(pool)
				if err != nil {
					return err
				}
				ops := &operations{pool: pool, events: events}
				if err := ops.resume(ctx, chosen[0], args[1], act{Actor: operator(), Reason: reason}); err != nil {
					return err
				}
				_, err = fmt.Fprintf(s.out, "%s goes on with %s\n", args[0], args[1])
				return err
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

// onViews is work on the database and some of what a projector runs.
type onViews func(context.Context, *pgxpool.Pool, []projections.Projection) error

// withViews calls work with the database and the named view, or all of them.
func (s *shell) withViews(ctx context.Context, name string, work onViews) error {
	all, err := views()
	if err != nil {
		return err
	}
	return s.withChosen(ctx, all, name, work)
}

// withFollowers is withViews of everything that a projector runs.
func (s *shell) withFollowers(ctx context.Context, name string, work onViews) error {
	all, err := followers(s.cfg.PublicURL)
	if err != nil {
		return err
	}
	return s.withChosen(ctx, all, name, work)
}

func (s *shell) withChosen(ctx context.Context, all []projections.Projection, name string, work onViews) error {
	chosen, names := all[:0:0], ""
	for _, p := range all {
		names += " " + p.Name()
		if name == "" || name == p.Name() {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("there is no view %q; there are:%s", name, names)
	}
	pool, err := s.database(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	return work(ctx, pool, chosen)
}
