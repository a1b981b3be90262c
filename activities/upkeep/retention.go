package upkeep

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// AssetExpiry ends assets past their deadline.
type AssetExpiry interface {
	// Expire ends up to limit assets whose deadline has passed, except those in pass. It returns the number of ended
	// assets, and the assets that could not be ended.
	Expire(ctx context.Context, limit int, pass []asset.ID) (ended int, failed []asset.ID, err error)
	// Forget removes expired idempotency keys and the pins of ended jobs.
	Forget(ctx context.Context) error
}

// Retention holds the activities of the Retention workflow.
type Retention struct {
	Assets     AssetExpiry
	Jobs       JobExpiry
	Policy     JobPolicy
	Archives   blob.Store        // store for the events of retired jobs
	Collectors []asset.Collector // one for each store
	Log        *slog.Logger
}

// expireBatch bounds the assets that one transaction ends, because readers of the log wait for its append.
const expireBatch = 200

// ExpireAssets ends every asset whose deadline has passed and returns their number.
func (r *Retention) ExpireAssets(ctx context.Context) (int, error) {
	total := 0
	var pass []asset.ID
	for {
		n, failed, err := r.Assets.Expire(ctx, expireBatch, pass)
		total += n
		for _, id := range failed {
			r.Log.Error("asset not expired: its stream contradicts its row", "asset", id)
		}
		pass = append(pass, failed...)
		if err != nil {
			return total, attempt.Error(fmt.Errorf("expire assets: %w", err))
		}
		if n+len(failed) < expireBatch {
			break
		}
		activity.RecordHeartbeat(ctx, total)
	}
	if total > 0 {
		r.Log.Info("assets expired", "count", total)
	}
	return total, attempt.Error(r.Assets.Forget(ctx))
}

// CollectBlobs deletes blobs without references, one store after the other.
func (r *Retention) CollectBlobs(ctx context.Context) (asset.Collection, error) {
	var all asset.Collection
	for _, collector := range r.Collectors {
		done, err := collector.Collect(ctx, func(c asset.Collection) { activity.RecordHeartbeat(ctx, c) })
		all.Examined, all.Removed, all.Bytes = all.Examined+done.Examined, all.Removed+done.Removed, all.Bytes+done.Bytes
		if err != nil {
			return all, attempt.Error(err)
		}
	}
	if all.Removed > 0 {
		r.Log.Info("blobs collected", "count", all.Removed, "bytes", all.Bytes)
	}
	return all, nil
}
