package sweep

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/task"
)

// IngestRecords lists and restarts unfinished ingestions.
type IngestRecords interface {
	// Uningested returns assets, in order of their ids from the first one after the given id, that have waited for at
	// least age.
	Uningested(ctx context.Context, after asset.ID, age time.Duration, limit int) ([]asset.IngestRef, error)
	// Reingest records a new ingestion of an asset together with its start intent.
	Reingest(ctx context.Context, ref asset.IngestRef, actor, reason string) (bool, error)
}

// NewIngestReviver returns a Reviver of accepted uploads without an ingestion workflow. The events of an ingestion
// always have the same ids, so a second ingestion changes nothing.
func NewIngestReviver(c client.Client, records IngestRecords, log *slog.Logger) *Reviver[asset.IngestRef, asset.ID] {
	return &Reviver[asset.IngestRef, asset.ID]{
		Client: c, What: "ingestions", Every: time.Minute, Age: 2 * time.Minute, Log: log,
		List: records.Uningested,
		Name: func(ref asset.IngestRef) (asset.ID, string) { return ref.Asset, ref.Asset.WorkflowID() },
		Revive: func(ctx context.Context, ref asset.IngestRef, _ WorkflowState) (bool, error) {
			return records.Reingest(ctx, ref, "sweeper", "nothing was looking into it")
		},
	}
}

// TaskRecords lists and restarts the unfinished tasks of one kind.
type TaskRecords interface {
	// Unfinished returns tasks, in order of their ids from the first one after the given id, that have waited for at
	// least age.
	Unfinished(ctx context.Context, after task.ID, age time.Duration, limit int) ([]task.Ref, error)
	// Restart records a restart of a task together with its start intent.
	Restart(ctx context.Context, ref task.Ref, actor, reason string) (bool, error)
}

// NewTaskReviver returns a Reviver of accepted tasks of a kind that have no workflow.
func NewTaskReviver(c client.Client, kind task.Kind, records TaskRecords, log *slog.Logger) *Reviver[task.Ref, task.ID] {
	return &Reviver[task.Ref, task.ID]{
		Client: c, What: string(kind) + "s", Every: 30 * time.Second, Age: 30 * time.Second, Log: log,
		List: records.Unfinished,
		Name: func(ref task.Ref) (task.ID, string) { return ref.Task, kind.WorkflowID(ref.Task) },
		Revive: func(ctx context.Context, ref task.Ref, _ WorkflowState) (bool, error) {
			return records.Restart(ctx, ref, "sweeper", "its workflow was lost")
		},
	}
}

// PoolRecords lists and restarts pools of machines.
type PoolRecords interface {
	Pools(ctx context.Context) ([]pool.Pool, error)
	Restart(ctx context.Context, name string) (bool, error)
}

// poolName identifies a pool.
type poolName string

// NewPoolReviver returns a Reviver of pools of machines that have no workflow.
func NewPoolReviver(c client.Client, records PoolRecords, log *slog.Logger) *Reviver[poolName, poolName] {
	return &Reviver[poolName, poolName]{
		Client: c, What: "pools", Every: 30 * time.Second, Log: log,
		List: func(ctx context.Context, after poolName, _ time.Duration, limit int) (names []poolName, err error) {
			all, err := records.Pools(ctx)
			for _, p := range all {
				if name := poolName(p.Name); name > after && len(names) < limit {
					names = append(names, name)
				}
			}
			return names, err
		},
		Name: func(name poolName) (poolName, string) { return name, pool.WorkflowID(string(name)) },
		Revive: func(ctx context.Context, name poolName, _ WorkflowState) (bool, error) {
			return records.Restart(ctx, string(name))
		},
	}
}
