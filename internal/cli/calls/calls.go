// Package calls holds the commands on model calls.
package calls

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/show"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	operatecalls "github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/projections/usage"
)

var printedCalls = show.Commands[call.Call]{Kind: records.Calls, Print: printCall}

// Command returns the commands on model calls.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "List model calls, and show the history of one",
		Long: `Show the history of a model call, from its recorded events. An ID may be shortened to its
first characters, at least four, if no other call's ID begins with them.`,
		Example: `  millrace calls list --status failed,unknown
  millrace calls show 62e89ef5
  millrace calls timeline 62e89ef5
  millrace calls show 62e89ef5 --workflow
  millrace calls usage --since 168h
  millrace calls reconcile 62e89ef5 --charged 0.04 --reason "seen on the provider's bill"`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listCalls(s), printedCalls.Show(s), printedCalls.Events(s), printedCalls.Timeline(s), printedCalls.Diff(s), callUsage(s),
		reconcileCall(s), replayCalls(s))
	return cmd
}

func listCalls(s *shell.Shell) *cobra.Command {
	var asJSON bool
	f := operatecalls.Filter{Limit: 20}
	cmd := &cobra.Command{
		Use: "list", Short: "List model calls, newest first", Args: cobra.NoArgs,
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, _ []string) error {
			names, err := operate.AccountNames(ctx, pool)
			if err != nil {
				return err
			}
			if err := records.LimitOf(f.Limit, operatecalls.MaxListed); err != nil {
				return err
			}
			page, err := operatecalls.List(ctx, pool, names, f)
			if err != nil {
				return err
			}
			// An empty list is [], not null.
			return s.Print(asJSON, append([]call.Call{}, page.Calls...), func(p *terminal.Printer) { printCalls(p, page.Calls, names) })
		}),
	}
	cmd.Flags().StringSliceVar(&f.States, "status", nil,
		"parked, admitted, dispatching, running, answered, succeeded, failed, canceled, unknown; any of several")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; default: all")
	cmd.Flags().StringVar(&f.Model, "model", "", "<provider>/<model>; default: any")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "maximum number, up to 1,000")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printCalls(p *terminal.Printer, found []call.Call, names map[string]string) {
	if len(found) == 0 {
		p.Line("no call matches", terminal.Faint)
		return
	}
	rows := make([][]terminal.Cell, len(found))
	for i, c := range found {
		name := c.Account
		if names[name] != "" {
			name = names[name]
		}
		rows[i] = []terminal.Cell{
			{Text: string(c.ID)},
			{Text: string(c.State), Style: callStyle(c.State)},
			{Text: c.Model},
			{Text: terminal.Clean(name)},
			{Text: c.AcceptedAt.Format(time.DateTime)},
			{Text: lasted(c), Right: true},
			{Text: dollars(c.Charged), Right: true},
			{Text: remarkOn(c)},
		}
	}
	p.Table([]string{"ID", "STATE", "MODEL", "ACCOUNT", "ACCEPTED", "TOOK", "CHARGED", ""}, rows)
}

func callStyle(s call.State) terminal.Style {
	switch s {
	case call.Succeeded:
		return terminal.Good
	case call.Failed, call.Unknown:
		return terminal.Bad
	case call.Dispatching, call.Running, call.Answered, call.Canceled:
		return terminal.Notice
	case call.Waiting, call.Admitted:
	}
	return terminal.Plain
}

func lasted(c call.Call) string {
	if c.EndedAt == nil {
		return "–"
	}
	return inspect.Span(c.EndedAt.Sub(c.AcceptedAt))
}

func dollars(micros *int64) string {
	if micros == nil {
		return "–"
	}
	return "$" + amount.Dollars(*micros)
}

func remarkOn(c call.Call) string {
	switch {
	case c.Failure != nil:
		return c.Failure.Type
	case c.Detached && !c.State.Final():
		return "its caller has disconnected"
	case c.Canceling && !c.State.Final():
		return "cancel requested"
	}
	return ""
}

