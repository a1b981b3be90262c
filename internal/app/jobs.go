package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

func (s *shell) jobsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs, and show what happened to one",
		Long: `Answer what happened to a job from its recorded facts. An ID may be shortened to its
first characters, four at least, while no other job begins with them.`,
		Example: `  millrace jobs list --status failed --since 24h
  millrace jobs show 62e89ef5
  millrace jobs show 62e89ef5 --at 7
  millrace jobs timeline 62e89ef5`,
	}
	s.databaseFlags(cmd)
	cmd.AddCommand(s.listJobs(), s.showJob(), s.jobEvents(), s.jobTimeline(), s.diffJobs())
	cmd.AddCommand(s.retryJobs(), s.cancelJobs(), s.requeueJobs(), s.replayJobs())
	return cmd
}

// jobsWork is a command on the database.
type jobsWork func(ctx context.Context, pool *pgxpool.Pool, args []string) error

func (s *shell) onDatabase(work jobsWork) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		pool, err := s.database(cmd.Context())
		if err != nil {
			return err
		}
		defer pool.Close()
		return work(cmd.Context(), pool, args)
	}
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "complete, for programs")
}

func (s *shell) showJob() *cobra.Command {
	var at string
	var asJSON, workflow bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show the state of a job, now or at any version or time",
		Long: `Show the state of a job as its facts fold, now or with --at as it was at a version or a
time. With --workflow, show its facts beside the events of its workflow in Temporal.`,
		Example: `  millrace jobs show 62e89ef5 --at 7
  millrace jobs show 62e89ef5 --at 2026-01-02T15:04:05Z
  millrace jobs show 62e89ef5 --workflow`,
		Args: cobra.ExactArgs(1),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			h, whole, err := s.teller(pool).at(ctx, args[0], at)
			if err != nil {
				return err
			}
			if workflow {
				return s.showWorkflow(ctx, h, h.Facts, executionsOf(h), asJSON)
			}
			if asJSON {
				return s.printJSON(h.Fold())
			}
			p := s.printer()
			p.State(h, len(whole.Facts))
			return p.Err()
		}),
	}
	cmd.Flags().StringVar(&at, "at", at, "a version (12) or a time (2026-01-02T15:04:05Z)")
	cmd.Flags().BoolVar(&workflow, "workflow", workflow, "the facts beside the events of the workflow")
	s.engineFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (s *shell) jobEvents() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "events ID", Short: "List every fact of a job: when, where in the log, by whom and why", Args: cobra.ExactArgs(1),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			h, err := s.teller(pool).history(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return s.printJSON(h)
			}
			p := s.printer()
			p.Events(h)
			return p.Err()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (s *shell) jobTimeline() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "timeline ID", Short: "Show where the time of a job went: waits, nodes, attempts, workers", Args: cobra.ExactArgs(1),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			t, err := s.teller(pool).timeline(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return s.printJSON(t)
			}
			p := s.printer()
			p.Timeline(t)
			return p.Err()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (s *shell) diffJobs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "diff ID ID", Short: "Show how two jobs differ: graph, course, results, times", Args: cobra.ExactArgs(2),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			c, err := s.teller(pool).diff(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			if asJSON {
				return s.printJSON(c)
			}
			p := s.printer()
			p.Comparison(c)
			return p.Err()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printer draws colours where somebody looks: on a terminal, unless NO_COLOR is set.
func (s *shell) printer() *inspect.Printer {
	colour := false
	if f, ok := s.out.(*os.File); ok {
		info, err := f.Stat()
		colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	for _, name := range []string{"NO_COLOR", "TERM"} {
		if v, ok := s.lookup(name); ok && (name == "NO_COLOR" && v != "" || v == "dumb") {
			colour = false
		}
	}
	return &inspect.Printer{Out: s.out, Colour: colour}
}

// printJSON writes a value indented, without secrets.
func (s *shell) printJSON(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(inspect.Redact(raw))
}

// databaseTime is the clock that facts are stamped with.
func databaseTime(ctx context.Context, pool *pgxpool.Pool) (time.Time, error) {
	var now time.Time
	if err := pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("ask the database for the time: %w", err)
	}
	return now.UTC(), nil
}

// errNoDataDir says that the bytes of a deployment are elsewhere.
var errNoDataDir = errors.New("the data directory is not on this machine")
