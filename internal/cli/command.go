// Package cli is the command line. It makes the commands of operators from the actions below internal/operate, adds
// those of its sub-packages, and gives all of them their common behaviour. It promises that an error is one line that
// names its remedy, and that no help text and no error contains a secret. The work of the commands is left to
// internal/operate and internal/app.
package cli

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/doctor"
	"github.com/millrace-dev/millrace/internal/cli/histories"
	"github.com/millrace-dev/millrace/internal/cli/models"
	"github.com/millrace-dev/millrace/internal/cli/nodes"
	"github.com/millrace-dev/millrace/internal/cli/service"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/workers"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
)

// Command returns the whole command line. lookup reads the environment (os.LookupEnv).
func Command(stdout, stderr io.Writer, lookup func(string) (string, bool)) *cobra.Command {
	s := &shell.Shell{Out: stdout, Err: stderr, Lookup: lookup}
	s.Config, s.ConfigErr = config.Load(lookup)
	root := &cobra.Command{
		Use:   "millrace",
		Short: "Durable jobs for node graphs: one binary, one base URL",
		Long: `Millrace runs ComfyUI-format node graphs as durable jobs.

An accepted job survives the crash of any process. Every step is a recorded event
that can be inspected, replayed and retried. Existing clients work by changing
their base URL.

Start with:  millrace dev`,
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(s.ConfigErr, refuseEmpty(cmd))
		},
	}
	root.SetVersionTemplate(thisBuild().String())
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentFlags().StringVar(&s.Config.Logs, "log", s.Config.Logs, "log level: debug, info, warn or error (MILLRACE_LOG)")
	root.PersistentFlags().StringVar(&s.Config.LogFormat, "log-format", s.Config.LogFormat, "log format: text or json (MILLRACE_LOG_FORMAT)")
	root.AddCommand(
		service.Dev(s), service.Serve(s), service.Migrate(s), service.Simulator(s),
		histories.Command(s), workers.Command(s), nodes.Command(s), models.Command(s), versionCommand(s), doctor.Command(s),
		group(s, jobs.Actions, onDatabase(jobService)), group(s, calls.Actions, onLog(callService)),
		group(s, assets.Actions, onDatabase(assetService)), group(s, events.Actions, openEvents),
		group(s, views.Actions, onLog(viewService)), group(s, accounts.Actions, onLog(accountService)),
		group(s, accounts.Keys, onLog(accountService)), group(s, queues.Actions, onLog(queueService)),
		group(s, servers.Actions, openServers), group(s, weights.Actions, openWeights), group(s, pools.Actions, openPools),
		group(s, webhooks.Actions, openWebhooks),
		group(s, sessions.Actions, onLog(sessionService)),
		group(s, deployments.Actions, openDeployments), deployCommand(s), manCommand(s),
	)
	arrange(root)
	finish(root)
	return root
}

// sections are the headings of the commands in the help of the program, in order. Commands without a section come last.
var sections = []struct {
	title    string
	commands []string
}{
	{"Run:", []string{"dev", "serve", "migrate", "sim", "man"}},
	{"Graphs and work:", []string{"deploy", "deployments", "jobs", "calls", "assets", "nodes", "models"}},
	{"Accounts:", []string{"accounts", "keys", "sessions", "webhooks"}},
	{"Operate:", []string{"doctor", "servers", "weights", "pool", "queue", "views", "events", "workers", "histories"}},
}

// arrange puts the commands of the program into sections.
func arrange(root *cobra.Command) {
	for _, section := range sections {
		root.AddGroup(&cobra.Group{ID: section.title, Title: section.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(section.commands, cmd.Name()) {
				cmd.GroupID = section.title
			}
		}
	}
}
