package asset_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

var errAway = errors.New("the database is away")

// records is a store of assets: whether the account has the bytes, and what was recorded.
type records struct {
	asset.Store
	has  bool
	away error
	made []asset.New
}

func (r *records) HasBytes(context.Context, string, blob.Ref) (bool, error) { return r.has, r.away }

func (r *records) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	r.made = append(r.made, n)
	return asset.Stored{}, nil
}

func (r *records) Reference(_ context.Context, n asset.New) (asset.Stored, bool, error) {
	r.made = append(r.made, n)
	return asset.Stored{}, true, nil
}

// watched are blobs that count what is written, touched and given up.
type watched struct {
	*mem.Store
	written, touched, aborted int
	away                      error
}

func (w *watched) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	w.written++
	writer, err := w.Store.Create(ctx, d)
	return &abortable{writer, w}, err
}

func (w *watched) Touch(ctx context.Context, ref blob.Ref) error {
	w.touched++
	return errors.Join(w.away, w.Store.Touch(ctx, ref))
}

func (w *watched) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	if w.away != nil {
		return 0, w.away
	}
	return w.Store.Stat(ctx, ref)
}

type abortable struct {
	blob.Writer
	of *watched
}

func (a *abortable) Abort() error {
	a.of.aborted++
	return a.Writer.Abort()
}

// The size of an image is that of its header, and only an image has one.
func TestDimensionsAreThoseOfTheHeader(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))))
	for text, want := range map[string][2]int{picture.String(): {3, 2}, picture.String()[:10]: {}, "text": {}, "": {}} {
		width, height := asset.Dimensions(strings.NewReader(text), int64(len(text)))
		require.Equal(t, want, [2]int{width, height}, "%.10q", text)
	}
}

// An announced hash saves writing bytes that the account and the store have. They are protected from the collector meanwhile, and the
// client proves that it has them.
func TestAnAnnouncedHashSavesWritingTheBytes(t *testing.T) {
	t.Parallel()
	const text = "the bytes"
	ref, other := blob.Sum([]byte(text)), blob.Sum([]byte("others"))
	for name, c := range map[string]struct {
		announced       *blob.Ref
		has, lost       bool // whether the account has the bytes, and the store has lost them
		database, blobs error
		written         int
		code            fault.Code
		err             error
	}{
		"nothing announced":                      {nil, true, false, nil, nil, 1, "", nil},
		"bytes that the account has":             {&ref, true, false, nil, nil, 0, "", nil},
		"bytes of another account":               {&ref, false, false, nil, nil, 1, "", nil},
		"bytes that the store has lost":          {&ref, true, true, nil, nil, 1, "", nil},
		"other bytes than announced":             {&other, false, false, nil, nil, 1, fault.CodeHashMismatch, nil},
		"no hash":                                {new(blob.Ref), true, false, nil, nil, 1, fault.CodeHashMismatch, nil},
		"the database is away":                   {&ref, true, false, errAway, nil, 0, "", errAway},
		"the blobs are away":                     {&ref, true, false, nil, errAway, 0, "", errAway},
		"the database, and nothing is announced": {nil, true, false, errAway, nil, 1, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, blobs := &records{has: c.has, away: c.database}, &watched{Store: mem.New(), away: c.blobs}
			if !c.lost {
				_, err := blob.PutBytes(t.Context(), blobs.Store, []byte(text))
				require.NoError(t, err)
			}
			s := asset.NewService(store, blobs, asset.Options{})
			in, err := s.Receive(t.Context(), "a", c.announced)
			require.ErrorIs(t, err, c.err)
			if c.err != nil {
				return
			}
			_, err = in.Write([]byte(text))
			require.NoError(t, err)
			_, err = s.Create(t.Context(), in, c.announced, asset.Spec{Account: "a"})
			require.NoError(t, in.Drop())
			require.Equal(t, c.written, blobs.written)
			require.Equal(t, c.written, blobs.aborted, "what is written is given up unless it was committed")
			if c.code != "" {
				require.Equal(t, c.code, fault.CodeOf(err))
				require.Empty(t, store.made)
				return
			}
			require.NoError(t, err)
			require.Equal(t, ref, store.made[0].Hash)
			require.Equal(t, int64(len(text)), store.made[0].Size)
			if c.written == 0 {
				require.NotZero(t, blobs.touched, "the collector spares it")
			}
		})
	}
}

