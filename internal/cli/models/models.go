// Package models holds the commands on the catalog of models.
package models

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// Command returns the commands on the catalog of models.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "models [ID]", Short: "List the models of the catalog, or describe one", Args: cobra.MaximumNArgs(1),
		Long: `List the models of the catalog: the built-in ones and those of MILLRACE_CATALOG. A model is enabled
if its credential is set in the environment.`,
		Example: "  millrace models\n  millrace models bfl/flux-2-pro\n  millrace models check ./models",
		RunE: func(_ *cobra.Command, args []string) error {
			snapshot, err := load(s, nil)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listModels(s.Out, snapshot, config.Credentials(s.Lookup))
			}
			m, ok := snapshot.Find(args[0])
			if !ok {
				near := snapshot.Suggest(args[0], func(*catalog.Model) bool { return true })
				return fmt.Errorf("model %q does not exist%s", args[0], suggestion(near))
			}
			return describeModel(s.Out, m, config.Credentials(s.Lookup))
		},
	}
	cmd.AddCommand(checkModels(s))
	return cmd
}

func checkModels(s *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "check DIR...", Short: "Check catalog files, with the line and field of every mistake", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error {
			snapshot, err := load(s, dirs)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "no mistakes: %d models, including the built-in ones\n", len(snapshot.Models()))
			return err
		},
	}
}

// load reads the catalog with further directories. The simulator's models are always included.
func load(s *shell.Shell, dirs []string) (*catalog.Snapshot, error) {
	r := s.Config.Router
	simulator := r.Simulator
	simulator = cmp.Or(simulator, "http://127.0.0.1")
	c, err := catalog.Load(catalog.Options{Dirs: append(append([]string{}, r.Catalog...), dirs...), Bases: r.Bases, Simulator: simulator})
	if err != nil {
		return nil, err
	}
	return c.Snapshot(), nil
}

func suggestion(near []string) string {
	if len(near) == 0 {
		return "; `millrace models` lists all"
	}
	return ", perhaps " + strings.Join(near, " or ")
}

func listModels(out io.Writer, s *catalog.Snapshot, lookup func(string) (string, bool)) error {
	w := terminal.NewColumns(out, "MODEL", "PROTOCOL", "TITLE", "ENABLED")
	for _, m := range s.Models() {
		w.Row(m.ID, m.Protocol, m.Title, enabled(m, lookup))
	}
	return w.Flush()
}

func enabled(m *catalog.Model, lookup func(string) (string, bool)) string {
	if missing := m.Missing(lookup); len(missing) > 0 {
		return "set " + strings.Join(missing, ", ")
	}
	return "yes"
}

func describeModel(out io.Writer, m *catalog.Model, lookup func(string) (string, bool)) error {
	hosting := "not copied: answers keep the provider's addresses"
	if m.Hosted() {
		hosting = fmt.Sprintf("%s, for %s", strings.Join(m.Hosting.Assets, ", "), m.Hosting.Lifetime)
	}
	_, err := fmt.Fprintf(out, "%s: %s\n\nprovider   %s\nprotocol   %s\nenabled    %s\nhosted     %s\nrefusals   charged: %s\ndocs       "+
		"%s\nexample    %s\n",
		m.ID, m.Title, m.Base, m.Protocol, enabled(m, lookup), hosting, m.Billing.ChargesOnPolicyRejection, cmp.Or(m.Docs, "-"),
		cmp.Or(string(m.Example), "-"))
	return err
}
