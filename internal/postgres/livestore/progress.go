// Package livestore stores the data about running jobs that processes share: the latest progress of their nodes, and
// the addresses of live processes. It promises nothing about durability: its rows are not folded from events, and may
// be lost without harm.
package livestore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Progress stores the steps of running nodes. It implements stream.StepStore.
type Progress struct{ pool *pgxpool.Pool }

var _ stream.StepStore = (*Progress)(nil)

// NewProgress returns the store on pool.
func NewProgress(pool *pgxpool.Pool) *Progress { return &Progress{pool: pool} }

// saveSteps also deletes the rows of a few nodes without progress for an hour, which have ended.
const saveSteps = `with gone as (
		delete from node_progress where (job, node) in (
			select job, node from node_progress where updated_at < now() - interval '1 hour' limit 1000 for update skip locked))
	insert into node_progress (job, node, run, value, max, waiting, updated_at)
	select job, node, run, value, max, waiting, now()
	from unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[]) as s (job, node, run, value, max, waiting)
	on conflict (job, node) do update
	set run = excluded.run, value = excluded.value, max = excluded.max, waiting = excluded.waiting, updated_at = excluded.updated_at
	where node_progress.run <= excluded.run`

// SaveSteps implements stream.StepStore.
func (p *Progress) SaveSteps(ctx context.Context, steps []stream.NodeStep) error {
	if len(steps) == 0 {
		return nil
	}
	var rows postgres.Columns
	for _, s := range steps {
		rows.Add(string(s.Job), s.Node, s.Run, s.Step.Value, s.Step.Max, s.Step.Waiting)
	}
	_, err := p.pool.Exec(ctx, saveSteps, rows.Args()...)
	return postgres.Classify(err, "save the steps of nodes")
}

// Steps returns the last known steps of the nodes of one run of a job. The caller has checked that the job belongs to
// the account, and ignores nodes that no longer run.
func (p *Progress) Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error) {
	steps := map[string]stream.Step{}
	return steps, postgres.Each(ctx, p.pool, "read the steps of a job", func(row pgx.CollectableRow) error {
		var node string
		var step stream.Step
		err := row.Scan(&node, &step.Value, &step.Max, &step.Waiting)
		steps[node] = step
		return err
	}, `select node, value, max, waiting from node_progress where job = $1 and run = $2`, id, run)
}
