// Package accounts holds the commands on accounts, their keys, their credit and their limits.
package accounts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
)

// Command returns the commands on accounts.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accounts",
		Short: "Create, list and change accounts (--auth keys)",
		Long: `Accounts own jobs, files and API keys; an account cannot see those of another. The tier of an
account determines how many of its jobs run at the same time: free 0, standard 1, creator 3, pro 5,
unless MILLRACE_TIER_SLOTS sets other numbers. An account that was granted credit needs credit to submit.`,
		Example: `  millrace accounts create acme --tier creator
  millrace keys create --account acme
  millrace accounts set acme --tier pro --reason "upgrade, invoice 17"
  millrace accounts models acme --allow 'bfl/*' --reason "contract of May"
  millrace accounts labels acme --allow sdxl --reason "contract of May"
  millrace accounts storage acme --limit 50GiB --reason "contract of May"
  millrace accounts credit acme --amount 25 --reason "trial"
  millrace accounts ledger acme`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(createAccountCommand(s), listAccountsCommand(s), showAccountCommand(s), accountStorageCommand(s), changeAccountCommand(s), accountModelsCommand(s), labelsCommand(s), creditCommand(s), ledgerCommand(s))
	return cmd
}

func createAccountCommand(s *shell.Shell) *cobra.Command {
	tier, reason := string(account.TierStandard), ""
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create an account and print its id", Args: cobra.ExactArgs(1),
		RunE: onAccounts(s, func(ctx context.Context, o accounts.Service, args []string) error {
			t, err := account.ParseTier(tier)
			if err != nil {
				return err
			}
			a, err := o.Create(ctx, args[0], t, by(reason))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Out, a.ID)
			return err
		}),
	}
	cmd.Flags().StringVar(&tier, "tier", tier, "tier: free, standard, creator, pro or local")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

func listAccountsCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List accounts, with their stored bytes and storage limits", Args: cobra.NoArgs,
		RunE: onAccounts(s, func(ctx context.Context, o accounts.Service, _ []string) error {
			all, err := o.Accounts(ctx)
			if err != nil {
				return err
			}
			kept, err := o.AllStorage(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(listedAccounts(s, all, kept))
			}
			w := shell.NewTable(s.Out, "NAME", "ID", "TIER", "ACTIVE", "KEEPS", "LIMIT", "CREATED")
			for _, a := range all {
				w.Row(terminal.Clean(a.Name), a.ID, a.Tier, activity(a),
					account.Size(kept[a.ID].Bytes), formatLimit(s, a), a.CreatedAt.Format(time.RFC3339))
			}
			return w.Flush()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// activity returns whether an account may submit. An account that is suspended accepts none of its keys.
func activity(a account.Account) string {
	if a.Suspended {
		return "suspended"
	}
	return strconv.FormatBool(a.Active)
}

// listedAccount is an account in a list in JSON.
type listedAccount struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Tier      account.Tier `json:"tier"`
	Active    bool         `json:"active"`
	Suspended bool         `json:"suspended"`
	Bytes     int64        `json:"bytes"`
	Limit     int64        `json:"limit_bytes"` // 0 = no limit
	CreatedAt time.Time    `json:"created_at"`
}

func listedAccounts(s *shell.Shell, all []account.Account, kept map[string]account.Storage) []listedAccount {
	shown := make([]listedAccount, len(all))
	for i, a := range all {
		shown[i] = listedAccount{a.ID, a.Name, a.Tier, a.Active, a.Suspended, kept[a.ID].Bytes, a.StorageLimit(s.Config.AccountLimit), a.CreatedAt}
	}
	return shown
}

// by returns the operator who runs a command, with the given reason.
func by(reason string) operate.Attribution {
	return operate.Attribution{Actor: shell.Operator(), Reason: reason}
}

// onAccounts calls work with the operators' service for accounts.
func onAccounts(s *shell.Shell, run func(context.Context, accounts.Service, []string) error) func(*cobra.Command, []string) error {
	return s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
		events, err := shell.EventStore(pool)
		if err != nil {
			return err
		}
		return run(ctx, accounts.New(pool, events, accountstore.NewStorage(pool, s.Config.AccountLimit)), args)
	})
}

// onAccount does the work of onAccounts for the account that the command's first argument names.
func onAccount(s *shell.Shell, run func(context.Context, accounts.Service, account.Account) error) func(*cobra.Command, []string) error {
	return onAccounts(s, func(ctx context.Context, o accounts.Service, args []string) error {
		a, err := o.Named(ctx, args[0])
		if err != nil {
			return err
		}
		return run(ctx, o, a)
	})
}
