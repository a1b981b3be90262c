package app

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// nodeCache returns the cache of results of nodes, or nil if it is switched off.
func (in *Instance) nodeCache() *nodecache.Cache {
	if in.cfg.NodeCache == 0 {
		return nil
	}
	return &nodecache.Cache{
		Store: jobstore.NewNodeCache(in.pool), Bytes: in.cfg.NodeCache, Age: in.cfg.CacheAge, From: in.cfg.CacheFrom, Brief: nodecache.NewBrief(),
	}
}

// shortenEvery is the interval between two evictions.
const shortenEvery = time.Minute

// startCache keeps the node cache of graph runs within its bounds.
func (in *Instance) startCache(ctx context.Context, group *errgroup.Group, runs *activities.Graph) {
	if runs.Cache == nil {
		return
	}
	group.Go(func() error {
		tick := time.NewTicker(shortenEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			if err := runs.Cache.Shorten(ctx, runs.Values.ForgetCached); err != nil && ctx.Err() == nil {
				in.log.Warn("node cache eviction failed; the next sweep will retry", "error", err)
			}
		}
	})
}
