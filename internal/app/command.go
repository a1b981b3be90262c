// Package app is the composition root: the command line, and the construction of
// each role from its parts. It is the only package that knows every implementation.
package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/config"
)

// Version is the release, set at link time; a build from source says so.
var Version = "dev"

// shell is what every command is given: the configuration and where to write.
type shell struct {
	cfg      config.Config
	cfgErr   error
	out, err io.Writer
	lookup   func(string) (string, bool)
}

// Command returns the whole command line. lookup reads the environment (os.LookupEnv).
func Command(stdout, stderr io.Writer, lookup func(string) (string, bool)) *cobra.Command {
	s := &shell{out: stdout, err: stderr, lookup: lookup}
	s.cfg, s.cfgErr = config.Load(lookup)
	root := &cobra.Command{
		Use:   "millrace",
		Short: "Durable jobs for node graphs: one binary, one base URL",
		Long: `Millrace runs ComfyUI-format node graphs as durable jobs.

An accepted job survives the crash of any process. Every step is a recorded fact
that can be inspected, replayed and retried. Existing clients work by changing
their base URL.

Start with:  millrace dev`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(s.cfgErr, refuseEmpty(cmd))
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentFlags().StringVar(&s.cfg.Logs, "log", s.cfg.Logs, "log level: debug, info, warn or error (MILLRACE_LOG)")
	root.PersistentFlags().StringVar(&s.cfg.LogFormat, "log-format", s.cfg.LogFormat, "log format: text or json (MILLRACE_LOG_FORMAT)")
	root.AddCommand(s.devCommand(), s.serveCommand(), s.migrateCommand(), s.viewsCommand(),
		s.accountsCommand(), s.keysCommand(), s.historiesCommand(), s.nodesCommand(), s.versionCommand())
	root.AddCommand(s.modelsCommand(), s.simCommand())
	root.AddCommand(s.jobsCommand(), s.callsCommand(), s.assetsCommand(), s.eventsCommand(), s.queueCommand(), s.webhooksCommand(), s.doctorCommand())
	finish(root)
	return root
}

func (s *shell) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and what it was built with", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			revision := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						revision = setting.Value
					}
				}
			}
			_, err := fmt.Fprintf(s.out, "millrace %s (%s, %s/%s, revision %s)\n", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, revision)
			return err
		},
	}
}

// logger returns the process's logger as configured.
func (s *shell) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.cfg.Logs)); err != nil {
		return nil, fmt.Errorf("log level %q is not one of debug, info, warn, error", s.cfg.Logs)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.cfg.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(s.err, opts)), nil
	case "text":
		return slog.New(slog.NewTextHandler(s.err, opts)), nil
	default:
		return nil, fmt.Errorf("log format %q is neither text nor json", s.cfg.LogFormat)
	}
}
