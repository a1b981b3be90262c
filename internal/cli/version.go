package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

func versionCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version and what it was built with", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			return s.Print(asJSON, b, func(p *terminal.Printer) { p.Printf("%s", b) })
		},
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// build describes the binary.
type build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision"` // of the source; "unknown" if it was built without one
}

func thisBuild() build {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	return build{version.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, revision}
}

// String is the answer to --version, and to the command version for people.
func (b build) String() string {
	return fmt.Sprintf("millrace %s (%s, %s, revision %s)\n", b.Version, b.Go, b.Platform, b.Revision)
}
