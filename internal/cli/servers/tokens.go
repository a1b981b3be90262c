package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/operate/servers"
)

func tokens(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Create, list and revoke the tokens with which machines register themselves",
		Long: `Create, list and revoke the tokens with which machines register themselves as servers, for example machines
that an autoscaler starts. A token may only register servers that expire, and renew them (POST /admin/servers):
the requesting machine, by its address, or the hosts for which the token was created. It is shown once, when it
is created; only its hash is stored. REF is an id or a name.`,
		Example: `  millrace servers tokens create autoscaler --reason "GPU group in eu-west"
  millrace servers tokens create cluster --host 10.0.3.0/24 --host '*.gpu.internal' --reason "behind a NAT"
  millrace servers tokens list
  millrace servers tokens revoke autoscaler --reason "leaked"`,
	}
	cmd.AddCommand(createToken(s), listTokens(s), revokeToken(s))
	return cmd
}

func createToken(s *shell.Shell) *cobra.Command {
	var reason, price string
	var hosts []string
	cmd := &cobra.Command{
		Use: "create NAME [--host HOST]… --reason TEXT", Short: "Create a token and print it, once", Args: cobra.ExactArgs(1),
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, args []string) error {
			by, err := attribution(reason)
			if err != nil {
				return err
			}
			micros, err := dollars(price)
			if err != nil {
				return err
			}
			secret, t, err := o.AddToken(ctx, servers.TokenRequest{Name: args[0], Hosts: hosts, Price: micros}, by)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "registration token %s, which is shown only once:\n%s\n", t.Name, secret)
			return err
		}),
	}
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "address, network, name or *.DOMAIN of machines that it may register; may be repeated; default: the requesting machine")
	cmd.Flags().StringVar(&price, "price", "", "price of a second on its servers for metered accounts, in US dollars, such as 0.0005")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

func listTokens(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens by their first characters", Args: cobra.NoArgs,
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, _ []string) error {
			all, err := o.Tokens(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(append([]server.Token{}, all...))
			}
			w := shell.NewTable(s.Out, "NAME", "TOKEN", "HOSTS", "ID", "CREATED", "LAST USED", "REVOKED")
			for _, t := range all {
				w.Row(t.Name, t.Prefix+"…", hostsOf(t), t.ID, shell.When(&t.CreatedAt), shell.When(t.LastUsed), shell.When(t.RevokedAt))
			}
			return w.Flush()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// hostsOf describes the hosts that a token may register.
func hostsOf(t server.Token) string {
	if len(t.Hosts) == 0 {
		return "itself"
	}
	return strings.Join(t.Hosts, ",")
}

func revokeToken(s *shell.Shell) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke REF --reason TEXT", Short: "Revoke a token at once; the servers that it registered expire", Args: cobra.ExactArgs(1),
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, args []string) error {
			by, err := attribution(reason)
			if err != nil {
				return err
			}
			t, err := o.RevokeToken(ctx, args[0], by)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "registration token %s is revoked\n", t.Name)
			return err
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}
