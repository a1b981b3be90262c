package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config"
)

// manCommand returns the command that writes the manual.
func manCommand(s *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each command into a directory",
		Long: `Write the manual pages of all commands, section 1, into a directory, which is
created. The packages for Debian and RPM install them.`,
		Example: "  millrace man ./man1 && man ./man1/millrace-jobs-list.1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			machineless(root)
			header := &doc.GenManHeader{Section: "1", Source: "Millrace", Manual: "Millrace"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the manual: %w", err)
			}
			_, err := fmt.Fprintln(s.Out, "the manual is in "+args[0])
			return err
		},
	}
}

// machineless replaces the defaults that depend on this machine, since a manual is read on another one.
func machineless(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.DefValue == config.Default().DataDir {
				f.DefValue = "~/.local/share/millrace"
			}
		})
	}
	for _, sub := range cmd.Commands() {
		machineless(sub)
	}
}
