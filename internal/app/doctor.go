package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// What a check found.
const (
	healthy = "ok"
	warning = "warn" // look at it today
	failing = "fail" // something does not work
)

// finding is the answer of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// examined is what all checks found.
type examined struct {
	Checks []finding `json:"checks"`
}

// check looks at one thing. An error is a failing check.
type check struct {
	name   string
	remedy string // of an error
	look   func(ctx context.Context) (finding, error)
}

// doctorTimeout bounds each check.
const doctorTimeout = 5 * time.Second

func (s *shell) doctorCommand() *cobra.Command {
	var asJSON, reconcile, sure bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that a deployment stands on, with remedies",
		Long: `Check the database, its schema, the views, the outbox, held slots, the clock, the disk,
Temporal and the workers. Nothing is changed. The exit code is 1 if a check fails;
warnings alone leave it 0.

PostgreSQL and Temporal are two stores. After either was restored from a backup, --reconcile finds what
they do not agree on: jobs that run without a workflow are started again, workflows of jobs that the
log does not have are ended, rows without a stream are dropped. Without --yes it only shows what it
would do.`,
		Example: "  millrace doctor\n  millrace doctor --reconcile\n  millrace doctor --reconcile --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reconcile {
				return s.reconcile(cmd.Context(), sure, asJSON)
			}
			findings := s.examine(cmd.Context())
			failed := 0
			for _, f := range findings {
				if f.Status == failing {
					failed++
				}
			}
			if err := s.report(findings, asJSON); err != nil {
				return err
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(findings))
			}
			return nil
		},
	}
	s.databaseFlags(cmd)
	s.engineFlags(cmd)
	cmd.Flags().StringVar(&s.cfg.TaskQueue, "task-queue", s.cfg.TaskQueue, "Temporal task queue (MILLRACE_TASK_QUEUE)")
	cmd.Flags().BoolVar(&reconcile, "reconcile", false, "compare PostgreSQL with Temporal, as after a restore")
	cmd.Flags().BoolVar(&sure, "yes", false, "with --reconcile: do what it found")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (s *shell) report(findings []finding, asJSON bool) error {
	if asJSON {
		return s.printJSON(examined{Checks: findings})
	}
	p := s.printer()
	styles := map[string]inspect.Style{healthy: inspect.Good, warning: inspect.Notice, failing: inspect.Bad}
	var rows [][]inspect.Cell
	for _, f := range findings {
		rows = append(rows, []inspect.Cell{{Text: f.Status, Style: styles[f.Status]}, {Text: f.Check}, {Text: f.Detail}})
		if f.Remedy != "" {
			rows = append(rows, []inspect.Cell{{}, {}, {Text: "→ " + f.Remedy, Style: inspect.Bold}})
		}
	}
	p.Table([]string{"", "CHECK", ""}, rows)
	return p.Err()
}

// examine runs every check whose ground holds: without a database there is nothing in it to look at.
func (s *shell) examine(ctx context.Context) []finding {
	findings := []finding{thisVersion(Version)}
	pool, dbErr := s.database(ctx) // also finds the servers of a running dev
	if dbErr != nil {
		findings = append(findings, finding{Check: "database", Status: failing, Detail: firstLine(dbErr), Remedy: "start PostgreSQL, or set DATABASE_URL or --data"})
	} else {
		defer pool.Close()
		findings = append(findings, runChecks(ctx, databaseChecks(pool, s.teller(pool).blobs))...)
	}
	findings = append(findings, runChecks(ctx, diskChecks(s.cfg))...)
	c, err := s.temporal()
	if err != nil {
		return append(findings, finding{Check: "temporal", Status: failing, Detail: firstLine(err), Remedy: "start Temporal, or set TEMPORAL_ADDRESS; jobs are accepted and wait meanwhile"})
	}
	defer c.Close()
	return append(findings, runChecks(ctx, temporalChecks(s.cfg, c))...)
}

