package assetstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
)

// A row whose stream disagrees with it, as after a repair by hand, must not keep the others of its batch.
func TestAssetThatCannotExpireDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	first, bad, last := b.create(t, "1.png", "1", past()), b.create(t, "2.png", "2", past()), b.create(t, "3.png", "3", past())
	_, err := b.pool.Exec(t.Context(), `update streams set closed = true where id = $1`, bad.ID.Stream())
	require.NoError(t, err)
	n, failed, err := b.store.Expire(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []asset.ID{bad.ID}, failed)
	require.Equal(t, asset.Expired, b.state(t, first.ID))
	require.Equal(t, asset.Expired, b.state(t, last.ID))
	n, failed, err = b.store.Expire(t.Context(), 10, failed)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, failed, "what was reported is passed over")
}
