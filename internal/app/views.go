package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	operateviews "github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
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
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Show each view, how far it has come, and what is halted", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.withFollowers(cmd.Context(), "", func(ctx context.Context, pool *pgxpool.Pool, all []projections.Projection) error {
				shown, err := standOf(ctx, pool, all)
				if err != nil {
					return err
				}
				if asJSON {
					return s.printJSON(shown)
				}
				p := s.printer()
				printViews(p, shown)
				return p.Err()
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// standOf reads how far views have come, and which streams they halted.
func standOf(ctx context.Context, pool *pgxpool.Pool, all []projections.Projection) ([]operateviews.View, error) {
	var head int64
	if err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&head); err != nil {
		return nil, postgres.Classify(err, "read the head of the log")
	}
	shown := make([]operateviews.View, len(all))
	for i, p := range all {
		position, err := projections.Position(ctx, pool, p.Name())
		if err != nil {
			return nil, err
		}
		halted, err := projections.ListHalted(ctx, pool, p.Name())
		if err != nil {
			return nil, err
		}
		shown[i] = operateviews.View{Name: p.Name(), Position: position, Behind: max(0, head-position), Halted: []operateviews.Halted{}}
		for _, h := range halted {
			shown[i].Halted = append(shown[i].Halted, operateviews.Halted{Stream: h.Stream, Position: h.Position, Error: inspect.Clean(h.Error)})
		}
	}
	return shown, nil
}

func printViews(p *inspect.Printer, shown []operateviews.View) {
	var rows [][]inspect.Cell
	for _, v := range shown {
		style := inspect.Plain
		if len(v.Halted) > 0 {
			style = inspect.Bad
		}
		rows = append(rows, []inspect.Cell{
			{Text: v.Name}, {Text: fmt.Sprint(v.Position), Right: true}, {Text: fmt.Sprint(v.Behind), Right: true}, {Text: fmt.Sprint(len(v.Halted)), Style: style},
		})
		for _, h := range v.Halted {
			rows = append(rows, []inspect.Cell{{Text: fmt.Sprintf("  %s at %d", h.Stream, h.Position), Style: inspect.Bad}}, []inspect.Cell{{Text: "    " + h.Error}})
		}
	}
	p.Table([]string{"VIEW", "POSITION", "BEHIND", "HALTED STREAMS"}, rows)
}

func (s *shell) rebuildViews() *cobra.Command {
	check, asJSON, reason := false, false, ""
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
				all, problems := []rebuilt{}, []error{}
				for _, p := range chosen {
					do := func() (rebuilt, error) { return s.rebuild(ctx, pool, p, reason) }
					if check {
						do = func() (rebuilt, error) { return s.check(ctx, pool, p) }
					}
					one, err := do()
					problems = append(problems, err)
					if one.View == "" {
						continue
					}
					if all = append(all, one); !asJSON {
						problems = append(problems, one.say(s.out, check))
					}
				}
				if asJSON {
					problems = append(problems, s.printJSON(all))
				}
				return errors.Join(problems...)
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", check, "compare only; replace nothing")
	cmd.Flags().StringVar(&reason, "reason", reason, "why, for the record")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// rebuilt is what became of a view.
type rebuilt struct {
	View        string                   `json:"view"`
	Position    int64                    `json:"position"`
	Rows        int64                    `json:"rows,omitempty"`   // compared
	Halted      int                      `json:"halted,omitempty"` // streams
	Millis      int64                    `json:"millis"`
	Differences []projections.Difference `json:"differences,omitempty"`
}

func (s *shell) rebuild(ctx context.Context, pool *pgxpool.Pool, p projections.Projection, reason string) (rebuilt, error) {
	events, err := eventStore(pool)
	if err != nil {
		return rebuilt{}, err
	}
	service := adminViews{pool: pool, events: events}
	return service.rebuild(ctx, p, progress(s.err, p.Name(), "events"), operate.Attribution{Actor: operator(), Reason: reason})
}

// rebuild folds a view again, puts it in the place of the live one and records that, even when who asked is gone by then.
func (v adminViews) rebuild(ctx context.Context, p projections.Projection, step func(done, total int64), by operate.Attribution) (rebuilt, error) {
	began := time.Now()
	done, err := projections.Rebuild(ctx, v.pool, p, projections.RebuildOptions{Progress: step})
	if err != nil {
		return rebuilt{}, fmt.Errorf("rebuild %s: %w", p.Name(), err)
	}
	err = record(context.WithoutCancel(ctx), v.events, audit.ViewStream(p.Name()), gate.All, audit.TypeViewRebuilt,
		audit.ViewRebuiltV1{Position: done.Position}, by)
	return rebuilt{View: p.Name(), Position: done.Position, Halted: len(done.Halted), Millis: time.Since(began).Milliseconds()}, err
}

func (s *shell) check(ctx context.Context, pool *pgxpool.Pool, p projections.Projection) (rebuilt, error) {
	out, err := checkView(ctx, pool, p, progress(s.err, p.Name(), "events"))
	if err == nil && len(out.Differences) > 0 {
		err = fmt.Errorf("view %s differs from its rebuild at position %d; `millrace views rebuild %s` replaces it", p.Name(), out.Position, p.Name())
	}
	return out, err
}

// checkView compares a view with what its facts fold to.
func checkView(ctx context.Context, pool *pgxpool.Pool, p projections.Projection, step func(done, total int64)) (rebuilt, error) {
	began := time.Now()
	report, err := projections.Check(ctx, pool, p, projections.RebuildOptions{Progress: step})
	if err != nil {
		return rebuilt{}, fmt.Errorf("check %s: %w", p.Name(), err)
	}
	return rebuilt{View: p.Name(), Position: report.Position, Rows: report.Rows, Millis: time.Since(began).Milliseconds(), Differences: report.Differences}, nil
}

// say writes what became of a view for people.
func (r rebuilt) say(w io.Writer, checked bool) error {
	took := (time.Duration(r.Millis) * time.Millisecond).String()
	if !checked {
		_, err := fmt.Fprintf(w, "%s rebuilt at position %d in %s, %d streams halted\n", r.View, r.Position, took, r.Halted)
		return err
	}
	if len(r.Differences) == 0 {
		_, err := fmt.Fprintf(w, "%s equals its rebuild at position %d (%d rows, %s)\n", r.View, r.Position, r.Rows, took)
		return err
	}
	for _, d := range r.Differences {
		if _, err := fmt.Fprintf(w, "%s %s %s\n", d.Table, d.Kind, inspect.Clean(d.Key)); err != nil {
			return err
		}
	}
	return nil
}

// progress shows a bar on a terminal and nothing elsewhere; unit is what is counted.
func progress(w io.Writer, what, unit string) func(done, total int64) {
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
				progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit), progressbar.OptionShowCount(),
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
				service := adminViews{pool: pool, events: events}
				if err := service.resume(ctx, chosen[0], args[1], operate.Attribution{Actor: operator(), Reason: reason}); err != nil {
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
