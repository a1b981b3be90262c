package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// diff returns the command `millrace nodes diff`.
func diff(s *shell.Shell) *cobra.Command {
	var addresses []string
	asJSON := false
	cmd := &cobra.Command{
		Use: "diff [CLASS]…", Short: "Compare native classes with those of ComfyUI servers",
		Long: `Compare the definitions of native classes with those of ComfyUI servers that have the same classes: inputs,
their types, bounds and choices, and outputs. Without --server, all registered servers are compared. A server
that does not answer is reported as an error, after the differences of the others.`,
		Example: "  millrace nodes diff\n  millrace nodes diff ImageScale --server http://127.0.0.1:8188",
		RunE: func(cmd *cobra.Command, classes []string) error {
			report := func(members []catalogue.Member) error {
				found, compared, err := differences(cmd.Context(), members, classes)
				switch {
				case err != nil && compared == 0:
					return err
				case asJSON:
					return errors.Join(s.PrintJSON(found), err)
				}
				return errors.Join(writeDifferences(s.Out, found, compared), err)
			}
			if len(addresses) == 0 {
				return s.Opened(cmd.Context(), func(in *app.Instance) error { return report(in.Members()) })
			}
			var members []catalogue.Member
			for _, address := range addresses {
				c, err := comfyui.New(address, comfyui.Options{})
				if err != nil {
					return err
				}
				members = append(members, catalogue.Member{Address: c.Address(), Server: c})
			}
			return report(members)
		},
	}
	cmd.Flags().StringArrayVar(&addresses, "server", nil, "address of a server (repeatable)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// difference is a difference of a class on one server.
type difference struct {
	Class   string `json:"class"`
	Address string `json:"address"`
	catalogue.Difference
}

// differences compares the named native classes, or all, with those of the servers. It returns the number of compared
// servers, and the errors of the others.
func differences(ctx context.Context, members []catalogue.Member, only []string) (found []difference, compared int, err error) {
	native, err := standard.Registry(&ffmpeg.Tool{}) // classes of ffmpeg are compared even if it is not installed
	if err != nil {
		return nil, 0, err
	}
	found = []difference{}
	var failed []error
	for _, m := range members {
		differ, err := ofServer(ctx, native, m, only)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.Address, err))
			continue
		}
		found, compared = append(found, differ...), compared+1
	}
	return found, compared, errors.Join(failed...)
}

// ofServer compares native classes with those of one server.
func ofServer(ctx context.Context, native *node.Registry, m catalogue.Member, only []string) ([]difference, error) {
	remote, err := m.Server.Classes(ctx, "")
	if err != nil {
		return nil, err
	}
	var found []difference
	for _, c := range native.Classes() {
		definition, there := remote.Definitions[c.Name]
		if !there || len(only) > 0 && !slices.Contains(only, c.Name) {
			continue
		}
		own, err := define(ctx, native, c.Name)
		if err != nil {
			return nil, err
		}
		differ, err := catalogue.Diff(own, definition)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", c.Name, err)
		}
		for _, d := range differ {
			found = append(found, difference{c.Name, m.Address, d})
		}
	}
	return found, nil
}

func define(ctx context.Context, classes *node.Registry, name string) (json.RawMessage, error) {
	definitions, err := classes.Definitions(ctx, nil, name)
	if err != nil {
		return nil, err
	}
	return json.Marshal(definitions[0])
}

func writeDifferences(out io.Writer, found []difference, servers int) error {
	if len(found) == 0 {
		_, err := fmt.Fprintf(out, "No differences on %d servers.\n", servers)
		return err
	}
	w := terminal.NewColumns(out, "CLASS", "SERVER", "WHAT", "NATIVE", "ON THE SERVER")
	for _, d := range found {
		w.Row(d.Class, d.Address, d.What, d.Native, d.Server)
	}
	return w.Flush()
}
