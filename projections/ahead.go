package projections

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Ahead returns by how many positions a checkpoint is beyond the end of the log, or 0. A projection
// whose checkpoint is ahead has applied events that a failover lost: it would skip the new events at their positions.
func Ahead(ctx context.Context, pool *pgxpool.Pool, name string) (int64, error) {
	var ahead int64
	err := pool.QueryRow(ctx, `select greatest(0, coalesce((select position from checkpoints where name = $1), 0)
		- coalesce((select max(position) from events), 0))`, name).Scan(&ahead)
	return ahead, postgres.Classify(err, "compare the checkpoint of "+name+" with the log")
}

// rebuildAhead rebuilds the views whose checkpoint is beyond the end of the log; their subscriptions wait for it. A reader
// without tables cannot be rebuilt and waits for an operator.
func (r *Runner) rebuildAhead(ctx context.Context) {
	for _, p := range r.views {
		ahead, err := Ahead(ctx, r.pool, p.Name)
		switch {
		case err != nil:
			r.opts.Log.Warn("checkpoint not compared with the log", "projection", p.Name, "error", err)
		case ahead == 0:
		case len(p.Tables) == 0:
			r.opts.Log.Error("checkpoint of a reader is beyond the end of the log; the reader is stopped: see \"Restore\" in docs/runbook.md",
				"projection", p.Name, "positions", ahead)
		default:
			r.rebuild(ctx, p, ahead)
		}
	}
}

func (r *Runner) rebuild(ctx context.Context, p Projection, ahead int64) {
	r.opts.Log.Warn("checkpoint of a view is beyond the end of the log; rebuilding the view", "projection", p.Name, "positions", ahead)
	done, err := Rebuild(ctx, r.pool, p, RebuildOptions{})
	if err != nil {
		r.opts.Log.Error("view beyond the end of the log not rebuilt: run millrace views rebuild",
			"projection", p.Name, "error", err)
		return
	}
	r.opts.Log.Info("view rebuilt", "projection", p.Name, "position", done.Position)
}
