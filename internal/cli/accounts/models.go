package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
)

// modelFlags are the flags of an account's access to the model router.
type modelFlags struct {
	allow, deny    []string
	router, reason string
	asJSON         bool
}

func accountModelsCommand(s *shell.Shell) *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "models ACCOUNT", Short: "Show or change the models that an account may use", Args: cobra.ExactArgs(1),
		Long: `Show or change the models that an account may use. A list replaces the previous one: PROVIDER/MODEL,
or PROVIDER/* for all models of a provider; all = every model, none = no model. A denied model is denied
even if another entry allows it. A call of a model that the account may not use is refused with 403, and
the account's lists do not contain the model. The change is in force from the next request on, in every
process, and is recorded with its actor and reason.`,
		Example: `  millrace accounts models acme
  millrace accounts models acme --allow 'bfl/*' --allow openai/gpt-image-2 --reason "contract of May"
  millrace accounts models acme --allow all --deny 'kling/*' --reason "no video"
  millrace accounts models acme --router off --reason "disabled on the owner's request"`,
	}
	cmd.RunE = onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) error {
		access, err := f.change(cmd, a.Access)
		if err != nil {
			return err
		}
		if access != nil {
			c := account.Change{Account: a.ID, Access: access, Actor: shell.Operator(), Reason: f.reason}
			if a, err = o.Change(ctx, c); err != nil {
				return err
			}
		}
		return showAccess(s, a, f.asJSON)
	})
	cmd.Flags().StringSliceVar(&f.allow, "allow", nil, "models that the account may use: PROVIDER/MODEL, PROVIDER/*, all or none")
	cmd.Flags().StringSliceVar(&f.deny, "deny", nil, "exceptions that the account may not use; none = no exceptions")
	cmd.Flags().StringVar(&f.router, "router", "", "on or off: access to the model router as a whole")
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason that is recorded with the change")
	shell.JSONFlag(cmd, &f.asJSON)
	return cmd
}

// change returns the access that the given flags request, or nil if no flag was given.
func (f modelFlags) change(cmd *cobra.Command, now account.Access) (*account.Access, error) {
	given := cmd.Flags().Changed
	if !given("router") && !given("allow") && !given("deny") {
		return nil, nil // without flags, the command only shows the access
	}
	switch {
	case f.reason == "":
		return nil, errors.New("a change needs a reason: --reason TEXT")
	case given("router") && f.router != "on" && f.router != "off":
		return nil, fmt.Errorf("--router takes on or off, not %q", f.router)
	case given("router"):
		now.Off = f.router == "off"
	}
	if given("allow") {
		now.Models = parseList(f.allow)
	}
	if given("deny") {
		if now.Denied = parseList(f.deny); now.Denied == nil {
			return nil, errors.New("to deny every model, allow none: --allow none")
		}
	}
	return &now, nil
}

// parseList reads the list of a flag. The word all gives nil.
func parseList(words []string) []string {
	switch strings.Join(words, ",") {
	case "all":
		return nil
	case "none":
		return []string{}
	}
	return words
}

func showAccess(s *shell.Shell, a account.Account, asJSON bool) error {
	if asJSON {
		return s.PrintJSON(map[string]any{"account": a.ID, "name": a.Name, "router": !a.Access.Off, "allowed": a.Access.Models, "denied": a.Access.Denied})
	}
	router := "on"
	if a.Access.Off {
		router = "off"
	}
	_, err := fmt.Fprintf(s.Out, "%s: router %s, allowed %s, denied %s\n", a.Name, router, formatList(a.Access.Models), formatList(append([]string{}, a.Access.Denied...)))
	return err
}

func formatList(list []string) string {
	switch {
	case list == nil:
		return "all"
	case len(list) == 0:
		return "none"
	}
	return strings.Join(list, " ")
}
