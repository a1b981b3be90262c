// Package servers holds the commands that register ComfyUI servers, list, drain, resume and remove them.
package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Command returns the command `millrace servers`.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "Register ComfyUI servers, list, drain, resume and remove them",
		Long: `Register ComfyUI servers, list, drain, resume and remove them. A server runs the parts of graphs whose
classes are not native. A change is in force at once in every process, survives restarts, and is recorded
with its actor and reason. REF is an id or an address.

  healthy   answers, and is idle
  busy      answers, and runs prompts
  away      does not answer
  refused   cannot be used; the list contains the reason
  draining  finishes its segments and gets no new ones`,
		Example: `  millrace servers add http://10.0.0.7:8188 --label sdxl --reason "second GPU"
  millrace servers list
  millrace servers drain http://10.0.0.7:8188 --reason "driver update"`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(add(s), list(s), showOne(s), change(s, "drain", "Let a server finish its segments, and send it no new ones"),
		change(s, "resume", "Send segments to a drained server again"), change(s, "remove", "Remove a server; its running segments finish"), tokens(s), usage(s))
	return cmd
}

// onServers calls work with the service of the deployment.
func onServers(s *shell.Shell, work func(ctx context.Context, o *servers.Service, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return s.Opened(cmd.Context(), func(in *app.Instance) error {
			o, err := in.OperatedServers()
			if err != nil {
				return err
			}
			return work(cmd.Context(), o, args)
		})
	}
}

var errNoReason = errors.New("--reason is missing: it is recorded with the change")

func attribution(reason string) (operate.Attribution, error) {
	if strings.TrimSpace(reason) == "" {
		return operate.Attribution{}, errNoReason
	}
	return operate.Attribution{Actor: shell.Operator(), Reason: reason}, nil
}

func add(s *shell.Shell) *cobra.Command {
	var r servers.Request
	var reason string
	var headers []string
	var price string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "add URL [--label NAME]… --reason TEXT", Short: "Register a server", Args: cobra.ExactArgs(1),
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, args []string) error {
			by, err := attribution(reason)
			if err != nil {
				return err
			}
			if r.Headers, err = parseHeaders(headers); err != nil {
				return err
			}
			if r.Price, err = dollars(price); err != nil {
				return err
			}
			r.URL = args[0]
			v, err := o.Add(ctx, r, by)
			if err != nil {
				return err
			}
			return print(s, asJSON, v)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&r.Labels, "label", nil, "label that jobs may request; may be repeated")
	f.IntVar(&r.Slots, "slots", 1, "segments that the server runs at the same time")
	f.StringArrayVar(&headers, "header", nil, `header for a proxy in front of it, "NAME: VALUE"; encrypted when stored`)
	f.StringVar(&price, "price", "", "price of a second for metered accounts, in US dollars, such as 0.0005")
	f.DurationVar(&r.ExpiresIn, "expires-in", 0, "remove the server unless it is added again within this time; 0 = never")
	f.StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// dollars parses the price of a second.
func dollars(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	micros, err := credit.ParseDollars(text)
	if err != nil {
		return 0, fmt.Errorf("--price takes US dollars for a second, such as 0.0005, not %q", terminal.Clean(text))
	}
	return micros, nil
}

func parseHeaders(lines []string) (map[string]string, error) {
	if len(lines) == 0 {
		return nil, nil //nolint:nilnil // no headers
	}
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, errors.New(`--header takes "NAME: VALUE"`)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}

func list(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the servers with the result of their last check", Args: cobra.NoArgs,
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, _ []string) error {
			all, err := o.List(ctx)
			if err != nil {
				return err
			}
			return print(s, asJSON, all...)
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func showOne(s *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show REF", Short: "Show a server in detail", Args: cobra.ExactArgs(1),
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, args []string) error {
			v, err := o.Show(ctx, args[0])
			if err != nil {
				return err
			}
			return s.PrintJSON(v)
		}),
	}
}

func change(s *shell.Shell, verb, short string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: verb + " REF --reason TEXT", Short: short, Args: cobra.ExactArgs(1),
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, args []string) error {
			by, err := attribution(reason)
			if err != nil {
				return err
			}
			v, err := o.Change(ctx, verb, args[0], by)
			if err != nil {
				return err
			}
			if verb == "remove" {
				_, err = fmt.Fprintf(s.Out, "removed %s\n", terminal.Clean(v.URL))
				return err
			}
			return print(s, false, v)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

// print lists servers, one on each line.
func print(s *shell.Shell, asJSON bool, all ...servers.View) error {
	if asJSON {
		if all == nil {
			all = []servers.View{}
		}
		return s.PrintJSON(all)
	}
	w := shell.NewTable(s.Out, "URL", "STATE", "VERSION", "DEVICE", "MEMORY", "RUNS", "WAITING", "LABELS", "SEEN", "PROBLEM")
	for _, v := range all {
		device, memory, seen := "-", "-", "-"
		if len(v.Devices) > 0 {
			device = v.Devices[0].Name
		}
		if free, total := v.Memory(); total > 0 {
			memory = fmt.Sprintf("%.1f of %.1f GB free", float64(free)/1e9, float64(total)/1e9)
		}
		if v.SeenAt != nil {
			seen = v.SeenAt.UTC().Format(time.DateTime)
		}
		w.Row(terminal.Clean(v.URL), v.State, terminal.Clean(shell.OrDash(v.Version)), terminal.Clean(device),
			memory, v.Running, v.Pending, shell.OrDash(strings.Join(v.Labels, ",")), seen, terminal.Clean(shell.OrDash(v.Problem)))
	}
	return w.Flush()
}
