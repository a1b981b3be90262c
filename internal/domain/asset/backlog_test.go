package asset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/storage/blob/mem"
)

// oneIntent records assets by leaving one intent for each.
type oneIntent struct{ asset.Store }

func (oneIntent) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	return asset.Stored{Intents: []outbox.Intent{{WorkflowID: n.Hash.String()}}}, nil
}

// notified collects what is to be done at once.
type notified []outbox.Intent

func (k *notified) Notify(intents []outbox.Intent) { *k = append(*k, intents...) }

func TestIngestionOfABurstWaitsForItsUploads(t *testing.T) {
	t.Parallel()
	var now notified
	s := asset.NewService(oneIntent{}, mem.New(), asset.Options{Notify: now.Notify})
	receive := func(data string) *asset.Incoming {
		in, err := s.Receive(t.Context(), "a", nil)
		require.NoError(t, err)
		_, err = in.Write([]byte(data))
		require.NoError(t, err)
		return in
	}
	create := func(in *asset.Incoming) {
		_, err := s.Create(t.Context(), in, nil, asset.Spec{Account: "a"})
		require.NoError(t, err)
		require.NoError(t, in.Drop())
	}
	first, second, refused := receive("1"), receive("2"), receive("3")
	create(first)
	require.Empty(t, now, "others are under way")
	require.NoError(t, refused.Drop())
	require.NoError(t, refused.Drop(), "a second time changes nothing")
	require.Empty(t, now)
	create(second)
	require.Len(t, now, 2, "the last one starts what waits")
	create(receive("4"))
	require.Len(t, now, 3, "one that is alone waits for nobody")
}
