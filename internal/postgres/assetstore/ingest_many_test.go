package assetstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func TestWhatABatchFoundIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	var ids []asset.ID
	for i := range 4 {
		ids = append(ids, b.create(t, fmt.Sprintf("%d.png", i), fmt.Sprint(i), nil).ID)
	}
	require.NoError(t, b.store.Delete(t.Context(), "acme", ids[3], asset.By{}, "r"))
	there, err := b.store.GetAll(t.Context(), "acme", ids)
	require.NoError(t, err)
	require.Len(t, there, 3, "a deleted one is left out")
	require.Equal(t, ids[1], there[ids[1]].ID)
	foreign, err := b.store.GetAll(t.Context(), "other", ids)
	require.NoError(t, err)
	require.Empty(t, foreign)

	thumbnail := blob.Sum([]byte("small"))
	verified := func(scan asset.Scan) asset.VerifiedV1 {
		return asset.VerifiedV1{OK: true, Size: 1, Workflow: "ingest-batch-1", Scan: &scan}
	}
	found := []asset.Ingested{
		{Asset: ids[0], Verified: verified(asset.Scan{Verdict: asset.Clean, Width: 3, Height: 4, Thumbnail: thumbnail})},
		{Asset: ids[1], Verified: verified(asset.Scan{Verdict: asset.Rejects, Reason: "no"})},
		{Asset: ids[2], Verified: asset.VerifiedV1{Size: 1}},
	}
	for range 2 { // a second attempt changes nothing
		require.NoError(t, b.store.RecordAll(t.Context(), "acme", found))
		there, err = b.store.GetAll(t.Context(), "acme", ids)
		require.NoError(t, err)
		require.Equal(t, int64(2), there[ids[0]].Version)
		require.Equal(t, 3, there[ids[0]].Width)
		require.Equal(t, "ingest-batch-1", there[ids[0]].VerifiedBy)
		require.Equal(t, asset.Rejected, there[ids[1]].State)
		require.True(t, there[ids[2]].Damaged)
		require.Nil(t, there[ids[2]].Scan)
	}
	var rejected, pictured int
	require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) filter (where rejected), count(*) filter (where thumbnail = $1
		and width = 3 and height = 4)
		from files where ingest_since is null`, thumbnail[:]).Scan(&rejected, &pictured))
	require.Equal(t, [2]int{1, 1}, [2]int{rejected, pictured})
}

func TestABatchRecordsTheOthersOfAnAssetThatEnded(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	kept, gone := b.create(t, "kept.png", "1", nil).ID, b.create(t, "gone.png", "2", nil).ID
	require.NoError(t, b.store.Delete(t.Context(), "acme", gone, asset.By{}, "r"))
	verified := asset.VerifiedV1{OK: true, Scan: &asset.Scan{Verdict: asset.Clean}}
	require.NoError(t, b.store.RecordAll(t.Context(), "acme", []asset.Ingested{
		{Asset: gone, Verified: verified}, {Asset: kept, Verified: verified},
	}))
	there, err := b.store.GetAll(t.Context(), "acme", []asset.ID{kept, gone})
	require.NoError(t, err)
	require.Len(t, there, 1)
	require.NotNil(t, there[kept].Scan)
}
