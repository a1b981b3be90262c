package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/outbox"
)

// IngestRecords knows the assets whose ingestion is not done.
type IngestRecords interface {
	// Uningested returns assets, in order of their ids from behind after, that have waited for at least age.
	Uningested(ctx context.Context, after asset.ID, age time.Duration, limit int) ([]asset.IngestRef, error)
	// Reingest records that one is ingested again, and the intent to do so.
	Reingest(ctx context.Context, ref asset.IngestRef, actor, reason string) ([]outbox.Intent, error)
}

// IngestSweeper finds uploads that were accepted and that nothing looks into, since their workflow never began,
// was closed from outside or went with the engine's database, and has them ingested again. What is recorded
// of an asset has the same ids each time, so doing it twice changes nothing.
type IngestSweeper struct {
	Client client.Client
	Assets IngestRecords
	Kick   func([]outbox.Intent)
	Log    *slog.Logger
	Every  time.Duration // default 1 min
	Age    time.Duration // of an upload before it is looked at; default 2 min
}

// Run sweeps until ctx ends. Several sweepers may run at once.
func (s *IngestSweeper) Run(ctx context.Context) error {
	if s.Every == 0 {
		s.Every = time.Minute
	}
	if s.Age == 0 {
		s.Age = 2 * time.Minute
	}
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("sweep of ingestions not finished", "error", err)
			}
		}
	}
}

// Sweep does one round, page by page.
func (s *IngestSweeper) Sweep(ctx context.Context) error {
	var failed []error
	for after := asset.ID(""); ; {
		page, err := s.Assets.Uningested(ctx, after, s.Age, sweepLimit)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, ref := range page {
			after = ref.Asset
			if err := s.check(ctx, ref); err != nil { // must not keep those behind it waiting
				failed = append(failed, fmt.Errorf("look after asset %s: %w", ref.Asset, err))
			}
			if ctx.Err() != nil || len(failed) == sweepFailures {
				return errors.Join(failed...)
			}
		}
		if len(page) < sweepLimit {
			return errors.Join(failed...)
		}
	}
}

func (s *IngestSweeper) check(ctx context.Context, ref asset.IngestRef) error {
	d, err := s.Client.DescribeWorkflowExecution(ctx, ref.Asset.WorkflowID(), "")
	var absent *serviceerror.NotFound
	if err != nil && !errors.As(err, &absent) {
		return err
	}
	if err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil
	}
	intents, err := s.Assets.Reingest(ctx, ref, "sweeper", "nothing was looking into it")
	if err != nil || len(intents) == 0 {
		return err
	}
	s.Log.Warn("ingesting an asset again that nothing was looking into", "asset", ref.Asset)
	s.Kick(intents)
	return nil
}
