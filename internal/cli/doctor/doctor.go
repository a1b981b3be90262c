// Package doctor holds the command that examines a deployment and reconciles its two stores.
package doctor

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
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
			findings := doctor.WithoutDatabase(examine(cmd.Context(), s))
			failed := 0
			for _, f := range findings {
				if f.Status == doctor.Failing {
					failed++
				}
			}
			if err := report(s, findings, asJSON); err != nil {
				return err
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(findings))
			}
			return nil
		},
	}
	s.DatabaseFlags(cmd)
	s.EngineFlags(cmd)
	cmd.Flags().StringVar(&s.Config.TaskQueue, "task-queue", s.Config.TaskQueue, "Temporal task queue (MILLRACE_TASK_QUEUE)")
	cmd.Flags().BoolVar(&compare, "reconcile", false, "compare PostgreSQL with Temporal, as after a restore")
	cmd.Flags().BoolVar(&sure, "yes", false, "with --reconcile: repair the differences")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func report(s *shell.Shell, findings []doctor.Finding, asJSON bool) error {
	return s.Print(asJSON, doctor.Examined{Checks: findings}, func(p *terminal.Printer) {
		styles := map[string]terminal.Style{doctor.Healthy: terminal.Good, doctor.Warning: terminal.Notice, doctor.Failing: terminal.Bad}
		var rows [][]terminal.Cell
		for _, f := range findings {
			rows = append(rows, []terminal.Cell{{Text: f.Status, Style: styles[f.Status]}, {Text: f.Check}, {Text: f.Detail}})
			if f.Remedy != "" {
				rows = append(rows, []terminal.Cell{{}, {}, {Text: "→ " + f.Remedy, Style: terminal.Bold}})
			}
		}
		p.Table([]string{"", "CHECK", ""}, rows)
	})
}

// examine runs every check whose prerequisites hold. Without a database, its contents cannot be checked.
func examine(ctx context.Context, s *shell.Shell) []doctor.Finding {
	findings := []doctor.Finding{doctor.ThisVersion(version.Version)}
	pool, dbErr := s.Database(ctx) // also finds the servers of a running millrace dev
	if dbErr != nil {
		findings = append(findings, doctor.Finding{
			Check: "database", Status: doctor.Failing, Detail: operate.ErrorLine(dbErr),
			Remedy: "start PostgreSQL, or set DATABASE_URL or --data",
		})
	} else {
		defer pool.Close()
		findings = append(findings, doctor.RunChecks(ctx, doctor.DatabaseChecks(pool, s.Histories(pool).Blobs))...)
		findings = append(findings, doctor.RunChecks(ctx, doctor.ServerChecks(serverstore.New(pool, nil)))...)
	}
	findings = append(findings, doctor.RunChecks(ctx, doctor.DiskChecks(s.Config))...)
	c, err := s.Temporal()
	if err != nil {
		f := doctor.Failure(err, "start Temporal, or set TEMPORAL_ADDRESS; jobs are accepted and wait meanwhile")
		f.Check = "temporal"
		return append(findings, f)
	}
	defer c.Close()
	return append(findings, doctor.RunChecks(ctx, doctor.TemporalChecks(s.Config, c))...)
}
