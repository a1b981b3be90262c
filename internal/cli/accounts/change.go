package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

func changeAccountCommand(s *shell.Shell) *cobra.Command {
	var tier, reason string
	var inactive, suspended bool
	cmd := &cobra.Command{
		Use: "set ACCOUNT", Short: "Change an account's tier and subscription, or suspend it", Args: cobra.ExactArgs(1),
		Long: `Change an account's tier and subscription, or suspend it. The change is in force from the next request
on, in every process; running jobs continue. A suspended account's keys and tokens are refused. The change
is recorded with its actor and reason.`,
		Example: `  millrace accounts set acme --tier pro --reason "upgrade, invoice 17"
  millrace accounts set acme --inactive --reason "unpaid"
  millrace accounts set acme --inactive=false
  millrace accounts set acme --suspended --reason "abuse, ticket 4"`,
	}
	cmd.RunE = onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) (err error) {
		c := account.Change{Account: a.ID, Tier: account.Tier(tier), Actor: shell.Operator(), Reason: reason}
		if cmd.Flags().Changed("inactive") {
			active := !inactive
			c.Active = &active
		}
		if cmd.Flags().Changed("suspended") {
			c.Suspend = &suspended
		}
		if c.Tier == "" && c.Active == nil && c.Suspend == nil {
			return errors.New("nothing to change: give --tier, --inactive or --suspended")
		}
		if a, err = o.Change(ctx, c); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s: tier %s, active %t, suspended %t\n", a.Name, a.Tier, a.Active, a.Suspended)
		return err
	})
	cmd.Flags().StringVar(&tier, "tier", tier, "tier: free, standard, creator, pro or local; default: unchanged")
	cmd.Flags().BoolVar(&inactive, "inactive", inactive, "mark the subscription as lapsed: the account can read but not submit; --inactive=false renews it")
	cmd.Flags().BoolVar(&suspended, "suspended", suspended, "refuse every key and token of the account; --suspended=false accepts them again")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

func creditCommand(s *shell.Shell) *cobra.Command {
	var amount, reason string
	cmd := &cobra.Command{
		Use: "credit ACCOUNT --amount USD --reason TEXT", Short: "Give an account credit, in US dollars", Args: cobra.ExactArgs(1),
		Long: `Give an account credit, in US dollars. The first grant, which may be 0, makes the account metered:
from then on it needs credit to submit. A negative amount is a correction; it cannot take more than
the available credit.`,
		Example: `  millrace accounts credit acme --amount 25 --reason "trial"
  millrace accounts credit acme --amount -2.50 --reason "booked twice"`,
		RunE: onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) error {
			micros, err := credit.ParseDollars(amount)
			if err != nil {
				return err
			}
			b, err := o.Grant(ctx, a.ID, micros, by(reason))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Out, balanceLine(a.Name, b))
			return err
		}),
	}
	cmd.Flags().StringVar(&amount, "amount", amount, "amount in US dollars, such as 25 or 0.05")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

func balanceLine(name string, b credit.Balance) string {
	if !b.Metered {
		return name + ": not metered"
	}
	return fmt.Sprintf("%s: %s USD available (%s credits), %s reserved, %s spent, %s granted", name,
		credit.Dollars(b.Available), credit.Credits(b.Available), credit.Dollars(b.Held), credit.Dollars(b.Settled), credit.Dollars(b.Granted))
}

func ledgerCommand(s *shell.Shell) *cobra.Command {
	var asJSON, rebuild bool
	cmd := &cobra.Command{
		Use: "ledger ACCOUNT", Short: "Show an account's credit, event by event", Args: cobra.ExactArgs(1),
		Long: `Show the credit that was granted to an account, reserved, spent and released, and check that the
stored balance equals the sum of the events. With --rebuild, the balance is first computed again from them.`,
		RunE: onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) error {
			if rebuild {
				if err := o.RebuildLedger(ctx, a.ID); err != nil {
					return err
				}
			}
			return showLedger(ctx, s, o, a, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", rebuild, "first compute the stored balance again from the events")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func showLedger(ctx context.Context, s *shell.Shell, o accounts.Service, a account.Account, asJSON bool) error {
	entries, folded, b, err := o.Ledger(ctx, a.ID)
	if err != nil {
		return err
	}
	if asJSON {
		if err := s.PrintJSON(map[string]any{"account": a.ID, "name": a.Name, "balance": b, "entries": entries}); err != nil {
			return err
		}
	} else if err := printLedger(s, a.Name, b, entries); err != nil {
		return err
	}
	if now, err := o.Balance(ctx, a.ID); err == nil && now == b && b != folded {
		return fmt.Errorf("the stored balance differs from the sum of the events (%s USD available): run `millrace accounts ledger %s --rebuild`",
			credit.Dollars(folded.Available), a.Name)
	}
	return nil
}

func printLedger(s *shell.Shell, name string, b credit.Balance, entries []accounts.Entry) error {
	w := shell.NewTable(s.Out, "TIME", "EVENT", "USD", "AVAILABLE", "HOLD", "BY", "REASON")
	for _, e := range entries {
		w.Row(e.At.UTC().Format(time.DateTime), e.Event, credit.Dollars(e.Micros),
			credit.Dollars(e.Available), terminal.Clean(e.Hold), terminal.Clean(e.Actor), terminal.Clean(e.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Out, balanceLine(name, b))
	return err
}
