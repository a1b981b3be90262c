package app

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// storied is a kind of aggregate with the workflows that ran it.
type storied[S any] struct {
	inspect.Kind[S]
	workflows func(S) []execution
}

var (
	storiedCalls = storied[call.Call]{Kind: inspect.Calls, workflows: func(c call.Call) []execution {
		var all []execution
		for run := 1; run <= max(1, c.Run); run++ {
			all = append(all, execution{run: run, workflow: c.ID.WorkflowID(run)})
		}
		return all
	}}
	storiedAssets = storied[asset.Asset]{Kind: inspect.Assets, workflows: func(a asset.Asset) []execution {
		if a.Producer != nil {
			return nil // saved and hashed by the workflow of its job
		}
		return []execution{{run: 1, workflow: a.ID.WorkflowID()}}
	}}
)

// story reads the facts of the one call or asset whose id begins with text.
func (k storied[S]) story(ctx context.Context, pool *pgxpool.Pool, text string) (inspect.Story[S], error) {
	var none inspect.Story[S]
	types, err := eventTypes()
	if err != nil {
		return none, err
	}
	stream, err := findStream(ctx, pool, k.Noun, text)
	if err != nil {
		return none, err
	}
	facts, err := eventlog.Collect(eventlog.Read(ctx, postgres.StreamsOf(pool), stream, 0))
	if err != nil {
		return none, err
	}
	return inspect.Tell(k.Kind, types, facts)
}

// at is story up to a version or a time; "" is now.
func (k storied[S]) at(ctx context.Context, pool *pgxpool.Pool, text, at string) (inspect.Story[S], error) {
	t, err := k.story(ctx, pool, text)
	if err != nil || at == "" {
		return t, err
	}
	p, err := inspect.ParsePoint(at)
	if err != nil {
		return t, err
	}
	return t.At(p)
}

// phases says where the time of one went.
func (k storied[S]) phases(ctx context.Context, pool *pgxpool.Pool, text string) (inspect.Phases, error) {
	t, err := k.story(ctx, pool, text)
	if err != nil {
		return inspect.Phases{}, err
	}
	now, err := databaseTime(ctx, pool)
	if err != nil {
		return inspect.Phases{}, err
	}
	return t.Phases(now), nil
}

// compare says how two differ.
func (k storied[S]) compare(ctx context.Context, pool *pgxpool.Pool, a, b string) (inspect.StoryComparison, error) {
	one, err := k.story(ctx, pool, a)
	if err != nil {
		return inspect.StoryComparison{}, err
	}
	other, err := k.story(ctx, pool, b)
	if err != nil {
		return inspect.StoryComparison{}, err
	}
	now, err := databaseTime(ctx, pool)
	if err != nil {
		return inspect.StoryComparison{}, err
	}
	return inspect.Compare(one, other, now)
}

// findStreamSQL reads a range of the primary key.
const findStreamSQL = `select id from streams where id >= $1 and id <= $2 order by id limit 2`

// findStream returns the one stream of a kind whose id begins with text.
func findStream(ctx context.Context, pool *pgxpool.Pool, noun, text string) (string, error) {
	from, to, err := idRange(noun, text)
	if err != nil {
		return "", err
	}
	rows, err := pool.Query(ctx, findStreamSQL, noun+"-"+from, noun+"-"+to)
	if err != nil {
		return "", postgres.Classify(err, "look for the "+noun)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case err != nil:
		return "", postgres.Classify(err, "look for the "+noun)
	case len(found) == 0:
		return "", fault.New(fault.NotFound, noun+"_not_found", "there is no %s %s", noun, inspect.Clean(text))
	case len(found) > 1:
		return "", fault.New(fault.Conflict, "ambiguous_id", "%s is the beginning of several %ss: give more of the id (%s, %s, …)",
			inspect.Clean(text), noun, strings.TrimPrefix(found[0], noun+"-"), strings.TrimPrefix(found[1], noun+"-"))
	}
	return found[0], nil
}

// printed is a kind with how its state is printed.
type printed[S any] struct {
	storied[S]
	print func(*inspect.Printer, S)
}

func (k printed[S]) show(s *shell) *cobra.Command {
	var at string
	var asJSON, workflow bool
	cmd := &cobra.Command{
		Use: "show ID", Args: cobra.ExactArgs(1), Short: "Show the state of one, now or at any version or time",
		Long: `Show the state as its facts fold, now or with --at as it was at a version or a time. With --workflow,
show its facts beside the events of its workflow in Temporal.`,
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			t, err := k.at(ctx, pool, args[0], at)
			if err != nil {
				return err
			}
			switch {
			case workflow:
				return s.showWorkflow(ctx, t, t.Facts, k.workflows(t.State()), asJSON)
			case asJSON:
				return s.printJSON(t.State())
			}
			p := s.printer()
			k.print(p, t.State())
			return p.Err()
		}),
	}
	cmd.Flags().StringVar(&at, "at", "", "a version (12) or a time (2026-01-02T15:04:05Z); default: now")
	cmd.Flags().BoolVar(&workflow, "workflow", false, "the facts beside the events of the workflow")
	s.engineFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (k printed[S]) events(s *shell) *cobra.Command {
	return told(s, "events ID", "List every fact: when, where in the log, by whom and why", 1, inspect.StoryFacts[S],
		func(ctx context.Context, pool *pgxpool.Pool, args []string) (inspect.Story[S], error) {
			return k.story(ctx, pool, args[0])
		})
}

func (k printed[S]) timeline(s *shell) *cobra.Command {
	return told(s, "timeline ID", "Show where the time went: waits, steps, attempts, workers", 1, (*inspect.Printer).Phases,
		func(ctx context.Context, pool *pgxpool.Pool, args []string) (inspect.Phases, error) {
			return k.phases(ctx, pool, args[0])
		})
}

func (k printed[S]) diff(s *shell) *cobra.Command {
	return told(s, "diff ID ID", "Show how two differ: state, course, times", 2, (*inspect.Printer).StoryComparison,
		func(ctx context.Context, pool *pgxpool.Pool, args []string) (inspect.StoryComparison, error) {
			return k.compare(ctx, pool, args[0], args[1])
		})
}

// told is a command about n stories: tell answers, and print is for people.
func told[T any](s *shell, use, short string, n int, print func(*inspect.Printer, T), tell func(context.Context, *pgxpool.Pool, []string) (T, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(n),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			answer, err := tell(ctx, pool, args)
			if err != nil {
				return err
			}
			if asJSON {
				return s.printJSON(answer)
			}
			p := s.printer()
			print(p, answer)
			return p.Err()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// execution names a run in the workflow engine; id "" is its latest execution.
type execution struct {
	run      int
	workflow string
	id       string
}

// executionsOf are the runs of a job.
func executionsOf(h inspect.History) []execution {
	var all []execution
	for _, run := range h.Executions() {
		all = append(all, execution{run: run.Run, workflow: h.Job.WorkflowID(run.Run), id: run.ID})
	}
	return all
}

// limitOf checks how many of a listing are wanted.
func limitOf(limit, most int) error {
	if limit < 1 || limit > most {
		return fault.New(fault.Invalid, "", "--limit must be between 1 and %d, not %d", most, limit)
	}
	return nil
}
