package app

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// storied is a kind of aggregate with how its state is printed and which workflows ran it.
type storied[S any] struct {
	inspect.Kind[S]
	print     func(*inspect.Printer, S)
	workflows func(S) []execution
}

var (
	storiedCalls = storied[call.Call]{Kind: inspect.Calls, print: printCall, workflows: func(c call.Call) []execution {
		var all []execution
		for run := 1; run <= max(1, c.Run); run++ {
			all = append(all, execution{run: run, workflow: c.ID.WorkflowID(run)})
		}
		return all
	}}
	storiedAssets = storied[asset.Asset]{Kind: inspect.Assets, print: printAsset, workflows: func(a asset.Asset) []execution {
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
	facts, err := wholeStream(ctx, pool, stream)
	if err != nil {
		return none, err
	}
	return inspect.Tell(k.Kind, types, facts)
}

// wholeStream reads every fact of a stream.
func wholeStream(ctx context.Context, pool *pgxpool.Pool, stream string) ([]eventlog.Recorded, error) {
	var all []eventlog.Recorded
	for {
		page, err := postgres.ReadStream(ctx, pool, stream, int64(len(all)), historyPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < historyPage {
			return all, nil
		}
	}
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
		return "", fault.New(fault.Conflict, "", "%s is the beginning of several %ss: give more of the id (%s, %s, …)",
			inspect.Clean(text), noun, strings.TrimPrefix(found[0], noun+"-"), strings.TrimPrefix(found[1], noun+"-"))
	}
	return found[0], nil
}

func (k storied[S]) show(s *shell) *cobra.Command {
	var at string
	var asJSON, workflow bool
	cmd := &cobra.Command{
		Use: "show ID", Args: cobra.ExactArgs(1), Short: "Show the state of one, now or at any version or time",
		Long: `Show the state as its facts fold, now or with --at as it was at a version or a time. With --workflow,
show its facts beside the events of its workflow in Temporal.`,
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			t, err := k.story(ctx, pool, args[0])
			if err != nil {
				return err
			}
			if at != "" {
				p, err := inspect.ParsePoint(at)
				if err != nil {
					return err
				}
				if t, err = t.At(p); err != nil {
					return err
				}
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

func (k storied[S]) events(s *shell) *cobra.Command {
	return k.told(s, "events ID", "List every fact: when, where in the log, by whom and why", 1, func(p *inspect.Printer, t []inspect.Story[S], _ time.Time) (any, error) {
		if p != nil {
			inspect.StoryFacts(p, t[0])
		}
		return t[0], nil
	})
}

func (k storied[S]) timeline(s *shell) *cobra.Command {
	return k.told(s, "timeline ID", "Show where the time went: waits, steps, attempts, workers", 1, func(p *inspect.Printer, t []inspect.Story[S], now time.Time) (any, error) {
		line := t[0].Phases(now)
		if p != nil {
			p.Phases(line)
		}
		return line, nil
	})
}

func (k storied[S]) diff(s *shell) *cobra.Command {
	return k.told(s, "diff ID ID", "Show how two differ: state, course, times", 2, func(p *inspect.Printer, t []inspect.Story[S], now time.Time) (any, error) {
		c, err := inspect.Compare(t[0], t[1], now)
		if p != nil && err == nil {
			p.StoryComparison(c)
		}
		return c, err
	})
}

// told is a command about n stories: tell prints them, or only returns what is to be shown as JSON when p is nil.
func (k storied[S]) told(s *shell, use, short string, n int, tell func(p *inspect.Printer, t []inspect.Story[S], now time.Time) (any, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(n),
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			all := make([]inspect.Story[S], n)
			for i, arg := range args {
				var err error
				if all[i], err = k.story(ctx, pool, arg); err != nil {
					return err
				}
			}
			now, err := databaseTime(ctx, pool)
			if err != nil {
				return err
			}
			if asJSON {
				v, err := tell(nil, all, now)
				if err != nil {
					return err
				}
				return s.printJSON(v)
			}
			p := s.printer()
			if _, err := tell(p, all, now); err != nil {
				return err
			}
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
