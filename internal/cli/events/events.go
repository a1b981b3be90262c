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
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Command returns the commands on the event log.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, search and follow the events of the whole log",
		Long: `Read the whole event log, including the events of accounts, keys, queues, credit, webhooks and
views, which belong to no job, call or asset. The events of one job, call or asset are easier to read
with millrace jobs, calls and assets.`,
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

// onLog calls work with the service of the log.
func onLog(s *shell.Shell, work func(ctx context.Context, log operateevents.Service,
	args []string) error,
) func(*cobra.Command, []string) error {
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
		Use: "list", Short: "List events in the order of the log: the newest ones, or from a position on", Args: cobra.NoArgs,
		Long: `List events in the order in which they were recorded: the newest that match or, with
--from-position, the first that match from this position on. With --follow, continue with new
events until interrupted; --json then writes one event on each line.

Events of a few streams are found by an index. Any other search reads the log from its start
position, at most a million positions; the output contains the range that was read.`,
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
	cmd.Flags().StringVar(&f.Stream, "stream", "", "prefix of stream names, or a pattern with * and ?")
	cmd.Flags().StringVar(&f.Type, "type", "", "prefix of event types: account., job.failed, …")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; * = events of all accounts together")
	cmd.Flags().StringVar(&f.Since, "since", "", "recorded in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().StringVar(&f.Until, "until", "", "recorded before a duration ago, or before a time")
	cmd.Flags().Int64Var(&f.From, "from-position", 0, "read forward from this position")
	cmd.Flags().Int64Var(&f.Before, "before", 0, "read only before this position")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "maximum number of events")
	cmd.Flags().BoolVar(&follow, "follow", false, "continue with new events as they are recorded")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printEvents(s *shell.Shell, page operateevents.Page, names map[string]string) error {
	l := &report.LogPrinter{Printer: s.Printer(), Names: names}
	l.Entries(page.Events)
	switch {
	case page.More && page.From > 0:
		l.Line(fmt.Sprintf("searched positions %d to %d; continue with --from-position %d", page.Low, page.High, page.From), terminal.Faint)
	case page.More:
		l.Line(fmt.Sprintf("searched positions %d to %d; find older events with --before %d", page.Low, page.High, page.Before), terminal.Faint)
	case len(page.Events) == 0 && page.Low > page.High:
		l.Line("no event matches: no events were recorded in this range", terminal.Faint)
	case len(page.Events) == 0:
		l.Line(fmt.Sprintf("no event matches among positions %d to %d", page.Low, page.High), terminal.Faint)
	}
	return l.Err()
}

// eventWriter writes events as they arrive.
func eventWriter(s *shell.Shell, names map[string]string, asJSON bool) func([]inspect.Entry) error {
	l := &report.LogPrinter{Printer: s.Printer(), Names: names}
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

// followEvents writes the recorded events that q selects, and then new ones, until ctx ends, which is not an error.
func followEvents(ctx context.Context, s *shell.Shell, log operateevents.Service, q eventstore.LogSearch,
	print func([]inspect.Entry) error,
) error {
	if !q.Until.IsZero() || q.Before > 0 {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "--follow cannot be combined with --until or --before")
	}
	logger, err := s.Logger()
	if err != nil {
		return err
	}
	wake := eventstore.NewWake(s.Config.SessionURL(), logger)
	tail, err := eventstore.OpenTailer(ctx, log.Pool, s.Config.SessionURL(), wake, eventstore.TailerOptions{Log: logger})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return wake.Run(running) })
	group.Go(func() error { return tail.Run(running) })
	err = log.Follow(ctx, tail, q, print)
	stop()
	err = errors.Join(err, group.Wait())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // interrupted: all recorded events have been written
	}
	return err
}

func showEvent(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show POSITION", Short: "Show one event in full: time, stream, actor, reason and data", Args: cobra.ExactArgs(1),
		RunE: onLog(s, func(ctx context.Context, log operateevents.Service, args []string) error {
			position, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || position < 1 {
				return fmt.Errorf("%q is not a position in the log, such as 1204", terminal.Clean(args[0]))
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
			report.Entry(p, d.Entry, names, d.Causing)
			return p.Err()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func eventTypesCommand(s *shell.Shell) *cobra.Command {
	var asJSON, whole bool
	cmd := &cobra.Command{
		Use: "types", Short: "List the types of events, with their meaning and the number of recorded events", Args: cobra.NoArgs,
		Long: `List the types of events that this version knows, and recorded types that it does not know. The
command counts the newest million positions of the log; with --whole, all of them.`,
		RunE: onLog(s, func(ctx context.Context, log operateevents.Service, _ []string) error {
			counts, err := log.Count(ctx, whole)
			if err != nil {
				return err
			}
			return s.Print(asJSON, counts, func(p *terminal.Printer) {
				report.Types(p, counts.Types)
				if !counts.Whole {
					p.Line(fmt.Sprintf("counted from position %d on; count all events with --whole", counts.Low), terminal.Faint)
				}
			})
		}),
	}
	cmd.Flags().BoolVar(&whole, "whole", false, "count the events of the whole log, which may take long")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
