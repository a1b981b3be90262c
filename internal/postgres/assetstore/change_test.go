package assetstore_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestAChangeOfAnAssetIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a, shown := b.create(t, "1.png", "1", nil), b.create(t, "2.png", "2", nil)
	name := "First"
	preview := shown.PublicID()
	change := asset.Change{Name: &name, Add: []string{"x"}, Preview: &preview}
	after, events, err := b.store.Change(t.Context(), a.Account, a.ID, change, "r1")
	require.NoError(t, err)
	require.Len(t, events, 3)
	require.Equal(t, "First", after.Name)
	require.Equal(t, []string{"x"}, after.Tags)
	require.Equal(t, preview, after.Preview)
	require.Equal(t, a.Version+3, after.Version)
	require.NotNil(t, after.UpdatedAt)
	again, events, err := b.store.Change(t.Context(), a.Account, a.ID, change, "r2")
	require.NoError(t, err)
	require.Empty(t, events)
	require.Equal(t, after.Version, again.Version)

	var tags []string
	require.NoError(t, b.pool.QueryRow(t.Context(), `select tags from files where asset_id = $1`, string(a.ID)).Scan(&tags))
	require.Equal(t, []string{"x"}, tags, "a reference by the same bytes, path and tags finds it")
}

func TestOnlyItsOwnerChangesAnAsset(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a, ended := b.create(t, "1.png", "1", nil), b.create(t, "2.png", "2", past())
	name := "x"
	for _, c := range []struct {
		account string
		id      asset.ID
	}{{"another", a.ID}, {a.Account, asset.NewID()}, {a.Account, ended.ID}} {
		_, _, err := b.store.Change(t.Context(), c.account, c.id, asset.Change{Name: &name}, "")
		require.Equal(t, fault.NotFound, fault.KindOf(err))
	}
	for _, preview := range []asset.PublicID{asset.PublicID(asset.NewID()), ended.PublicID()} {
		_, _, err := b.store.Change(t.Context(), a.Account, a.ID, asset.Change{Preview: &preview}, "")
		require.Equal(t, fault.CodeInvalidPreview, fault.CodeOf(err))
	}
	require.NoError(t, b.store.Delete(t.Context(), a.Account, a.ID, asset.By{}, ""))
	_, _, err := b.store.Change(t.Context(), a.Account, a.ID, asset.Change{Name: &name}, "")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

// Changes that come at once follow each other: none is lost, and together they keep the bound.
func TestConcurrentChangesAreAllKept(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "1.png", "1", nil)
	var group sync.WaitGroup
	for _, tag := range []string{"a", "b", "c", "d", "e", "f"} {
		group.Go(func() {
			_, events, err := b.store.Change(t.Context(), a.Account, a.ID, asset.Change{Add: []string{tag}}, "")
			if err != nil || len(events) != 1 {
				t.Errorf("tag %s: %d events, %v", tag, len(events), err)
			}
		})
	}
	group.Wait()
	after, there, err := b.store.Get(t.Context(), a.Account, a.ID)
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, after.Tags)
}
