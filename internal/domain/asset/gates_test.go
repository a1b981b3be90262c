package asset_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// oneIntent records assets by delivering one intent for each.
type oneIntent struct {
	asset.Store
	notify func([]outbox.Intent)
}

func (o oneIntent) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	o.notify([]outbox.Intent{{WorkflowID: n.Hash.String(), Kind: outbox.StartIngest}})
	return asset.Stored{}, nil
}

// uploads is a service whose uploads leave intents, and the intents that it gave out.
type uploads struct {
	t          *testing.T
	service    *asset.Service
	ingestions *load.Gate
	begun      chan []outbox.Intent
}

func newUploads(t *testing.T) *uploads {
	u := &uploads{t: t, begun: make(chan []outbox.Intent, 100)}
	gate, ingestions := asset.NewGates(func(intents []outbox.Intent) { u.begun <- intents })
	u.ingestions = ingestions
	u.service = asset.NewService(oneIntent{notify: ingestions.Notify}, mem.New(), asset.Options{Uploads: gate})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ingestions.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return u
}

func (u *uploads) receive(data string) *asset.Incoming {
	in, err := u.service.Receive(u.t.Context(), "a", nil)
	require.NoError(u.t, err)
	_, err = in.Write([]byte(data))
	require.NoError(u.t, err)
	return in
}

func (u *uploads) create(in *asset.Incoming) {
	_, err := u.service.Create(u.t.Context(), in, nil, asset.Spec{Account: "a"})
	require.NoError(u.t, err)
	require.NoError(u.t, in.Drop())
}

func TestIngestionsOfSeveralUploadsBeginTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, began := newUploads(t), time.Now()
		for range 3 {
			u.create(u.receive("one after the other"))
		}
		require.Len(t, <-u.begun, 3)
		require.Less(t, time.Since(began), time.Second, "nothing else was under way")
	})
}

func TestIngestionsWaitForUploadsThatAreUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		slow, refused := u.receive("slow"), u.receive("refused")
		u.create(u.receive("quick"))
		<-time.After(time.Second) // by the test's own clock
		require.Empty(t, u.begun, "others are under way")
		require.NoError(t, refused.Drop())
		require.NoError(t, refused.Drop(), "a second time changes nothing")
		u.create(slow)
		require.Len(t, <-u.begun, 2)

		began, held := time.Now(), u.receive("held")
		u.create(u.receive("quick"))
		require.Len(t, <-u.begun, 1)
		require.Less(t, time.Since(began), 5*time.Second, "an upload that takes long holds up nothing for long")
		require.NoError(t, held.Drop())
	})
}

func TestFullBatchOfIngestionsStartsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, began := newUploads(t), time.Now()
		held := u.receive("held")
		for range 256 {
			u.create(u.receive("quick"))
		}
		require.Len(t, <-u.begun, 256)
		require.Zero(t, time.Since(began))
		require.NoError(t, held.Drop())
	})
}

func TestIntentsOfOtherKindsDoNotWaitForUploads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		held := u.receive("under way")
		other := []outbox.Intent{{Kind: outbox.StartExport}}
		u.ingestions.Notify(other)
		require.Equal(t, other, <-u.begun)
		require.NoError(t, held.Drop())
	})
}
