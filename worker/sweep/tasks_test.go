package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// uploads are assets whose ingestion is not done, and those that were ingested again.
type uploads struct {
	waiting []asset.IngestRef
	again   []asset.ID
}

func (u *uploads) Uningested(_ context.Context, after asset.ID, _ time.Duration, limit int) ([]asset.IngestRef, error) {
	at := 0
	for after != "" && u.waiting[at].Asset != after {
		at++
	}
	if after != "" {
		at++
	}
	return u.waiting[at:min(len(u.waiting), at+limit)], nil
}

func (u *uploads) Reingest(_ context.Context, ref asset.IngestRef, actor, reason string) (bool, error) {
	if actor == "" || reason == "" {
		return false, errors.New("who, and why?")
	}
	u.again = append(u.again, ref.Asset)
	return true, nil
}

// However many uploads wait, each is looked at, and those that nothing looks into are ingested again.
func TestUploadsWithoutAWorkflowAreIngestedAgain(t *testing.T) {
	t.Parallel()
	u, ids := &uploads{}, []asset.ID{}
	for range 450 {
		ids = append(ids, asset.NewID())
		u.waiting = append(u.waiting, asset.IngestRef{Asset: ids[len(ids)-1], Account: "a"})
	}
	stuck := all(running, ids[:449]...)
	stuck.broken, stuck.status[ids[5]], stuck.status[ids[6]] = ids[3], terminated, paused
	s := sweep.NewIngestReviver(stuck, u, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, s.Sweep(t.Context()), string(stuck.broken), "one that cannot be looked after keeps no other waiting")
	require.Equal(t, []asset.ID{ids[5], ids[449]}, u.again)
}