func printCall(p *terminal.Printer, c call.Call) {
	p.Field("call", string(c.ID), terminal.Bold)
	p.Field("state", string(c.State), callStyle(c.State))
	p.Field("model", c.Model, terminal.Plain)
	p.Field("account", terminal.Clean(c.Account), terminal.Plain)
	p.Field("delivery", fmt.Sprintf("%s, %s, idempotency key: %t", c.Mode, c.API, c.Keyed), terminal.Plain)
	p.Field("accepted", c.AcceptedAt.Format(time.RFC3339Nano), terminal.Plain)
	for _, m := range []struct {
		name string
		at   *time.Time
	}{{"admitted", c.AdmittedAt}, {"sent", c.SentAt}, {"ended", c.EndedAt}} {
		if m.at != nil {
			p.Field(m.name, fmt.Sprintf("%s (+%s)", m.at.Format(time.RFC3339Nano), inspect.Span(m.at.Sub(c.AcceptedAt))), terminal.Plain)
		}
	}
	p.Field("request", fmt.Sprintf("%d bytes, %s", c.Request.Size, c.Request.Ref), terminal.Plain)
	if c.Answer != nil {
		p.Field("answer", fmt.Sprintf("%d bytes, %s, %s", c.Answer.Size, terminal.Clean(c.Answer.ContentType), c.Answer.Ref), terminal.Plain)
	}
	if c.Handle != "" {
		p.Field("handle", terminal.Clean(c.Handle), terminal.Plain)
	}
	p.Field("held", "$"+amount.Dollars(c.Held), terminal.Plain)
	p.Field("charged", dollars(c.Charged), terminal.Plain)
	if c.Failure != nil {
		p.Field("failure", fmt.Sprintf("%s (%d): %s", c.Failure.Type, c.Failure.Status, terminal.Clean(c.Failure.Detail)), terminal.Bad)
	}
	if c.State == call.Unknown && c.Charged == nil {
		p.Line("The call was sent, and its outcome is unknown. Look it up at the provider, then: millrace calls reconcile", terminal.Notice)
	}
}

func callUsage(s *shell.Shell) *cobra.Command {
	since, account := operatecalls.UsageSince, ""
	var asJSON bool
	cmd := &cobra.Command{
		Use: "usage", Short: "Add up calls and charges by day, account and model", Args: cobra.NoArgs,
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, _ []string) error {
			names, err := operate.AccountNames(ctx, pool)
			if err != nil {
				return err
			}
			days, err := operatecalls.UsedSince(ctx, pool, names, account, since)
			if err != nil {
				return err
			}
			return s.Print(asJSON, days, func(p *terminal.Printer) { printUsage(p, days, names) })
		}),
	}
	cmd.Flags().StringVar(&since, "since", since, "ended in the last 24h, 720h, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().StringVar(&account, "account", "", "name or id of an account; default: all")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printUsage(p *terminal.Printer, days []usage.Day, names map[string]string) {
	rows := make([][]terminal.Cell, len(days))
	for i, d := range days {
		name := d.Account
		if names[name] != "" {
			name = names[name]
		}
		rows[i] = []terminal.Cell{{Text: d.Day.Format(time.DateOnly)}, {Text: terminal.Clean(name)}, {Text: d.Model}}
		for _, n := range []int64{d.Succeeded, d.Failed, d.Canceled, d.Unknown} {
			rows[i] = append(rows[i], terminal.Cell{Text: fmt.Sprint(n), Right: true})
		}
		rows[i] = append(rows[i], terminal.Cell{Text: fmt.Sprint(d.Bytes), Right: true},
			terminal.Cell{Text: "$" + amount.Dollars(d.Charged), Right: true})
	}
	p.Table([]string{"DAY", "ACCOUNT", "MODEL", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN", "BYTES", "CHARGED"}, rows)
}

func reconcileCall(s *shell.Shell) *cobra.Command {
	charged, reason := "", ""
	cmd := &cobra.Command{
		Use:   "reconcile ID --charged DOLLARS --reason WORDS",
		Short: "Settle a call of unknown outcome with the amount that the provider charged",
		Long: `A call that was being sent when its process died is never sent again, and its credit stays
reserved, because it is unknown whether the provider ran the call. Look it up at the provider, then
settle it: with the amount that was charged, or with 0 to release all of the reserved credit.`,
		Args: cobra.ExactArgs(1),
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			micros, err := amount.ParseDollars(charged)
			if err != nil || micros < 0 {
				return fmt.Errorf("--charged takes an amount in US dollars such as 0.04, not %q", charged)
			}
			events, err := shell.EventStore(pool)
			if err != nil {
				return err
			}
			store := callstore.New(pool, events, accountstore.NewCredits(pool, events))
			c, err := operatecalls.Settle(ctx, pool, store, args[0], micros, eventlog.Meta{Actor: shell.Operator(), Reason: reason})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "call %s is settled for $%s\n", c.ID, amount.Dollars(micros))
			return err
		}),
	}
	cmd.Flags().StringVar(&charged, "charged", "", "price that the provider charged, in US dollars")
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	for _, name := range []string{"charged", "reason"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}
