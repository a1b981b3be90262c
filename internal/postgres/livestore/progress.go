// Package livestore stores the data about running jobs that processes share: the latest progress of their nodes, and
// the addresses of live processes. It promises nothing about durability: its rows are not folded from events, and may
// be lost without harm.
package livestore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
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
	var jobs, nodes, waiting []string
	var runs, values, limits []int
	for _, s := range steps {
		jobs, nodes, runs = append(jobs, string(s.Job)), append(nodes, s.Node), append(runs, s.Run)
		values, limits = append(values, s.Step.Value), append(limits, s.Step.Max)
		waiting = append(waiting, s.Step.Waiting)
	}
	if _, err := p.pool.Exec(ctx, saveSteps, jobs, nodes, runs, values, limits, waiting); err != nil {
		return fmt.Errorf("save the steps of %d nodes: %w", len(steps), err)
	}
	return nil
}

// Steps returns the last known steps of the nodes of one run of a job. The caller has checked that the job belongs to
// the account, and ignores nodes that no longer run.
func (p *Progress) Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error) {
	rows, err := p.pool.Query(ctx, `select node, value, max, waiting from node_progress where job = $1 and run = $2`, id, run)
	if err != nil {
		return nil, fmt.Errorf("read the steps of job %s: %w", id, err)
	}
	steps := map[string]stream.Step{}
	var node string
	var step stream.Step
	_, err = pgx.ForEachRow(rows, []any{&node, &step.Value, &step.Max, &step.Waiting}, func() error {
		steps[node] = step
		return nil
	})
	return steps, err
}
