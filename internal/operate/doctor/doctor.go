// Package doctor examines everything that a deployment depends on: the database, the log, views, queues, blobs, the disk,
// Temporal and its workers. It promises to change nothing, to answer in bounded time, and to name a remedy with every
// finding that needs one.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/worker/dial"
)

// Statuses of a check.
const (
	Healthy = "ok"
	Warning = "warn" // needs attention soon
	Failing = "fail" // something does not work
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Examined holds the findings of all checks.
type Examined struct {
	Checks []Finding `json:"checks"`
}

// Failed returns the number of checks that failed.
func (e Examined) Failed() (n int) {
	for _, f := range e.Checks {
		if f.Status == Failing {
			n++
		}
	}
	return n
}

// Show writes the findings.
func (e Examined) Show(p *terminal.Printer) {
	styles := map[string]terminal.Style{Healthy: terminal.Good, Warning: terminal.Notice, Failing: terminal.Bad}
	var rows [][]terminal.Cell
	for _, f := range e.Checks {
		rows = append(rows, []terminal.Cell{{Text: f.Status, Style: styles[f.Status]}, {Text: f.Check}, {Text: f.Detail}})
		if f.Remedy != "" {
			rows = append(rows, []terminal.Cell{{}, {}, {Text: "→ " + f.Remedy, Style: terminal.Bold}})
		}
	}
	p.Table([]string{"", "CHECK", ""}, rows)
}

// Check examines one part of the deployment. An error counts as a failing check.
type Check struct {
	Name    string
	Remedy  string // shown with an error
	Examine func(ctx context.Context) (Finding, error)
}

// doctorTimeout bounds each check.
const doctorTimeout = 5 * time.Second

// RunChecks runs checks. If the first fails, the others, which depend on it, are skipped.
func RunChecks(ctx context.Context, checks []Check) []Finding {
	findings := make([]Finding, 0, len(checks))
	for i, c := range checks {
		f, err := c.run(ctx)
		if err != nil {
			f = failure(err, c.Remedy)
		}
		f.Check = c.Name
		findings = append(findings, f)
		if i == 0 && err != nil {
			break
		}
	}
	return findings
}

// run examines for a bounded time. A check that does not end in time, because the disk that it reads does not answer, is left behind.
func (c Check) run(ctx context.Context) (Finding, error) {
	type answer struct {
		finding Finding
		err     error
	}
	limited, cancel := context.WithTimeout(ctx, doctorTimeout)
	answers := make(chan answer, 1)
	go func() {
		defer cancel()
		f, err := c.Examine(limited)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.finding, a.err
	case <-time.After(doctorTimeout + time.Second): // most checks end with limited
		return Finding{}, context.DeadlineExceeded
	}
}

// failure returns the finding of a failed check. Some errors of Temporal's client contain a better remedy.
func failure(err error, remedy string) Finding {
	detail, better := dial.Remedy(detailOf(err))
	return Finding{Status: Failing, Detail: detail, Remedy: cmp.Or(better, remedy)}
}

// detailOf returns the text of an error for a finding.
func detailOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + doctorTimeout.String()
	}
	return operate.ErrorLine(err)
}

// grade returns the status of a value, given its two limits.
func grade[T int | int64 | time.Duration | float64](value, warnAt, failAt T) string {
	switch {
	case value >= failAt:
		return Failing
	case value >= warnAt:
		return Warning
	}
	return Healthy
}

// with adds a remedy to a finding that is not healthy.
func (f Finding) with(remedy string) Finding {
	if f.Status != Healthy {
		f.Remedy = remedy
	}
	return f
}

// DatabaseChecks examine the database and the blobs in it.
func DatabaseChecks(pool *postgres.Pool, blobs func(context.Context) (blob.Store, error)) []Check {
	d := databaseDoctor{pool}
	b := blobDoctor{d, blobs}
	return []Check{
		{"database", "check the database's log", d.server},
		{"schema", "run a millrace that is as new as the database", d.schema},
		{"clock", "", d.clock},
		{"views", "", d.views},
		{"halted", "", d.haltedStreams},
		{"outbox", "", d.outbox},
		{"slots", "", d.slots},
		{"queues", "", d.queues},
		{"stuck", "", d.silentJobs},
		{"workforce", "", d.workers},
		{"webhooks", "", d.webhooks},
		{"drift", "", d.drift},
		{"pools", "", d.pools},
		{"blobs", "check --data, or the bucket's settings", b.present},
		{"orphan blobs", "check --data, or the bucket's settings", b.orphans},
		{"bucket rules", "check the bucket's settings", b.rules},
	}
}

// diskChecks examine the disk of the data directory.
func diskChecks(cfg config.Config) []Check {
	return []Check{{"disk", "check --data", diskDoctor{cfg.DataDir, cfg.DiskReserve}.free}}
}

// temporalChecks examine Temporal and its workers.
func temporalChecks(cfg config.Config, c client.Client, pool *postgres.Pool) []Check {
	t := temporalDoctor{client: c, namespace: cfg.TemporalNamespace, queue: cfg.TaskQueue}
	checks := []Check{
		{"temporal", "check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE", t.server},
		{"workers", "start one: millrace serve --roles worker", t.graphWorkers},
		{"asset workers", "start one: millrace serve --roles worker", t.assetWorkers},
		{"model workers", "start one: millrace serve --roles worker", t.modelWorkers},
		{"export workers", "start one: millrace serve --roles worker", t.exportWorkers},
	}
	if pool != nil {
		checks = append(checks, TaskCheck(c, pool))
	}
	return checks
}

// TaskCheck finds jobs that do not go on because their workflow task is late.
func TaskCheck(c client.Client, pool *postgres.Pool) Check {
	return Check{"workflow tasks", "", taskDoctor{c, pool}.late}
}
