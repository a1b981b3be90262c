package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
)

func labelsCommand(s *shell.Shell) *cobra.Command {
	var allow []string
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "labels ACCOUNT", Short: "Show or change which labels of ComfyUI servers an account's jobs may ask for", Args: cobra.ExactArgs(1),
		Long: `Show or change which labels of ComfyUI servers an account's jobs may ask for (extra_data.millrace.labels).
A list replaces the one before; all = every label, which is what an account without a list may ask for; none = no
label. A submission that asks for another one is refused. It counts from the next submission on, in every process;
who did so and why is recorded.`,
		Example: `  millrace accounts labels acme
  millrace accounts labels acme --allow sdxl --allow eu --reason "contract of May"
  millrace accounts labels acme --allow none --reason "shared servers only"`,
	}
	cmd.RunE = onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) (err error) {
		if cmd.Flags().Changed("allow") {
			if reason == "" {
				return errors.New("a change needs a reason: --reason TEXT")
			}
			c := account.Change{Account: a.ID, Labels: &account.Labels{Allowed: wordList(allow)}, Actor: shell.Operator(), Reason: reason}
			if a, err = o.Change(ctx, c); err != nil {
				return err
			}
		}
		if asJSON {
			return s.PrintJSON(map[string]any{"account": a.ID, "name": a.Name, "labels": a.Labels.Allowed})
		}
		_, err = fmt.Fprintf(s.Out, "%s: may ask for %s\n", a.Name, listWords(a.Labels.Allowed))
		return err
	})
	cmd.Flags().StringSliceVar(&allow, "allow", nil, "labels that its jobs may ask for: names, all or none")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
