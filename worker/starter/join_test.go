package starter_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/worker/starter"
)

// ingest is the recorded intent to look into a new asset.
func ingest(t *testing.T, id int64, account string, size int64) outbox.Intent {
	t.Helper()
	ref := asset.IngestRef{Asset: asset.NewID(), Account: account, Size: size}
	payload, err := json.Marshal(ref)
	require.NoError(t, err)
	return outbox.Intent{ID: id, WorkflowID: ref.Asset.WorkflowID(), Kind: outbox.StartIngest, Payload: payload}
}

func refs(t *testing.T, in outbox.Intent) (refs []asset.IngestRef) {
	t.Helper()
	require.NoError(t, json.Unmarshal(in.Payload, &refs))
	return refs
}

func TestSmallUploadsOfAnAccountAreOneStart(t *testing.T) {
	t.Parallel()
	c := &starter.Starter{JoinIngests: true}
	const small, large = 1 << 10, 100 << 20
	cancel := outbox.Intent{ID: 5, Kind: outbox.Cancel}
	all := []outbox.Intent{
		ingest(t, 1, "a", small), ingest(t, 2, "b", small), ingest(t, 3, "a", large), ingest(t, 4, "a", small), cancel,
		ingest(t, 6, "a", small),
	}
	out := c.Join(all)
	require.Equal(t, []outbox.Intent{all[2], cancel}, out[:2], "large files and other intents are delivered as they are")
	require.Len(t, out, 4)
	joined := out[2]
	require.Equal(t, outbox.StartIngests, joined.Kind)
	require.Equal(t, int64(1), joined.ID)
	require.Equal(t, []int64{4, 6}, joined.With)
	require.Len(t, refs(t, joined), 3)
	for _, ref := range refs(t, joined) {
		require.Equal(t, "a", ref.Account)
	}
	require.Equal(t, all[1], out[3], "one that is alone stays what it is")
	require.NotEqual(t, joined.WorkflowID, c.Join(all)[2].WorkflowID, "no two batches are taken for the same")

	c.JoinIngests = false
	require.Equal(t, all, c.Join(all), "a slow scanner takes them one by one")
}

func TestABatchOfUploadsIsBounded(t *testing.T) {
	t.Parallel()
	c := &starter.Starter{JoinIngests: true}
	sizes := func(count int, size int64) (sizes []int) {
		var all []outbox.Intent
		for i := range count {
			all = append(all, ingest(t, int64(i), "a", size))
		}
		for _, in := range c.Join(all) {
			sizes = append(sizes, len(refs(t, in)))
		}
		return sizes
	}
	require.Equal(t, []int{asset.MaxBatch, asset.MaxBatch, 2}, sizes(2*asset.MaxBatch+2, 1))
	require.Equal(t, []int{16, 4}, sizes(20, 1<<20))
}
