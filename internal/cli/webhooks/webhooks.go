// Package webhooks holds the commands on webhooks and their deliveries.
package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
)

// Command returns the commands on webhooks.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Notify accounts of ended jobs and calls; list and replay failed deliveries",
		Long: `An account registers an https address, to which the service sends the outcomes of its jobs and
model calls: signed, at least once, for days if necessary. A message that could not be delivered is
a dead letter until it is replayed or its retention ends. Addresses and secrets are encrypted; lists
show only hosts. The id of a webhook may be shortened to its first characters, at least four.`,
		Example: `  millrace webhooks add https://example.com/hooks --account acme --event 'job.*'
  millrace webhooks test 0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11
  millrace webhooks dead --account acme
  millrace webhooks replay --webhook 0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11 --yes --reason "their outage is over"`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listWebhooks(s), addWebhook(s), rotateWebhook(s), webhookDeliveries(s), deadWebhooks(s), replayWebhooks(s))
	cmd.AddCommand(webhookVerb(s, "remove", "Remove a webhook, with all its deliveries"))
	cmd.AddCommand(webhookVerb(s, "test", "Send a message of type webhook.test"))
	cmd.AddCommand(webhookVerb(s, "enable", "Send new messages to a webhook again"))
	cmd.AddCommand(webhookVerb(s, "disable", "Stop sending messages to a webhook; waiting ones become dead letters"))
	return cmd
}

// onWebhooks opens the services that commands on webhooks need. Addresses are checked by the rules of the running
// service, which sends the messages, or by those of this process if no service runs.
func onWebhooks(s *shell.Shell, work func(ctx context.Context, o *operatewebhooks.Service, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		rules, ok, err := s.RunningRules(cmd.Context())
		if err != nil {
			return err
		}
		if ok {
			s.Config.Webhooks.Allow = rules.WebhookAllow
		}
		return s.Opened(cmd.Context(), func(in *app.Instance) error {
			o, err := in.OperatedWebhooks()
			if err != nil {
				return err
			}
			return work(cmd.Context(), o, args)
		})
	}
}

// shownID is the length of an id in lists where the full id is not needed. Commands accept it.
const shownID = 8

func listWebhooks(s *shell.Shell) *cobra.Command {
	var account string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List webhooks", Args: cobra.NoArgs,
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, _ []string) error {
			of, err := o.Account(ctx, account)
			if err != nil {
				return err
			}
			all, err := o.Webhooks(ctx, of)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(all)
			}
			return printWebhooks(s, all)
		}),
	}
	cmd.Flags().StringVar(&account, "account", "", "name or id of an account; default: all")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printWebhooks(s *shell.Shell, all []operatewebhooks.Webhook) error {
	rows := make([][]terminal.Cell, len(all))
	for i, w := range all {
		state := terminal.Cell{Text: "enabled", Style: terminal.Good}
		if w.Disabled != "" {
			state = terminal.Cell{Text: "disabled: " + string(w.Disabled), Style: terminal.Bad}
		}
		rows[i] = []terminal.Cell{
			{Text: string(w.ID)},
			{Text: terminal.Clean(w.Account)},
			{Text: terminal.Clean(w.Host)},
			state,
			{Text: strings.Join(w.Events, ",")},
			{Text: w.CreatedAt.Format(time.DateTime)},
			{Text: terminal.Clean(w.Description)},
		}
	}
	p := s.Printer()
	p.Table([]string{"ID", "ACCOUNT", "HOST", "STATE", "EVENTS", "CREATED", ""}, rows)
	return p.Err()
}

func addWebhook(s *shell.Shell) *cobra.Command {
	account, reason, description := account.LocalID, "", ""
	var events []string
	cmd := &cobra.Command{
		Use: "add URL", Short: "Register an address, and print its id and its secret, once", Args: cobra.ExactArgs(1),
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, args []string) error {
			of, err := o.Account(ctx, account)
			if err != nil {
				return err
			}
			made, secret, err := o.Register(ctx, of, webhook.Request{URL: &args[0], Events: events, Description: &description}, operate.Attribution{Actor: shell.Operator(), Reason: reason})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "webhook %s; its secret, which is shown only once:\n%s\n", made.ID, secret)
			return err
		}),
	}
	cmd.Flags().StringVar(&account, "account", account, "name or id of the account")
	cmd.Flags().StringSliceVar(&events, "event", nil, "events to send: job.*, call.* or single ones such as job.failed; default: job.*")
	cmd.Flags().StringVar(&description, "description", "", "for people")
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	return cmd
}

func rotateWebhook(s *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Make a new secret and print it, once; the old one also signs for 24 hours", Args: cobra.ExactArgs(1),
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, args []string) error {
			id, err := o.Find(ctx, args[0])
			if err != nil {
				return err
			}
			secret, err := o.Rotate(ctx, id, operate.Attribution{Actor: shell.Operator(), Reason: reason})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Out, secret)
			return err
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	return cmd
}

func webhookVerb(s *shell.Shell, verb, short string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, args []string) error {
			id, err := o.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if err := o.Do(ctx, verb, id, operate.Attribution{Actor: shell.Operator(), Reason: reason}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "%s: %s\n", id, verb)
			return err
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	return cmd
}

