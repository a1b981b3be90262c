// Package events holds the commands on the event log as a whole.
package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateevents "github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Command returns the commands on the event log.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, search and follow the events of the whole log",
		Long: `Read the log of events as a whole: also those of accounts, keys, queues, credit, webhooks and
views, which belong to no job, call or asset. Events of one of these are shown better by
millrace jobs, calls and assets.`,
		Example: `  millrace events list --stream 'account-*' --since 24h
  millrace events list --type credit. --account acme
  millrace events list --follow
  millrace events show 1204
  millrace events types`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listEvents(s), showEvent(s), eventTypesCommand(s))
	return cmd
}

// onLog is a command on the log.
func onLog(s *shell.Shell, work func(ctx context.Context, log operateevents.Service, args []string) error) func(*cobra.Command, []string) error {
	return s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
		types, err := eventtypes.Registry()
		if err != nil {
			return err
		}
		return work(ctx, operateevents.Service{Pool: pool, Registry: types}, args)
	})
}

func listEvents(s *shell.Shell) *cobra.Command {
	f := operateevents.Filter{Limit: operateevents.DefaultLimit}
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use: "list", Short: "List events in the order of the log, the newest ones or from a position on", Args: cobra.NoArgs,
		Long: `List events in the order in which they were recorded: the newest that match, or with
--from-position the first from there on. With --follow, go on with what is recorded from now
on, until interrupted; --json then writes one event a line.

Events of few streams are found through these. Anything else is found by reading the log from
where the search begins, a million positions at most: it is said how far it was read.`,
		Example: `  millrace events list --stream 'queue-*'
  millrace events list --type account. --since 168h
  millrace events list --from-position 1204 --limit 20
  millrace events list --follow --account acme --json`,
		RunE: onLog(s, func(ctx context.Context, log operateevents.Service, _ []string) error {
			q, names, err := log.Parse(ctx, f)
			if err != nil {
				return err
			}
			if follow {
				return followEvents(ctx, s, log, q, eventWriter(s, names, asJSON))
			}
			page, err := log.Page(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(page)
			}
			return printEvents(s, page, names)
		}),
	}
	cmd.Flags().StringVar(&f.Stream, "stream", "", "of streams that begin so, or match a pattern with * and ?")
	cmd.Flags().StringVar(&f.Type, "type", "", "of types that begin so: account., job.failed, …")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; * = events of all accounts together")
	cmd.Flags().StringVar(&f.Since, "since", "", "recorded in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().StringVar(&f.Until, "until", "", "recorded before that long ago, or before a time")
	cmd.Flags().Int64Var(&f.From, "from-position", 0, "from this position on, the oldest first")
	cmd.Flags().Int64Var(&f.Before, "before", 0, "only before this position")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "how many at most")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what is recorded from now on")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printEvents(s *shell.Shell, page operateevents.Page, names map[string]string) error {
	l := &inspect.LogPrinter{Printer: s.Printer(), Names: names}
	l.Entries(page.Events)
	switch {
	case page.More && page.From > 0:
		l.Line(fmt.Sprintf("looked at positions %d to %d; go on with --from-position %d", page.Low, page.High, page.From), inspect.Faint)
	case page.More:
		l.Line(fmt.Sprintf("looked at positions %d to %d; older ones with --before %d", page.Low, page.High, page.Before), inspect.Faint)
	case len(page.Events) == 0 && page.Low > page.High:
		l.Line("no event matches: nothing was recorded there", inspect.Faint)
	case len(page.Events) == 0:
		l.Line(fmt.Sprintf("no event matches among positions %d to %d", page.Low, page.High), inspect.Faint)
	}
	return l.Err()
}

// eventWriter writes events as they come.
func eventWriter(s *shell.Shell, names map[string]string, asJSON bool) func([]inspect.Entry) error {
	l := &inspect.LogPrinter{Printer: s.Printer(), Names: names}
	if !asJSON {
		return func(entries []inspect.Entry) error {
			l.Entries(entries)
			return l.Err()
		}
	}
	lines := json.NewEncoder(s.Out)
	lines.SetEscapeHTML(false)
	return func(entries []inspect.Entry) error {
		for _, e := range entries {
			raw, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("encode event %d: %w", e.Position, err)
			}
			if err := lines.Encode(inspect.Redact(raw)); err != nil {
				return err
			}
		}
		return nil
	}
}

// followEvents writes what q finds and then what is recorded, until ctx ends, which is no error.
func followEvents(ctx context.Context, s *shell.Shell, log operateevents.Service, q eventstore.LogSearch, print func([]inspect.Entry) error) error {
	if !q.Until.IsZero() || q.Before > 0 {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "--follow has no end: it goes with neither --until nor --before")
	}
	logger, err := s.Logger()
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	wake := eventstore.NewWake(s.Config.SessionURL(), logger)
	tail := eventstore.NewTailer(log.Pool, s.Config.SessionURL(), wake, eventstore.TailerOptions{Log: logger})
	var group errgroup.Group
	group.Go(func() error { return wake.Run(running) })
	group.Go(func() error { return tail.Run(running) })
	err = log.Follow(ctx, tail, q, print)
	stop()
	err = errors.Join(err, group.Wait())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // interrupted: all that was recorded is written
	}
	return err
}

func showEvent(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show POSITION", Short: "Show one event whole: when, of what, by whom and why, and its data", Args: cobra.ExactArgs(1),
		RunE: onLog(s, func(ctx context.Context, log operateevents.Service, args []string) error {
			position, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || position < 1 {
				return fmt.Errorf("%q is not a position in the log, such as 1204", inspect.Clean(args[0]))
			}
			d, err := log.Lookup(ctx, position)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(d)
			}
			names, err := operate.AccountNames(ctx, log.Pool)
			if err != nil {
				return err
			}
			p := s.Printer()
			p.Entry(d.Entry, names, d.Causing)
			return p.Err()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func eventTypesCommand(s *shell.Shell) *cobra.Command {
	var asJSON, whole bool
	cmd := &cobra.Command{
		Use: "types", Short: "List the types of events: what they say, and how many are recorded", Args: cobra.NoArgs,
		Long: `List the types of events that this version knows, and those that are recorded and that it does
not know. The newest million positions of the log are counted, with --whole all of it.`,
		RunE: onLog(s, func(ctx context.Context, log operateevents.Service, _ []string) error {
			counts, err := log.Count(ctx, whole)
			if err != nil {
				return err
			}
			return s.Print(asJSON, counts, func(p *inspect.Printer) {
				p.Types(counts.Types)
				if !counts.Whole {
					p.Line(fmt.Sprintf("counted from position %d on; all of them with --whole", counts.Low), inspect.Faint)
				}
			})
		}),
	}
	cmd.Flags().BoolVar(&whole, "whole", false, "count the whole log, however long")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
