package asset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// shakyBlobs are blobs with calls that may fail, also those of their writers.
type shakyBlobs struct {
	*mem.Store
	*faulttest.Calls
	writers int
	aborted int
	opened  int
	closed  int
}

func (b *shakyBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	return faulttest.Try(b.Calls, "create", func() (blob.Writer, error) {
		b.writers++
		w, err := b.Store.Create(ctx, d)
		return shakyWriter{w, b}, err
	})
}

func (b *shakyBlobs) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	return faulttest.Try(b.Calls, "open", func() (blob.Reader, error) {
		b.opened++
		r, err := b.Store.Open(ctx, ref)
		return shakyReader{r, b}, err
	})
}

type shakyWriter struct {
	blob.Writer
	of *shakyBlobs
}

func (w shakyWriter) Commit(ctx context.Context) (blob.Stored, error) {
	return faulttest.Try(w.of.Calls, "commit", func() (blob.Stored, error) { return w.Writer.Commit(ctx) })
}

func (w shakyWriter) Abort() error {
	w.of.aborted++
	return w.Writer.Abort()
}

type shakyReader struct {
	blob.Reader
	of *shakyBlobs
}

func (r shakyReader) Read(p []byte) (int, error) {
	return faulttest.Try(r.of.Calls, "read", func() (int, error) { return r.Reader.Read(p) })
}

func (r shakyReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{r})
}

func (r shakyReader) Close() error {
	r.of.closed++
	return r.Reader.Close()
}

// ledger is the records of uploads and of assets.
type ledger struct {
	asset.Uploads
	asset.Store
	*faulttest.Calls
	pieces []string // at=size
	made   []asset.New
	ended  []string
	taken  bool // the id of the asset is taken
}

func (l *ledger) Append(_ context.Context, _ asset.Upload, at int64, piece blob.Stored) error {
	return l.Do("append", func() error {
		l.pieces = append(l.pieces, fmt.Sprintf("%d=%d", at, piece.Size))
		return nil
	})
}

func (l *ledger) Made(_ context.Context, u asset.Upload) error {
	return l.Do("made", func() error { l.ended = append(l.ended, "made "+string(u.ID)); return nil })
}

func (l *ledger) Drop(_ context.Context, u asset.Upload) error {
	return l.Do("drop", func() error { l.ended = append(l.ended, "dropped "+string(u.ID)); return nil })
}

func (l *ledger) Create(ctx context.Context, n asset.New) (asset.Stored, error) {
	return faulttest.Try(l.Calls, "create", func() (asset.Stored, error) {
		if l.taken {
			return asset.Stored{}, fault.New(fault.Conflict, fault.CodeAssetIDTaken, "taken")
		}
		l.made = append(l.made, n)
		return asset.Stored{}, ctx.Err()
	})
}

// newResumable returns uploads in pieces of four bytes, of whose calls one fails.
func newResumable(fail int) (*asset.Resumable, *ledger, *shakyBlobs) {
	calls := &faulttest.Calls{Fail: fail}
	l, blobs := &ledger{Calls: calls}, &shakyBlobs{Store: mem.New(), Calls: calls}
	return &asset.Resumable{Uploads: l, Service: asset.NewService(l, blobs, asset.Options{}), Blobs: blobs, Piece: 4}, l, blobs
}

// The bytes of an upload are stored in pieces, each behind the one before, and what came before a connection broke is stored too.
func TestBytesAreStoredInPieces(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		text   string
		err    error
		pieces []string
	}{
		"nothing":               {"", nil, nil},
		"less than a piece":     {"abc", nil, []string{"100=3"}},
		"a piece":               {"abcd", nil, []string{"100=4"}},
		"more":                  {"abcdefghi", nil, []string{"100=4", "104=4", "108=1"}},
		"a broken connection":   {"abcdef", broken, []string{"100=4", "104=2"}},
		"broken between two":    {"abcd", broken, []string{"100=4"}},
		"broken from the start": {"", broken, nil},
	} {
		r, l, blobs := newResumable(0)
		src := io.Reader(strings.NewReader(c.text))
		if c.err != nil {
			src = io.MultiReader(src, iotest.ErrReader(c.err))
		}
		n, err := r.Write(t.Context(), asset.Upload{}, 100, src)
		require.ErrorIs(t, err, c.err, name)
		require.EqualValues(t, len(c.text), n, name)
		require.Equal(t, c.pieces, l.pieces, name)
		require.Equal(t, blobs.writers, blobs.aborted, "%s: no writer is left open", name)
	}
	r, l, _ := newResumable(0)
	r.Piece = 0
	n, err := r.Write(t.Context(), asset.Upload{}, 0, bytes.NewReader(make([]byte, 5<<20)))
	require.NoError(t, err)
	require.EqualValues(t, 5<<20, n)
	require.Equal(t, []string{"0=5242880"}, l.pieces, "a piece is large by default")
}

