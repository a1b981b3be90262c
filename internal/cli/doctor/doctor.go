// Package doctor holds the command that examines a deployment and reconciles its two stores.
package doctor

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Command returns the command that examines a deployment.
func Command(s *shell.Shell) *cobra.Command {
	var asJSON, compare, sure bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that a deployment depends on, and name remedies",
		Long: `Check the database, its schema, the views, the outbox, occupied slots, the clock, ComfyUI servers and the
segments that wait for them, the disk, Temporal and the workers. The command changes nothing. The exit code is
1 if a check fails, and 0 if there are only warnings.

PostgreSQL and Temporal are two stores. After one of them was restored from a backup, --reconcile finds the
differences between them: running jobs without a workflow are started again, workflows of jobs that the log
does not have are terminated, rows without a stream are dropped. Without --yes, it only shows the differences.`,
		Example: "  millrace doctor\n  millrace doctor --reconcile\n  millrace doctor --reconcile --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if compare {
				return compareStores(cmd.Context(), s, sure, asJSON)
			}
			found, err := examine(cmd.Context(), s)
			if err != nil {
				return err
			}
			if err := s.Print(asJSON, found, found.Show); err != nil {
				return err
			}
			if failed := found.Failed(); failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(found.Checks))
			}
			return nil
		},
	}
	s.DatabaseFlags(cmd)
	s.TemporalFlags(cmd)
	cmd.Flags().StringVar(&s.Config.TaskQueue, "task-queue", s.Config.TaskQueue, "Temporal task queue (MILLRACE_TASK_QUEUE)")
	cmd.Flags().BoolVar(&compare, "reconcile", false, "compare PostgreSQL with Temporal, as after a restore")
	cmd.Flags().BoolVar(&sure, "yes", false, "with --reconcile: repair the differences")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// examine examines the deployment of a command.
func examine(ctx context.Context, s *shell.Shell) (doctor.Examined, error) {
	var opened []func()
	defer func() {
		for _, done := range opened {
			done()
		}
	}()
	return doctor.Deployment{
		Config: &s.Config,
		Database: func(ctx context.Context) (*postgres.Pool, error) { // also finds the servers of a running millrace dev
			pool, err := s.Database(ctx)
			if err == nil {
				opened = append(opened, pool.Close)
			}
			return pool, err
		},
		Blobs: s.Blobs,
		Temporal: func() (client.Client, error) {
			c, err := s.Temporal()
			if err == nil {
				opened = append(opened, c.Close)
			}
			return c, err
		},
	}.Examine(ctx)
}
