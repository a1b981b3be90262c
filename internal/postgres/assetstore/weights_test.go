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
