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
		Use: "labels ACCOUNT", Short: "Show or change the labels of ComfyUI servers that an account's jobs may request", Args: cobra.ExactArgs(1),
		Long: `Show or change the labels of ComfyUI servers that an account's jobs may request (extra_data.millrace.labels).
A list replaces the previous one. The word all allows every label, which is the default; none allows no label.
A submission that requests any other label is refused. The change is in force from the next submission on, in
every process, and is recorded with its actor and reason.`,
		Example: `  millrace accounts labels acme
  millrace accounts labels acme --allow sdxl --allow eu --reason "contract of May"
  millrace accounts labels acme --allow none --reason "shared servers only"`,
	}
	cmd.RunE = onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) (err error) {
		if cmd.Flags().Changed("allow") {
			if reason == "" {
				return errors.New("a change needs a reason: --reason TEXT")
			}
			c := account.Change{Account: a.ID, Labels: &account.Labels{Allowed: parseList(allow)}, Actor: shell.Operator(), Reason: reason}
			if a, err = o.Change(ctx, c); err != nil {
				return err
			}
		}
		if asJSON {
			return s.PrintJSON(map[string]any{"account": a.ID, "name": a.Name, "labels": a.Labels.Allowed})
		}
		_, err = fmt.Fprintf(s.Out, "%s: may request %s\n", a.Name, formatList(a.Labels.Allowed))
		return err
	})
	cmd.Flags().StringSliceVar(&allow, "allow", nil, "labels that its jobs may request: names, all or none")
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
