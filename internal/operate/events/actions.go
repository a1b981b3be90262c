package events

import (
	"context"
	"fmt"
	"strconv"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Actions are what operators ask of the whole log.
var Actions = action.Group[Service]{
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
	Actions: []action.For[Service]{list, show, types},
}

type listParams struct {
	Stream  string `name:"stream" help:"prefix of stream names, or a pattern with * and ?"`
	Type    string `name:"type" help:"prefix of event types: account., job.failed, …"`
	Account string `name:"account" help:"name or id of an account; * = events of all accounts together"`
	Since   string `name:"since" help:"recorded in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)"`
	Until   string `name:"until" help:"recorded before a duration ago, or before a time"`
	From    int64  `name:"from_position" help:"read forward from this position"`
	Before  int64  `name:"before" help:"read only before this position"`
	Limit   int    `name:"limit" default:"50" min:"1" max:"1000" help:"maximum number of events"` // one event may be megabytes
	Follow  bool   `name:"follow" route:"-" help:"continue with new events as they are recorded"`
}

var list = action.Of[Service, listParams, page]{
	Spec: action.Spec{
		ID: "adminEvents", Route: "GET /events", Schema: "AdminEvents",
		Summary: "Search the events of all accounts, in the order of the log. Without from_position, the newest events are returned. " +
			"If more is true, the search stopped at its limit or after a million positions; continue at before or from_position.",
		Commands: []action.Command{{
			Use: "list", Short: "List events in the order of the log: the newest ones, or from a position on",
			Long: `List events in the order in which they were recorded: the newest that match or, with
--from-position, the first that match from this position on. With --follow, continue with new
events until interrupted; --json then writes one event on each line.

Events of a few streams are found by an index. Any other search reads the log from its start
position, at most a million positions; the output contains the range that was read.`,
			Example: `  millrace events list --stream 'queue-*'
  millrace events list --type account. --since 168h
  millrace events list --from-position 1204 --limit 20
  millrace events list --follow --account acme --json`,
		}},
	},
	Do: func(ctx context.Context, l Service, p listParams, _ operate.Attribution) (page, error) {
		q, names, err := l.parse(ctx, p)
		if err != nil {
			return page{}, err
		}
		found, err := l.page(ctx, q)
		found.names = names
		return found, err
	},
	Stream: func(ctx context.Context, l Service, p listParams, out *terminal.Printer, json func(v any) error) (bool, error) {
		if !p.Follow {
			return false, nil
		}
		q, names, err := l.parse(ctx, p)
		if err != nil {
			return true, err
		}
		err = l.Follow(ctx, func(ctx context.Context, tail eventlog.Tail) error {
			return l.follow(ctx, tail, q, writer(out, names, json))
		})
		if ctx.Err() != nil {
			return true, nil // interrupted: all recorded events have been written
		}
		return true, err
	},
	Show: func(out *terminal.Printer, _ listParams, p page) {
		l := &report.LogPrinter{Printer: out, Names: p.names}
		l.Entries(p.Events)
		switch {
		case p.More && p.From > 0:
			l.Line(fmt.Sprintf("searched positions %d to %d; continue with --from-position %d", p.Low, p.High, p.From), terminal.Faint)
		case p.More:
			l.Line(fmt.Sprintf("searched positions %d to %d; find older events with --before %d", p.Low, p.High, p.Before), terminal.Faint)
		case len(p.Events) == 0 && p.Low > p.High:
			l.Line("no event matches: no events were recorded in this range", terminal.Faint)
		case len(p.Events) == 0:
			l.Line(fmt.Sprintf("no event matches among positions %d to %d", p.Low, p.High), terminal.Faint)
		}
	},
}.Untyped()

// writer writes events as they arrive, each as JSON or as lines of a table.
func writer(out *terminal.Printer, names map[string]string, json func(v any) error) func([]inspect.Entry) error {
	l := &report.LogPrinter{Printer: out, Names: names}
	return func(entries []inspect.Entry) error {
		if json == nil {
			l.Entries(entries)
			return l.Err()
		}
		for _, e := range entries {
			if err := json(e); err != nil {
				return fmt.Errorf("write event %d: %w", e.Position, err)
			}
		}
		return nil
	}
}

// follow passes the events that q selects to print: first the recorded ones, then new ones as they are appended, in
// the order of the log.
func (l Service) follow(ctx context.Context, tail eventlog.Tail, q eventstore.LogSearch, print func([]inspect.Entry) error) error {
	after := int64(0)
	for more := true; more; {
		p, err := l.page(ctx, q)
		if err != nil {
			return err
		}
		if err := print(p.Events); err != nil {
			return err
		}
		after = max(p.High, q.From-1)
		more, q.From = p.More && q.From > 0, p.From
	}
	wanted := q.Matcher()
	follower := eventlog.Follower{Tail: tail, After: after}
	return follower.Run(ctx, func(_ context.Context, recorded []eventlog.Recorded) error {
		var entries []inspect.Entry
		for _, rec := range recorded {
			if wanted(rec) {
				entries = append(entries, inspect.EntryOf(l.Registry, rec))
			}
		}
		return print(entries)
	})
}

type showParams struct {
	Position string `name:"position" arg:"POSITION"`
}

var show = action.Of[Service, showParams, detail]{
	Spec: action.Spec{
		ID: "adminEvent", Route: "GET /events/{position}", Schema: "AdminEvent", Summary: "Get one event, with the event that caused it.",
		Commands: []action.Command{{
			Use: "show POSITION", Short: "Show one event in full: time, stream, actor, reason and data",
		}},
	},
	Do: func(ctx context.Context, l Service, p showParams, _ operate.Attribution) (detail, error) {
		position, err := strconv.ParseInt(p.Position, 10, 64)
		if err != nil || position < 1 {
			return detail{}, fault.New(fault.NotFound, fault.CodeEventNotFound, "%.32q is not a position in the log, such as 1204",
				terminal.Clean(p.Position))
		}
		d, err := l.lookup(ctx, position)
		if err != nil {
			return d, err
		}
		d.names, err = operate.AccountNames(ctx, l.Pool)
		return d, err
	},
	Show: func(out *terminal.Printer, _ showParams, d detail) { report.Entry(out, d.Entry, d.names, d.cause) },
}.Untyped()

type typesParams struct {
	Whole bool `name:"whole" help:"count the events of the whole log, which may take long"`
}

var types = action.Of[Service, typesParams, counts]{
	Spec: action.Spec{
		ID: "adminEventTypes", Route: "GET /events/types", Schema: "AdminEventTypes",
		Summary: "List the types of events and how often each is recorded among the newest million positions, or in the whole log " +
			"with whole=true.",
		Commands: []action.Command{{
			Use: "types", Short: "List the types of events, with their meaning and the number of recorded events",
			Long: `List the types of events that this version knows, and recorded types that it does not know. The
command counts the newest million positions of the log; with --whole, all of them.`,
		}},
	},
	Do: func(ctx context.Context, l Service, p typesParams, _ operate.Attribution) (counts, error) {
		return l.count(ctx, p.Whole)
	},
	Show: func(out *terminal.Printer, _ typesParams, c counts) {
		report.Types(out, c.Types)
		if !c.Whole {
			out.Line(fmt.Sprintf("counted from position %d on; count all events with --whole", c.Low), terminal.Faint)
		}
	},
}.Untyped()
