package assetstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// What an account uploads among the models does not become a weight, which servers would offer to everyone.
func TestOnlyOperatorsPutWeights(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	put := func(owner, content string, by asset.By) {
		t.Helper()
		place, err := files.WeightPlace("checkpoints", "one.safetensors")
		require.NoError(t, err)
		ref, err := blob.PutBytes(t.Context(), b.blobs, []byte(content))
		require.NoError(t, err)
		_, err = b.store.Create(t.Context(), asset.New{
			Account: owner, Origin: asset.Uploaded, Hash: ref, Size: int64(len(content)), ContentType: "a/b", Place: &place, By: by,
			Naming: asset.MovesName,
		})
		require.NoError(t, err)
	}
	owners := func() (owners []string) {
		t.Helper()
		found, err := b.store.Weights(t.Context(), nil)
		require.NoError(t, err)
		for _, w := range found {
			owners = append(owners, w.Account)
		}
		return owners
	}
	put("acme", "own", asset.By{})
	require.Empty(t, owners())
	kim := asset.By{Actor: "kim"}
	put("acme", "own", kim)
	require.Equal(t, []string{"acme"}, owners(), "the operator puts the same file")
	put("acme", "another", asset.By{})
	require.Empty(t, owners(), "the account gives the name to a file of its own")
	put(account.Everyone, "for all", kim)
	put(account.LocalID, "for the only account", asset.By{})
	require.Equal(t, []string{account.Everyone, account.LocalID}, owners())
}

// A weight that replaces another one leaves nothing stored without a name.
func TestAWeightThatLosesItsNameIsDeleted(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	put := func(content string) asset.Asset {
		t.Helper()
		place, err := files.WeightPlace("checkpoints", "one.safetensors")
		require.NoError(t, err)
		ref, err := blob.PutBytes(t.Context(), b.blobs, []byte(content))
		require.NoError(t, err)
		made, err := b.store.Create(t.Context(), asset.New{
			Account: account.Everyone, Origin: asset.Uploaded, Hash: ref, Size: int64(len(content)), ContentType: "a/b", Place: &place,
			By: asset.By{Actor: "kim", Reason: "a better one"}, Naming: asset.MovesName,
		})
		require.NoError(t, err)
		return made.Asset
	}
	former := put("one")
	require.Equal(t, former.ID, put("one").ID, "the same bytes change nothing")
	latter := put("two")
	found, err := b.store.Weights(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, latter.ID, found[0].ID)
	var rows int
	require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) from files`).Scan(&rows))
	require.Equal(t, 1, rows)
	state, _, err := b.store.Get(t.Context(), account.Everyone, former.ID)
	require.NoError(t, err)
	require.Equal(t, asset.Deleted, state.State)
}
