package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections"
)

// startProjector runs the projections that keep the views up to date.
func (in *Instance) startProjector(ctx context.Context, group *errgroup.Group) {
	checkpoints := eventstore.NewCheckpoints(in.pool, in.cfg.SessionURL(), in.log)
	group.Go(func() error { return checkpoints.Run(ctx) })
	group.Go(func() error {
		all, err := views.Followers(in.cfg.PublicURL)
		if err != nil {
			return err
		}
		runner, err := projections.NewRunner(in.pool, in.tail, checkpoints, projections.Options{Log: in.log}, all...)
		if err != nil {
			return err
		}
		return runner.Run(ctx)
	})
}
