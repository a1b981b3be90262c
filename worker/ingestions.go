package worker

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
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
	s.Age = orElse(s.Age, 2*time.Minute)
	return everySo(ctx, orElse(s.Every, time.Minute), s.Log, "ingestions", s.Sweep)
}

// Sweep does one round.
func (s *IngestSweeper) Sweep(ctx context.Context) error {
	return walk(ctx, func(after asset.ID) ([]asset.IngestRef, error) {
		return s.Assets.Uningested(ctx, after, s.Age, sweepLimit)
	}, func(ref asset.IngestRef) asset.ID { return ref.Asset }, func(ref asset.IngestRef) error { return s.check(ctx, ref) })
}

func (s *IngestSweeper) check(ctx context.Context, ref asset.IngestRef) error {
	at, err := StandingOf(ctx, s.Client, ref.Asset.WorkflowID())
	if err != nil || at.GoesOn() {
		return err
	}
	intents, err := s.Assets.Reingest(ctx, ref, "sweeper", "nothing was looking into it")
	if err != nil || len(intents) == 0 {
		return err
	}
	s.Log.Warn("ingesting an asset again that nothing was looking into", "asset", ref.Asset)
	s.Kick(intents)
	return nil
}
