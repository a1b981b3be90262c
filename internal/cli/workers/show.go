package workers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// deployment is a deployment in a list.
type deployment struct {
	Name    string  `json:"name"`
	Current string  `json:"current,omitempty"` // build; "" = workers without a version get new jobs
	Ramping string  `json:"ramping,omitempty"`
	Percent float32 `json:"percent,omitempty"` // share of the ramping build

	Versions []version `json:"versions,omitempty"`
}

// version is a version of a deployment.
type version struct {
	BuildID string    `json:"build_id"`
	State   string    `json:"state"`
	Since   time.Time `json:"created_at"`
}

func listCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the deployments of the namespace", Args: cobra.NoArgs,
		Long: `List the deployments of the namespace, with the current version and the one that gets a share of the new jobs.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			all := []deployment{}
			found, err := c.WorkerDeploymentClient().List(cmd.Context(), client.WorkerDeploymentListOptions{})
			if err != nil {
				return err
			}
			for found.HasNext() {
				d, err := found.Next()
				if err != nil {
					return err
				}
				all = append(all, routed(d.Name, d.RoutingConfig))
			}
			return printList(s, all, asJSON)
		},
	}
	s.TemporalFlags(cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func routed(name string, r client.WorkerDeploymentRoutingConfig) deployment {
	return deployment{Name: name, Current: buildOf(r.CurrentVersion), Ramping: buildOf(r.RampingVersion), Percent: r.RampingVersionPercentage}
}

func buildOf(v *worker.WorkerDeploymentVersion) string {
	if v == nil {
		return ""
	}
	return v.BuildID
}

func printList(s *shell.Shell, all []deployment, asJSON bool) error {
	return s.Print(asJSON, map[string]any{"deployments": all}, func(p *terminal.Printer) {
		if len(all) == 0 {
			p.Printf("no worker has a version: start workers with MILLRACE_BUILD_ID\n")
			return
		}
		var rows [][]terminal.Cell
		for _, d := range all {
			rows = append(rows, []terminal.Cell{{Text: d.Name}, {Text: current(d)}, {Text: ramping(d)}})
		}
		p.Table([]string{"DEPLOYMENT", "CURRENT", "RAMPING"}, rows)
	})
}

func current(d deployment) string {
	return cmp.Or(d.Current, "none: new jobs wait for workers without a version")
}

func ramping(d deployment) string {
	if d.Ramping == "" {
		return "-"
	}
	return fmt.Sprintf("%s, %g %%", d.Ramping, d.Percent)
}

func showCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the versions of a deployment", Args: cobra.NoArgs,
		Long: `Show the versions of a deployment: the one that gets new jobs, and which of the others still have running jobs
(draining) or have none (drained). The workers of a drained version may be stopped. Temporal updates this state
a few minutes after a change.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			return show(cmd.Context(), s, c.WorkerDeploymentClient().GetHandle(s.Config.Temporal.Deployment), asJSON)
		},
	}
	nameFlag(s, cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func show(ctx context.Context, s *shell.Shell, handle client.WorkerDeploymentHandle, asJSON bool) error {
	found, err := handle.Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return explained(s, err)
	}
	d := routed(found.Info.Name, found.Info.RoutingConfig)
	for _, v := range found.Info.VersionSummaries {
		d.Versions = append(d.Versions, version{BuildID: v.Version.BuildID, State: state(d, v), Since: v.CreateTime})
	}
	return s.Print(asJSON, d, func(p *terminal.Printer) {
		var rows [][]terminal.Cell
		for _, v := range d.Versions {
			rows = append(rows, []terminal.Cell{{Text: v.BuildID}, {Text: v.State}, {Text: v.Since.UTC().Format(time.DateTime)}})
		}
		p.Table([]string{"BUILD", "STATE", "SINCE"}, rows)
	})
}

// state describes a version's share of new jobs and its running jobs.
func state(d deployment, v client.WorkerDeploymentVersionSummary) string {
	switch v.Version.BuildID {
	case d.Current:
		return "current"
	case d.Ramping:
		return fmt.Sprintf("ramping, %g %% of new jobs", d.Percent)
	}
	switch v.DrainageStatus {
	case client.WorkerDeploymentVersionDrainageStatusDraining:
		return "draining: jobs that it began still run"
	case client.WorkerDeploymentVersionDrainageStatusDrained:
		return "drained: its workers may be stopped"
	default:
		return "gets no jobs: ramp or promote it"
	}
}