// Bytes are referenced, and said to be there, if the account and the store have them.
func TestBytesThatAreThereAreReferenced(t *testing.T) {
	t.Parallel()
	ref := blob.Sum([]byte("x"))
	for name, c := range map[string]struct {
		has, lost       bool
		database, blobs error
		there           bool
	}{
		"there":                {true, false, nil, nil, true},
		"of another account":   {false, false, nil, nil, false},
		"lost":                 {true, true, nil, nil, false},
		"the database is away": {true, false, errAway, nil, false},
		"the blobs are away":   {true, false, nil, errAway, false},
	} {
		store, blobs := &records{has: c.has, away: c.database}, &watched{Store: mem.New(), away: c.blobs}
		if !c.lost {
			_, err := blob.PutBytes(t.Context(), blobs.Store, []byte("x"))
			require.NoError(t, err)
		}
		s, away := asset.NewService(store, blobs, asset.Options{}), errors.Join(c.database, c.blobs)
		there, err := s.HasBytes(t.Context(), "a", ref)
		require.Equal(t, c.there, there, name)
		require.Equal(t, away != nil, errors.Is(err, errAway), name)
		_, _, err = s.Reference(t.Context(), ref, asset.Spec{Account: "a"})
		switch {
		case c.there:
			require.NoError(t, err, name)
			require.Len(t, store.made, 1, name)
		case away != nil:
			require.ErrorIs(t, err, errAway, name)
		default:
			require.Equal(t, fault.CodeBlobNotFound, fault.CodeOf(err), name)
			require.Empty(t, store.made, name)
		}
	}
}

// unknown are references that cannot be read.
type unknown struct{}

func (unknown) Referenced(context.Context, []blob.Ref) (map[blob.Ref]bool, error) {
	return nil, errAway
}

// The collector removes nothing while it is not known what is referenced.
func TestNothingIsCollectedInDoubt(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
	require.NoError(t, err)
	for _, all := range []asset.AnyOf{{unknown{}, asset.Unreferenced{}}, {asset.Unreferenced{}, unknown{}}} {
		_, err := asset.Collector{Blobs: blobs, References: all}.CollectBefore(t.Context(), time.Now().Add(time.Hour))
		require.ErrorIs(t, err, errAway)
		_, err = blobs.Stat(t.Context(), ref)
		require.NoError(t, err)
	}
	refs := &counted{n: map[blob.Ref]int{ref: 1}}
	either := asset.AnyOf{asset.Unreferenced{}, refs}
	_, err = asset.Collector{Blobs: blobs, References: either}.CollectBefore(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	_, err = blobs.Stat(t.Context(), ref)
	require.NoError(t, err, "one of them keeps it")
}

// lost are blobs that cannot be listed.
type lost struct{ *mem.Store }

func (lost) Walk(context.Context, func(blob.Entry) error) error { return errAway }

// A store that cannot be listed is not said to be collected.
func TestAStoreThatCannotBeListedIsAnError(t *testing.T) {
	t.Parallel()
	calls := 0
	collector := asset.Collector{Blobs: lost{mem.New()}, References: asset.Unreferenced{}}
	done, err := collector.Collect(t.Context(), func(asset.Collection) { calls++ })
	require.ErrorIs(t, err, errAway)
	require.Zero(t, done)
	require.Zero(t, calls)
}

// An upload that is refused for want of a turn writes nothing.
func TestAnUploadWithoutATurnWritesNothing(t *testing.T) {
	t.Parallel()
	gate := load.New(load.Options{Slots: 1})
	blobs := &watched{Store: mem.New()}
	s := asset.NewService(&records{}, blobs, asset.Options{Uploads: gate})
	first, err := s.Receive(t.Context(), "a", nil)
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.Receive(ended, "a", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, blobs.written)
	require.NoError(t, first.Drop())
	next, err := s.Receive(t.Context(), "a", nil)
	require.NoError(t, err, "an upload that was dropped leaves its turn")
	require.NoError(t, next.Drop())
}