// Bytes that cannot be stored do not count: those of the pieces before do.
func TestBytesThatCannotBeStoredDoNotCount(t *testing.T) {
	t.Parallel()
	for call, want := range map[int]int64{1: 0, 2: 0, 3: 0, 4: 4, 5: 4, 6: 4, 7: 8, 8: 8, 9: 8} {
		r, l, blobs := newResumable(call)
		n, err := r.Write(t.Context(), asset.Upload{}, 0, strings.NewReader("abcdefghi"))
		require.ErrorIs(t, err, faulttest.ErrAway, call)
		require.Equal(t, want, n, call)
		require.Len(t, l.pieces, int(want/4))
		require.Equal(t, blobs.writers, blobs.aborted)
	}
}

// uploaded stores pieces and returns the upload that consists of them.
func uploaded(t *testing.T, blobs *shakyBlobs, pieces ...string) asset.Upload {
	t.Helper()
	u := asset.Upload{ID: "u", Account: "acme"}
	for _, piece := range pieces {
		ref, err := blob.PutBytes(t.Context(), blobs.Store, []byte(piece))
		require.NoError(t, err)
		u.Pieces = append(u.Pieces, ref)
	}
	return u
}

// An upload becomes an asset of all its bytes, once, also after its client has gone.
func TestAnUploadBecomesAnAsset(t *testing.T) {
	t.Parallel()
	whole, other := blob.Sum([]byte("abcdefghi")), blob.Sum([]byte("x"))
	for name, c := range map[string]struct {
		expected *blob.Ref
		taken    bool
		ended    []string
		code     fault.Code
	}{
		"nothing announced":       {nil, false, []string{"made u"}, ""},
		"the announced bytes":     {&whole, false, []string{"made u"}, ""},
		"other bytes":             {&other, false, []string{"dropped u"}, fault.CodeHashMismatch},
		"it was made before this": {nil, true, []string{"made u"}, ""},
	} {
		r, l, blobs := newResumable(0)
		l.taken = c.taken
		u := uploaded(t, blobs, "abcd", "efgh", "i")
		ctx, gone := context.WithCancel(t.Context())
		gone()
		store := &records{}
		if c.expected != nil {
			r.Service = asset.NewService(struct {
				*ledger
				hasNone
			}{l, hasNone{store}}, blobs, asset.Options{})
		}
		err := r.Finish(ctx, u, c.expected, asset.Spec{Account: "acme", ContentType: "image/png"})
		require.Equal(t, c.code, fault.CodeOf(err), name)
		require.Equal(t, c.code != "", err != nil, "%s: %v", name, err)
		require.Equal(t, c.ended, l.ended, name)
		require.Equal(t, blobs.opened, blobs.closed, name)
		require.Equal(t, blobs.writers, blobs.aborted, name)
		if c.code == "" && !c.taken {
			require.Len(t, l.made, 1, name)
			made := l.made[0]
			require.Equal(t, []any{whole, int64(9), "acme", "image/png"}, []any{made.Hash, made.Size, made.Account, made.ContentType})
		} else {
			require.Empty(t, l.made, name)
		}
	}
}

// hasNone is an account that has no bytes.
type hasNone struct{ of *records }

func (h hasNone) HasBytes(context.Context, string, blob.Ref) (bool, error) { return false, nil }

// Whichever call fails while an upload becomes an asset, the upload stays and the error says so.
func TestAnUploadStaysIfItCannotBecomeAnAsset(t *testing.T) {
	t.Parallel()
	calls := 0
	for {
		calls++
		r, l, blobs := newResumable(calls)
		u := uploaded(t, blobs, "abcd", "e")
		err := r.Finish(t.Context(), u, nil, asset.Spec{Account: "acme"})
		require.Equal(t, blobs.opened, blobs.closed)
		require.Equal(t, blobs.writers, blobs.aborted)
		if !l.Failed() {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, faulttest.ErrAway)
		require.Empty(t, l.ended, "call %d", calls)
	}
	require.Greater(t, calls, 6)
	r, l, blobs := newResumable(0)
	u := uploaded(t, blobs, "a")
	other := blob.Sum([]byte("x"))
	r.Service = asset.NewService(struct {
		*ledger
		hasNone
	}{l, hasNone{}}, blobs, asset.Options{})
	r.Uploads = noDrop{l}
	require.ErrorIs(t, r.Finish(t.Context(), u, &other, asset.Spec{}), errAway, "wrong bytes that stay are not said to be gone")
}

// noDrop are uploads that cannot be dropped.
type noDrop struct{ *ledger }

func (noDrop) Drop(context.Context, asset.Upload) error { return errAway }

// slowMade is a ledger that records an upload slowly.
type slowMade struct {
	*ledger
	mu sync.Mutex
}

func (s *slowMade) Made(ctx context.Context, u asset.Upload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	<-time.After(time.Second)
	return s.ledger.Made(ctx, u)
}

// Several requests to finish one upload make one asset; those of other accounts with the same id are others.
func TestRequestsToFinishAnUploadShareOneAsset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, l, blobs := newResumable(0)
		r.Uploads = &slowMade{ledger: l}
		u := uploaded(t, blobs, "a")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := r.Finish(t.Context(), u, nil, asset.Spec{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Len(t, l.made, 1)
		u.Account = "other"
		require.NoError(t, r.Finish(t.Context(), u, nil, asset.Spec{}))
		require.Len(t, l.made, 2)
	})
}
