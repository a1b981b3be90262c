package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config/version"
)

func versionCommand(s *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and what it was built with", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(s.Out, versionText())
			return err
		},
	}
}

// versionText is the answer to --version and to the command version.
func versionText() string {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	return fmt.Sprintf("millrace %s (%s, %s/%s, revision %s)\n", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, revision)
}