// deliveryQuery selects the deliveries of a command.
type deliveryQuery struct {
	account, webhook, state string
	limit                   int
	asJSON                  bool
}

func (q *deliveryQuery) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.account, "account", "", "name or id of an account; default: all")
	cmd.Flags().StringVar(&q.webhook, "webhook", "", "id of a webhook; default: all")
	cmd.Flags().IntVar(&q.limit, "limit", 20, "maximum number, newest first, up to 1,000")
	shell.JSONFlag(cmd, &q.asJSON)
}

func webhookDeliveries(s *shell.Shell) *cobra.Command {
	var q deliveryQuery
	cmd := &cobra.Command{
		Use: "deliveries", Short: "List deliveries, newest first", Args: cobra.NoArgs,
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, _ []string) error {
			return printDeliveries(ctx, s, o, q)
		}),
	}
	q.flags(cmd)
	cmd.Flags().StringVar(&q.state, "status", "", "pending, delivered or dead; default: any")
	return cmd
}

func deadWebhooks(s *shell.Shell) *cobra.Command {
	q := deliveryQuery{state: string(webhook.Dead)}
	cmd := &cobra.Command{
		Use: "dead", Short: "List dead letters: deliveries that were abandoned", Args: cobra.NoArgs,
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, _ []string) error {
			return printDeliveries(ctx, s, o, q)
		}),
	}
	q.flags(cmd)
	return cmd
}

func printDeliveries(ctx context.Context, s *shell.Shell, o *operatewebhooks.Service, q deliveryQuery) (err error) {
	query := webhook.Query{State: webhook.State(q.state), Limit: q.limit}
	if query.Account, err = o.Account(ctx, q.account); err != nil {
		return err
	}
	if q.webhook != "" {
		if query.Webhook, err = o.Find(ctx, q.webhook); err != nil {
			return err
		}
	}
	page, err := o.Deliveries(ctx, query)
	if err != nil {
		return err
	}
	if q.asJSON {
		return s.PrintJSON(operatewebhooks.Deliveries(page.Deliveries))
	}
	styles := map[webhook.State]terminal.Style{webhook.Delivered: terminal.Good, webhook.Dead: terminal.Bad, webhook.Pending: terminal.Notice}
	rows := make([][]terminal.Cell, len(page.Deliveries))
	for i, d := range page.Deliveries {
		rows[i] = []terminal.Cell{
			{Text: d.ID.String()},
			{Text: string(d.State), Style: styles[d.State]},
			{Text: lastAttempt(d)},
			{Text: fmt.Sprint(d.Attempts), Right: true},
			{Text: string(d.Kind)},
			{Text: inspect.Span(time.Since(d.CreatedAt)), Right: true},
			{Text: string(d.Webhook)[:shownID]},
		}
	}
	p := s.Printer()
	p.Table([]string{"ID", "STATUS", "LAST", "TRIES", "TYPE", "AGE", "WEBHOOK"}, rows)
	return p.Err()
}

// lastAttempt describes the outcome of the latest attempt.
func lastAttempt(d webhook.Delivery) string {
	if len(d.Tries) == 0 {
		return "–"
	}
	switch t := d.Tries[len(d.Tries)-1]; {
	case t.Status != 0:
		return fmt.Sprint(t.Status)
	default:
		return string(t.Error)
	}
}

func replayWebhooks(s *shell.Shell) *cobra.Command {
	var endpoint, reason string
	var sure bool
	cmd := &cobra.Command{
		Use: "replay [DELIVERY...]", Short: "Attempt deliveries again: those named, or all dead letters of a webhook",
		Long: `Attempt deliveries again, under their original ids. Without --yes, the dead letters of a webhook are
only counted; with it, they are replayed 1,000 at a time.`,
		RunE: onWebhooks(s, func(ctx context.Context, o *operatewebhooks.Service, args []string) error {
			by := operate.Attribution{Actor: shell.Operator(), Reason: reason}
			if (endpoint == "") == (len(args) == 0) {
				return errors.New("give ids of deliveries or --webhook, not both")
			}
			if endpoint != "" {
				return replayDead(ctx, s, o, endpoint, sure, by)
			}
			for _, text := range args {
				id, err := uuid.Parse(text)
				if err != nil {
					return webhook.ErrNoDelivery()
				}
				if err := o.ReplayOne(ctx, id, by); err != nil {
					return err
				}
				fmt.Fprintf(s.Out, "%s will be attempted again\n", id) //nolint:errcheck // output for people only
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&endpoint, "webhook", "", "id of a webhook, to select all of its dead letters")
	cmd.Flags().BoolVar(&sure, "yes", false, "make the change; without it, dead letters of a webhook are only counted")
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	return cmd
}

func replayDead(ctx context.Context, s *shell.Shell, o *operatewebhooks.Service, endpoint string, sure bool, by operate.Attribution) error {
	id, err := o.Find(ctx, endpoint)
	if err != nil {
		return err
	}
	if !sure {
		page, err := o.Deliveries(ctx, webhook.Query{Webhook: id, State: webhook.Dead, Limit: webhook.MostReplayed})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "would replay %d dead letters; nothing was changed: add --yes\n", len(page.Deliveries))
		return err
	}
	n, err := o.Replay(ctx, id, nil, by)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%d dead letters will be attempted again\n", n)
	return err
}