func thisVersion(version string) finding {
	return finding{
		Check: "version", Status: healthy,
		Detail: fmt.Sprintf("millrace %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
}

// runChecks runs checks of which the first looks at the ground of the others: they are left out where it fails.
func runChecks(ctx context.Context, checks []check) []finding {
	findings := make([]finding, 0, len(checks))
	for i, c := range checks {
		limited, cancel := context.WithTimeout(ctx, doctorTimeout)
		f, err := c.look(limited)
		cancel()
		if err != nil {
			f = finding{Status: failing, Detail: detailOf(err), Remedy: c.remedy}
		}
		f.Check = c.name
		findings = append(findings, f)
		if i == 0 && err != nil {
			break
		}
	}
	return findings
}

// detailOf is the text of an error as a finding shows it.
func detailOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + doctorTimeout.String()
	}
	return firstLine(err)
}

// firstLine is the text of an error on one line. The texts of our errors never hold a connection string.
func firstLine(err error) string { return inspect.Clean(err.Error()) }

// grade picks a status by two limits.
func grade[T int | int64 | time.Duration | float64](value, warnAt, failAt T) string {
	switch {
	case value >= failAt:
		return failing
	case value >= warnAt:
		return warning
	}
	return healthy
}

// with adds the remedy to a finding that needs one.
func (f finding) with(remedy string) finding {
	if f.Status != healthy {
		f.Remedy = remedy
	}
	return f
}

func databaseChecks(pool *pgxpool.Pool, blobs func(context.Context) (blob.Store, error)) []check {
	d := databaseDoctor{pool}
	b := blobDoctor{d, blobs}
	return []check{
		{"database", "check the database's log", d.server},
		{"schema", "run a millrace that is as new as the database", d.schema},
		{"clock", "", d.clock},
		{"views", "", d.views},
		{"halted", "", d.halted},
		{"outbox", "", d.outbox},
		{"slots", "", d.slots},
		{"queues", "", d.queues},
		{"stuck", "", d.stuck},
		{"webhooks", "", d.webhooks},
		{"blobs", "check --data, or the bucket's settings", b.present},
		{"orphan blobs", "check --data, or the bucket's settings", b.orphans},
	}
}

func diskChecks(cfg config.Config) []check {
	return []check{{"disk", "check --data", diskDoctor{cfg.DataDir, cfg.DiskReserve}.free}}
}

func temporalChecks(cfg config.Config, c client.Client) []check {
	t := temporalDoctor{client: c, namespace: cfg.TemporalNamespace, queue: cfg.TaskQueue}
	return []check{
		{"temporal", "check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE", t.server},
		{"workers", "start one: millrace serve --roles worker", t.graphWorkers},
		{"asset workers", "start one: millrace serve --roles worker", t.assetWorkers},
		{"export workers", "start one: millrace serve --roles worker", t.exportWorkers},
	}
}

// databaseDoctor looks at what is in the database.
type databaseDoctor struct{ pool *pgxpool.Pool }

// oldestServer is the oldest PostgreSQL that the tests have run on, as its version number.
const oldestServer = 150000

func (d databaseDoctor) server(ctx context.Context) (finding, error) {
	var version string
	var number, used, most int
	began := time.Now()
	err := d.pool.QueryRow(ctx, `select current_setting('server_version'), current_setting('server_version_num')::int,
		(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int`).
		Scan(&version, &number, &used, &most)
	if err != nil {
		return finding{}, postgres.Classify(err, "ask the database")
	}
	f := finding{Status: healthy, Detail: fmt.Sprintf("PostgreSQL %s, answers in %s, %d of %d connections", version, inspect.Span(time.Since(began)), used, most)}
	switch {
	case number < oldestServer:
		f.Status, f.Remedy = warning, "Millrace is tested with PostgreSQL 15 and later: upgrade"
	case used*10 > most*9:
		f.Status, f.Remedy = warning, "raise max_connections, or run fewer processes: each takes up to 24"
	}
	return f, nil
}

func (d databaseDoctor) schema(ctx context.Context) (finding, error) {
	pending, err := postgres.Pending(ctx, d.pool)
	if err != nil {
		return finding{}, err
	}
	if len(pending) > 0 {
		return finding{Status: failing, Detail: fmt.Sprintf("%d migrations are missing, from %s", len(pending), pending[0]), Remedy: "run: millrace migrate"}, nil
	}
	return finding{Status: healthy, Detail: "current"}, nil
}
