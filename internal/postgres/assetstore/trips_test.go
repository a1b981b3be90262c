package assetstore_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Whichever surface an asset comes from, it takes two round trips to the database: one for locks and reads, one for writes. The
// ingestion of an upload is delivered with its commit.
func TestAnAssetTakesTwoRoundTripsFromEverySurface(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	sent := &storetest.Statements{}
	config := b.pool.Config().Copy()
	config.MaxConns, config.ConnConfig.Tracer = 1, sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store := assetstore.New(pool, b.eventsOf(t, pool))
	place := func(i int) asset.Place { return asset.Place{Folder: "input", Filename: fmt.Sprintf("%d.png", i)} }
	hash := func(i int) blob.Ref { return blob.Sum([]byte(fmt.Sprint(i))) }
	surfaces := map[string]struct {
		record func(i int) error
		starts []outbox.Kind
	}{
		"POST /api/v2/assets": {func(i int) error {
			p := place(1000 + i)
			_, err := store.Create(t.Context(), asset.New{
				Account: "acme", Origin: asset.Uploaded, Hash: hash(i), Fresh: true, Size: 1, ContentType: "image/png",
				FilePath: &p.Filename, Place: &p,
			})
			return err
		}, []outbox.Kind{outbox.StartIngest}},
		"POST /api/upload/image": {func(i int) error {
			u := files.Upload{Account: "acme", Place: place(7), Hash: hash(2000 + i), Fresh: true, Size: 1, ContentType: "image/png"}
			_, err := store.Upload(t.Context(), u)
			return err
		}, []outbox.Kind{outbox.StartIngest}},
		"an output of a job": {func(i int) error {
			run := asset.Producer{Job: string(job.NewID()), Run: 1, Node: "9"}
			_, err := store.Save(t.Context(), files.Saving{
				Asset: asset.OutputID(run.Job, 1, "9", 0), Account: "acme", Folder: node.FolderOutput, Prefix: "a", Suffix: "_.png", Producer: run,
				Hash: hash(3000 + i), Size: 1, ContentType: "image/png",
			})
			return err
		}, nil},
	}
	for name, surface := range surfaces {
		require.NoError(t, surface.record(0), name) // which also prepares the statements
		b.delivered.take()
		sent.Trips()
		require.NoError(t, surface.record(1), name)
		require.Equal(t, 2, sent.Trips(), name)
		require.Equal(t, surface.starts, b.delivered.take(), name)
	}
}
