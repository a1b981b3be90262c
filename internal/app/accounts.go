package app

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

func (s *shell) accountsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accounts",
		Short: "Create, list and change accounts (--auth keys)",
		Long: `Accounts own jobs, files and API keys; no account sees another's. A tier says how
many of an account's jobs run at once: free 0, standard 1, creator 3, pro 5, or as
MILLRACE_TIER_SLOTS says. An account that was given credit needs credit to submit.`,
		Example: `  millrace accounts create acme --tier creator
  millrace keys create --account acme
  millrace accounts set acme --tier pro --reason "upgrade, invoice 17"
  millrace accounts models acme --allow 'bfl/*' --reason "contract of May"
  millrace accounts storage acme --limit 50GiB --reason "contract of May"
  millrace accounts credit acme --amount 25 --reason "trial"
  millrace accounts ledger acme`,
	}
	s.databaseFlags(cmd)
	cmd.AddCommand(s.createAccountCommand(), s.listAccountsCommand(), s.showAccountCommand(), s.accountStorageCommand(), s.changeAccountCommand(), s.accountModelsCommand(), s.creditCommand(), s.ledgerCommand())
	return cmd
}

func (s *shell) createAccountCommand() *cobra.Command {
	tier, reason := string(account.TierStandard), ""
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create an account and print its id", Args: cobra.ExactArgs(1),
		RunE: s.changingAccounts(&reason, func(ctx context.Context, store *postgres.RecordedAccounts, args []string) error {
			t, err := account.ParseTier(tier)
			if err != nil {
				return err
			}
			a, err := store.Create(ctx, args[0], t)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.out, a.ID)
			return err
		}),
	}
	cmd.Flags().StringVar(&tier, "tier", tier, "free, standard, creator, pro or local")
	cmd.Flags().StringVar(&reason, "reason", reason, "why, for the record")
	return cmd
}

func (s *shell) listAccountsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List accounts, with the bytes that each keeps and may keep", Args: cobra.NoArgs,
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, _ []string) error {
			all, err := postgres.NewAccounts(pool).Accounts(ctx)
			if err != nil {
				return err
			}
			kept, err := postgres.NewStorage(pool, s.cfg.AccountLimit).All(ctx)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tID\tTIER\tACTIVE\tKEEPS\tLIMIT\tCREATED") //nolint:errcheck // Flush tells
			for _, a := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\t%s\t%s\n", inspect.Clean(a.Name), a.ID, a.Tier, a.Active, //nolint:errcheck // Flush tells
					account.Size(kept[a.ID].Bytes), s.limitWord(a), a.CreatedAt.Format(time.RFC3339))
			}
			return w.Flush()
		}),
	}
}

func (s *shell) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long:  `A key is shown once, when it is created; only its hash is stored.`,
		Example: `  millrace keys create --account acme
  millrace keys create --account acme --scope read`,
	}
	s.databaseFlags(cmd)
	var name string
	cmd.PersistentFlags().StringVar(&name, "account", name, "name of the account")
	cmd.AddCommand(s.createKeyCommand(&name), s.listKeysCommand(&name), s.revokeKeyCommand(&name))
	return cmd
}

func (s *shell) createKeyCommand(name *string) *cobra.Command {
	var names []string
	var reason string
	cmd := &cobra.Command{
		Use: "create --account NAME", Short: "Create a key and print it, once", Args: cobra.NoArgs,
		RunE: s.changingAccounts(&reason, func(ctx context.Context, store *postgres.RecordedAccounts, _ []string) error {
			owner, err := store.AccountByName(ctx, *name)
			if err != nil {
				return err
			}
			key := account.Key{Account: owner.ID}
			for _, n := range names {
				scope, err := account.ParseScope(n)
				if err != nil {
					return err
				}
				key.Scopes = append(key.Scopes, scope)
			}
			secret, _, err := account.Issue(ctx, store, key)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "key of account %s, shown only now:\n%s\n", owner.Name, secret)
			return err
		}),
	}
	cmd.Flags().StringSliceVar(&names, "scope", names, "read, write; default: both")
	cmd.Flags().StringVar(&reason, "reason", reason, "why, for the record")
	return cmd
}

func (s *shell) listKeysCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "list --account NAME", Short: "List keys by their shown beginning", Args: cobra.NoArgs,
		RunE: s.withAccounts(func(ctx context.Context, store *postgres.Accounts, _ []string) error {
			owner, err := store.AccountByName(ctx, *name)
			if err != nil {
				return err
			}
			keys, err := store.Keys(ctx, owner.ID)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tKEY\tSCOPES\tCREATED\tLAST USED\tREVOKED") //nolint:errcheck // Flush tells
			for _, k := range keys {
				fmt.Fprintf(w, "%s\t%s…\t%v\t%s\t%s\t%s\n", k.ID, k.Prefix, k.Scopes, whenOrDash(&k.CreatedAt), whenOrDash(k.LastUsed), whenOrDash(k.RevokedAt)) //nolint:errcheck // Flush tells
			}
			return w.Flush()
		}),
	}
}

func whenOrDash(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func (s *shell) revokeKeyCommand(name *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke --account NAME ID", Short: "End a key at once", Args: cobra.ExactArgs(1),
		RunE: s.changingAccounts(&reason, func(ctx context.Context, store *postgres.RecordedAccounts, args []string) error {
			owner, err := store.AccountByName(ctx, *name)
			if err != nil {
				return err
			}
			return store.RevokeKey(ctx, owner.ID, args[0])
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", reason, "why, for the record")
	return cmd
}

// changingAccounts runs a command on the account store whose changes are recorded as the operator's.
func (s *shell) changingAccounts(reason *string, run func(context.Context, *postgres.RecordedAccounts, []string) error) func(*cobra.Command, []string) error {
	return s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
		events, err := eventStore(pool)
		if err != nil {
			return err
		}
		return run(ctx, postgres.NewAccounts(pool).Recorded(events, eventlog.Meta{Actor: operator(), Reason: *reason}), args)
	})
}

// withAccounts runs a command on the account store of the database in question.
func (s *shell) withAccounts(run func(context.Context, *postgres.Accounts, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		pool, err := s.database(cmd.Context())
		if err != nil {
			return err
		}
		defer pool.Close()
		return run(cmd.Context(), postgres.NewAccounts(pool), args)
	}
}
