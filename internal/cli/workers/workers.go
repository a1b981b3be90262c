// Package workers holds the commands that show the versions of workers and assign new jobs to them.
package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli/shell"
)

// Command returns the commands on versions of workers.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Show the versions of workers, and assign new jobs to them step by step",
		Long: `Show and change the version of the workers that gets new jobs. Workers have a version if they are started
with MILLRACE_BUILD_ID; without versions, these commands are not needed.

A job stays with the version that began it. New jobs go to the current version; while another version is
ramping, it gets a share of them. To upgrade:

  1. start workers of the new version beside the old ones:  MILLRACE_BUILD_ID=2.1.0 millrace serve --roles worker
  2. give it a share of the new jobs, and watch:            millrace workers ramp 2.1.0 --percent 10
  3. give it all new jobs:                                  millrace workers promote 2.1.0
  4. stop the old workers when their version is drained:    millrace workers show

To go back, do the same with the old version. The very first version must be promoted, too: until then, new
jobs wait for workers without a version.`,
		Example: `  millrace workers list
  millrace workers show
  millrace workers ramp 2.1.0 --percent 10
  millrace workers promote 2.1.0`,
	}
	cmd.AddCommand(listCommand(s), showCommand(s), rampCommand(s), promoteCommand(s))
	return cmd
}

// nameFlag adds the flag with the name of the deployment.
func nameFlag(s *shell.Shell, cmd *cobra.Command) {
	t := &s.Config.Temporal
	cmd.Flags().StringVar(&t.Deployment, "deployment", t.Deployment, "name of the deployment (MILLRACE_DEPLOYMENT)")
	s.TemporalFlags(cmd)
}

func rampCommand(s *shell.Shell) *cobra.Command {
	var percent float32
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ramp BUILD --percent N", Short: "Give a version a share of the new jobs", Args: cobra.ExactArgs(1),
		Long: `Give a version a share of the new jobs, in percent; the current version gets the others. --percent 0
removes the share. Jobs that have begun stay with their version.`,
		Example: "  millrace workers ramp 2.1.0 --percent 10",
		RunE: func(cmd *cobra.Command, args []string) error {
			if percent < 0 || percent > 100 || !cmd.Flags().Changed("percent") {
				return errors.New("--percent takes a share from 0 to 100")
			}
			return onDeployment(cmd.Context(), s, asJSON, func(ctx context.Context, d client.WorkerDeploymentHandle) error {
				options := client.WorkerDeploymentSetRampingVersionOptions{BuildID: args[0], Percentage: percent, Identity: shell.Operator()}
				if percent == 0 {
					options.BuildID = ""
				}
				_, err := d.SetRampingVersion(ctx, options)
				return err
			})
		},
	}
	cmd.Flags().Float32Var(&percent, "percent", percent, "share of the new jobs")
	shell.JSONFlag(cmd, &asJSON)
	nameFlag(s, cmd)
	return cmd
}

func promoteCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "promote BUILD", Short: "Give a version all new jobs", Args: cobra.ExactArgs(1),
		Long: `Make a version the current one, which gets new jobs. Jobs that have begun stay with their version, whose
workers must continue until "millrace workers show" reports the version as drained.`,
		Example: "  millrace workers promote 2.1.0",
		RunE: func(cmd *cobra.Command, args []string) error {
			return onDeployment(cmd.Context(), s, asJSON, func(ctx context.Context, d client.WorkerDeploymentHandle) error {
				_, err := d.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: args[0], Identity: shell.Operator()})
				return err
			})
		},
	}
	shell.JSONFlag(cmd, &asJSON)
	nameFlag(s, cmd)
	return cmd
}

// onDeployment changes the deployment that the flag names, and shows it.
func onDeployment(
	ctx context.Context, s *shell.Shell, asJSON bool, change func(context.Context, client.WorkerDeploymentHandle) error,
) error {
	c, err := s.Temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	d := c.WorkerDeploymentClient().GetHandle(s.Config.Temporal.Deployment)
	if change != nil {
		if err := explained(s, change(ctx, d)); err != nil {
			return err
		}
	}
	return show(ctx, s, d, asJSON)
}

// explained adds the remedy to an error of Temporal.
func explained(s *shell.Shell, err error) error {
	var absent *serviceerror.NotFound
	var refused *serviceerror.FailedPrecondition
	switch {
	case errors.As(err, &absent):
		return fmt.Errorf("Temporal does not have this version of deployment %s in namespace %s (%w): start a worker with MILLRACE_BUILD_ID, "+
			"and see millrace workers list",
			s.Config.Temporal.Deployment, s.Config.TemporalNamespace, err)
	case errors.As(err, &refused):
		return fmt.Errorf("Temporal refuses the change (%w): start workers of that version first, and see millrace workers show", err)
	}
	return err
}
