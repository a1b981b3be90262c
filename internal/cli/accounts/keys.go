package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Keys returns the commands on API keys.
func Keys(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long:  `A key is shown once, when it is created; only its hash is stored.`,
		Example: `  millrace keys create --account acme
  millrace keys create --account acme --scope read
  millrace keys list --account acme
  millrace keys revoke --account acme 98212ca5-e30c-47d6-9d19-88c1435a7b52 --reason "leaked"`,
	}
	s.DatabaseFlags(cmd)
	var owner string
	cmd.PersistentFlags().StringVar(&owner, "account", owner, "name or id of the account")
	cmd.AddCommand(createKeyCommand(s, &owner), listKeysCommand(s, &owner), revokeKeyCommand(s, &owner))
	return cmd
}

// onKeys calls work with the account that the flag names.
func onKeys(s *shell.Shell, owner *string, run func(context.Context, accounts.Service, account.Account, []string) error) func(*cobra.Command, []string) error {
	work := onAccounts(s, func(ctx context.Context, o accounts.Service, args []string) error {
		a, err := o.Named(ctx, *owner)
		if err != nil {
			return err
		}
		return run(ctx, o, a, args)
	})
	return func(cmd *cobra.Command, args []string) error {
		if *owner == "" {
			return errors.New("--account NAME is missing; see `millrace accounts list`")
		}
		return work(cmd, args)
	}
}

func createKeyCommand(s *shell.Shell, owner *string) *cobra.Command {
	var names []string
	var reason string
	cmd := &cobra.Command{
		Use: "create --account NAME", Short: "Create a key and print it, once", Args: cobra.NoArgs,
		RunE: onKeys(s, owner, func(ctx context.Context, o accounts.Service, a account.Account, _ []string) error {
			var scopes []account.Scope
			for _, n := range names {
				scope, err := account.ParseScope(n)
				if err != nil {
					return err
				}
				if !slices.Contains(scopes, scope) {
					scopes = append(scopes, scope)
				}
			}
			secret, _, err := o.IssueKey(ctx, a.ID, scopes, by(reason))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "key of account %s, which is shown only once:\n%s\n", terminal.Clean(a.Name), secret)
			return err
		}),
	}
	cmd.Flags().StringSliceVar(&names, "scope", names, "scopes of the key: read, write; default: both")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

// listedKey is a key in a list in JSON.
type listedKey struct {
	ID        string          `json:"id"`
	Prefix    string          `json:"prefix"`
	Scopes    []account.Scope `json:"scopes"`
	CreatedAt time.Time       `json:"created_at"`
	LastUsed  *time.Time      `json:"last_used_at,omitempty"` // to within a minute
	RevokedAt *time.Time      `json:"revoked_at,omitempty"`
}

func listKeysCommand(s *shell.Shell, owner *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list --account NAME", Short: "List keys by their first characters", Args: cobra.NoArgs,
		RunE: onKeys(s, owner, func(ctx context.Context, o accounts.Service, a account.Account, _ []string) error {
			keys, err := o.Keys(ctx, a.ID)
			if err != nil {
				return err
			}
			if asJSON {
				shown := make([]listedKey, len(keys))
				for i, k := range keys {
					shown[i] = listedKey{k.ID, k.Prefix, k.Scopes, k.CreatedAt, k.LastUsed, k.RevokedAt}
				}
				return s.PrintJSON(shown)
			}
			w := shell.NewTable(s.Out, "ID", "KEY", "SCOPES", "CREATED", "LAST USED", "REVOKED")
			for _, k := range keys {
				w.Row(k.ID, k.Prefix+"…", k.Scopes, shell.When(&k.CreatedAt), shell.When(k.LastUsed), shell.When(k.RevokedAt))
			}
			return w.Flush()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func revokeKeyCommand(s *shell.Shell, owner *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke --account NAME ID", Short: "Revoke a key at once", Args: cobra.ExactArgs(1),
		RunE: onKeys(s, owner, func(ctx context.Context, o accounts.Service, a account.Account, args []string) error {
			if err := o.RevokeKey(ctx, a.ID, args[0], by(reason)); err != nil {
				return err
			}
			_, err := fmt.Fprintf(s.Out, "key %s of account %s is revoked\n", args[0], terminal.Clean(a.Name))
			return err
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}
