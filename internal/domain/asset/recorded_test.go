package asset_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// An asset has the time and the deadline of its upload in milliseconds, and what its client says of it.
func TestAnAssetIsRecordedWithItsDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, time.FixedZone("", 3600))
	created := time.Date(2026, 1, 2, 2, 4, 5, 6_000_000, time.UTC)
	path := "a/b.png"
	spec := asset.Spec{
		Account: "acme", ContentType: "image/png", FilePath: &path, Place: &asset.Place{Filename: "b.png"}, Tags: []string{"t"}, RequestID: "r",
		Chosen: "c", Key: "k", Naming: asset.MovesName, By: asset.By{Actor: "ops"}, About: asset.About{Name: "n", Strict: true},
	}
	for _, c := range []struct {
		retention, in, want time.Duration // want: 0 = never
	}{
		{0, 0, 0}, {time.Hour, 0, time.Hour}, {time.Hour, time.Minute, time.Minute}, {time.Hour, asset.Forever, 0}, {0, 1, 1},
	} {
		store, blobs := &records{has: true}, mem.New()
		ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
		require.NoError(t, err)
		s := asset.NewService(store, blobs, asset.Options{Retention: c.retention, Now: func() time.Time { return now }})
		spec.ExpiresIn = c.in
		_, same, err := s.Reference(t.Context(), ref, spec)
		require.NoError(t, err)
		require.True(t, same)
		want := asset.New{
			Chosen: "c", Account: "acme", Origin: asset.Referenced, Hash: ref, ContentType: "image/png", FilePath: &path, Place: spec.Place,
			Tags: []string{"t"}, CreatedAt: &created, RequestID: "r", Key: "k", Naming: asset.MovesName, By: asset.By{Actor: "ops"},
			About: asset.About{Name: "n", Strict: true},
		}
		if c.want > 0 {
			at := created.Add(c.want)
			want.Deadline = &at
		}
		require.Equal(t, []asset.New{want}, store.made)
		in, err := s.Receive(t.Context(), "acme", nil)
		require.NoError(t, err)
		_, err = in.Write([]byte("x"))
		require.NoError(t, err)
		_, err = s.Create(t.Context(), in, nil, spec)
		require.NoError(t, err)
		want.Origin, want.Size = asset.Uploaded, 1
		require.Equal(t, want, store.made[1])
	}
}

// An upload that cannot begin delays no ingestion, as one does that is under way.
func TestAnUploadThatCannotBeginDelaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		gate, ingestions := asset.NewGates(func(intents []outbox.Intent) { u.begun <- intents })
		blobs := &shakyBlobs{Store: mem.New(), Calls: &faulttest.Calls{Fail: 1}}
		u.service = asset.NewService(oneIntent{notify: ingestions.Notify}, blobs, asset.Options{Uploads: gate})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ingestions.Run(ctx) }()
		_, err := u.service.Receive(t.Context(), "a", nil)
		require.ErrorIs(t, err, faulttest.ErrAway)
		began := time.Now()
		u.create(u.receive("quick"))
		require.Len(t, <-u.begun, 1)
		require.Less(t, time.Since(began), time.Second)
		stop()
		require.NoError(t, <-ended)
	})
}

// Bytes that are lost between the announcement and the end of an upload are asked for again; those that cannot be committed are an error.
func TestBytesThatAreLostMeanwhileAreAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for after, touched := range map[time.Duration]int{time.Second: 1, 5 * time.Second: 2} {
			for _, lost := range []bool{false, true} {
				store, blobs := &records{has: true}, &watched{Store: mem.New()}
				ref, err := blob.PutBytes(t.Context(), blobs.Store, []byte("x"))
				require.NoError(t, err)
				s := asset.NewService(store, blobs, asset.Options{})
				in, err := s.Receive(t.Context(), "a", &ref)
				require.NoError(t, err)
				_, err = in.Write([]byte("x"))
				require.NoError(t, err)
				time.Sleep(after) //nolint:forbidigo // of the bubble's clock
				if lost {
					blobs.away = errAway
				}
				_, err = s.Create(t.Context(), in, &ref, asset.Spec{})
				if lost {
					require.True(t, fault.Is(err, fault.Unavailable))
					require.ErrorIs(t, err, errAway)
					require.ErrorContains(t, err, "send them again")
					require.Empty(t, store.made)
				} else {
					require.NoError(t, err)
					require.False(t, store.made[0].Fresh)
					require.EqualValues(t, 1, store.made[0].Size)
				}
				require.Equal(t, touched, blobs.touched)
				require.NoError(t, in.Drop())
			}
		}
	})
}

// Bytes that are stored for the first time are said to be fresh, and an image has its size.
func TestFreshBytesAreSaidToBeFresh(t *testing.T) {
	t.Parallel()
	store, blobs := &records{}, &shakyBlobs{Store: mem.New(), Calls: &faulttest.Calls{}}
	s := asset.NewService(store, blobs, asset.Options{})
	for _, fresh := range []bool{true, false} {
		in, err := s.Receive(t.Context(), "a", nil)
		require.NoError(t, err)
		_, err = in.Write(picture(t, 3, 2))
		require.NoError(t, err)
		_, err = s.Create(t.Context(), in, nil, asset.Spec{})
		require.NoError(t, err)
		last := store.made[len(store.made)-1]
		require.Equal(t, []any{fresh, 3, 2}, []any{last.Fresh, last.Width, last.Height})
	}
	in, err := s.Receive(t.Context(), "a", nil)
	require.NoError(t, err)
	blobs.Reset(1)
	_, err = s.Create(t.Context(), in, nil, asset.Spec{})
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.Len(t, store.made, 2)
}

// owner notes the commands on assets.
type owner struct {
	asset.Store
	done []string
}

func (o *owner) Change(_ context.Context, account string, id asset.ID, _ asset.Change, request string) (asset.Asset, []asset.Event, error) {
	o.done = append(o.done, fmt.Sprintf("change %s of %s for %s", id, account, request))
	return asset.Asset{ID: id}, []asset.Event{{Type: "t"}}, errAway
}

func (o *owner) Delete(_ context.Context, account string, id asset.ID, by asset.By, request string) error {
	o.done = append(o.done, fmt.Sprintf("delete %s of %s by %q for %s", id, account, by.Actor, request))
	return errAway
}

// A command on an asset reaches the store as it is, and so does the answer.
func TestCommandsOnAssetsReachTheStore(t *testing.T) {
	t.Parallel()
	store := &owner{}
	s := asset.NewService(store, mem.New(), asset.Options{})
	a, events, err := s.Change(t.Context(), "a", "i", asset.Change{}, "r")
	require.Equal(t, []any{asset.ID("i"), 1, errAway}, []any{a.ID, len(events), err})
	require.ErrorIs(t, s.Delete(t.Context(), "a", "i", "r"), errAway)
	require.ErrorIs(t, s.DeleteBy(t.Context(), "a", "i", asset.By{Actor: "ops"}, "r"), errAway)
	require.Equal(t, []string{`change i of a for r`, `delete i of a by "" for r`, `delete i of a by "ops" for r`}, store.done)
}
