package files_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// cabinet is a store of files in memory. An entry is found by what asks for it.
type cabinet struct {
	files.Store
	*faulttest.Calls
	entries map[string]files.Entry
	weights []asset.Weight
	saved   []files.Saving
	uploads []files.Upload
}

func (c *cabinet) find(what string) (files.Entry, error) {
	return faulttest.Try(c.Calls, what, func() (files.Entry, error) {
		e, ok := c.entries[what]
		if !ok {
			return files.Entry{}, fault.New(fault.NotFound, fault.CodeNotFound, "no file")
		}
		return e, nil
	})
}

func (c *cabinet) ByName(_ context.Context, who files.Viewer, p asset.Place) (files.Entry, error) {
	return c.find(fmt.Sprintf("%s %s %s:%s", who.Account, who.Job, p.Folder, files.Join(p)))
}

func (c *cabinet) ByAsset(_ context.Context, who files.Viewer, id asset.PublicID) (files.Entry, error) {
	return c.find(fmt.Sprintf("%s %s id %s", who.Account, who.Job, id))
}

func (c *cabinet) ByHash(_ context.Context, who files.Viewer, hash blob.Ref) (files.Entry, error) {
	return c.find(fmt.Sprintf("%s %s hash %s", who.Account, who.Job, hash))
}

func (c *cabinet) OfAnyone(_ context.Context, id asset.ID) (files.Entry, error) {
	return c.find("anyone " + string(id))
}

func (c *cabinet) ByAssets(_ context.Context, who files.Viewer, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	return faulttest.Try(c.Calls, fmt.Sprintf("%s %s ids %d", who.Account, who.Job, len(ids)), func() (map[asset.PublicID]files.Entry, error) {
		found := map[asset.PublicID]files.Entry{}
		for _, id := range ids {
			if e, ok := c.entries[string(id)]; ok {
				found[id] = e
			}
		}
		return found, nil
	})
}

func (c *cabinet) Names(_ context.Context, account string, folder node.Folder, limit int) ([]string, error) {
	what := fmt.Sprintf("names %s %s %d", account, folder, limit)
	return faulttest.Try(c.Calls, what, func() ([]string, error) { return []string{"a"}, nil })
}

func (c *cabinet) Weights(_ context.Context, accounts []string) ([]asset.Weight, error) {
	return faulttest.Try(c.Calls, "weights "+strings.Join(accounts, " "), func() ([]asset.Weight, error) { return c.weights, nil })
}

func (c *cabinet) Save(_ context.Context, s files.Saving) (files.Entry, error) {
	return faulttest.Try(c.Calls, "save", func() (files.Entry, error) {
		c.saved = append(c.saved, s)
		return files.Entry{
			Asset: s.Asset, Hash: s.Hash, Size: s.Size, ContentType: s.ContentType, CreatedAt: noon,
			Place: asset.Place{Folder: string(s.Folder), Subfolder: s.Subfolder, Filename: s.Prefix + s.Suffix},
		}, nil
	})
}

func (c *cabinet) Upload(_ context.Context, u files.Upload) (files.Entry, error) {
	return faulttest.Try(c.Calls, "upload", func() (files.Entry, error) {
		c.uploads = append(c.uploads, u)
		return files.Entry{Place: u.Place, ExpiresAt: u.ExpiresAt}, nil
	})
}

// drawers are blobs whose calls may fail.
type drawers struct {
	*mem.Store
	*faulttest.Calls
	aborted int
}

func (d *drawers) Create(ctx context.Context, as blob.Durability) (blob.Writer, error) {
	return faulttest.Try(d.Calls, "create", func() (blob.Writer, error) {
		w, err := d.Store.Create(ctx, as)
		return drawer{w, d}, err
	})
}

func (d *drawers) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	return faulttest.Try(d.Calls, "open", func() (blob.Reader, error) { return d.Store.Open(ctx, ref) })
}

func (d *drawers) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	return faulttest.Try(d.Calls, "stat", func() (int64, error) { return d.Store.Stat(ctx, ref) })
}

type drawer struct {
	blob.Writer
	of *drawers
}

func (d drawer) Write(p []byte) (int, error) {
	return faulttest.Try(d.of.Calls, "write", func() (int, error) { return d.Writer.Write(p) })
}

func (d drawer) Commit(ctx context.Context) (blob.Stored, error) {
	return faulttest.Try(d.of.Calls, "commit", func() (blob.Stored, error) { return d.Writer.Commit(ctx) })
}

func (d drawer) Abort() error {
	d.of.aborted++
	return d.Writer.Abort()
}

// linked are blobs that their backend serves itself.
type linked struct{ *drawers }

func (l linked) Presign(_ context.Context, ref blob.Ref, h blob.Headers, ttl time.Duration) (string, error) {
	return fmt.Sprint("https://bucket/", ref, h.ContentType, ttl), nil
}

func (l linked) Origin(context.Context) (string, error) { return "https://bucket", nil }

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newCabinet(fail int, opts files.Options) (*files.Service, *cabinet, *drawers) {
	calls := &faulttest.Calls{Fail: fail}
	c, d := &cabinet{Calls: calls, entries: map[string]files.Entry{}}, &drawers{Store: mem.New(), Calls: calls}
	return files.New(c, d, opts), c, d
}

// A node's file is stored, then recorded with all that its node says; whichever step fails, nothing is said to be saved.
func TestEachStepOfSavingMayFail(t *testing.T) {
	t.Parallel()
	save := node.Save{
		Folder: node.FolderOutput, Prefix: `sub\./dir/x`, Suffix: "_.png", ContentType: "image/png", Index: 3, Width: 4, Height: 2,
	}
	run := job.RunRef{Job: "j", Account: "acme", Run: 2}
	for step := range 6 {
		s, c, d := newCabinet(step, files.Options{OutputRetention: time.Hour, Now: func() time.Time { return noon.Add(1) }})
		nf := s.ForNode(run, "9")
		f, err := nf.Save(t.Context(), save, content("image"))
		require.Equal(t, []string{"create", "write", "commit", "save"}[:min(len(c.Made()), 4)], c.Made())
		if step > 0 && step < 5 {
			require.Len(t, c.Made(), step)
			require.ErrorIs(t, err, faulttest.ErrAway)
			require.Empty(t, c.saved)
			require.Empty(t, nf.Saved())
			require.Zero(t, f)
			require.Equal(t, map[bool]int{true: 1}[step > 1], d.aborted)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, node.File{Filename: "x_.png", Subfolder: "sub/dir", Folder: node.FolderOutput}, f)
		expires, ref := noon.Add(time.Hour), blob.Sum([]byte("image"))
		require.Equal(t, []files.Saving{{
			Asset: asset.OutputID("j", 2, "9", 3), Account: "acme", Folder: node.FolderOutput, Subfolder: "sub/dir", Prefix: "x", Suffix: "_.png",
			Producer: asset.Producer{Job: "j", Run: 2, Node: "9", Index: 3}, Hash: ref, Size: 5, ContentType: "image/png", Width: 4, Height: 2,
			ExpiresAt: &expires,
		}}, c.saved)
		require.Equal(t, []job.OutputFile{{
			Asset: string(c.saved[0].Asset), Hash: ref.String(), Size: 5, ContentType: "image/png", Filename: "x_.png", Subfolder: "sub/dir",
			Folder: "output", SavedAt: noon,
		}}, nf.Saved())
	}
}

// A node saves at most 8192 files under names that fit, and those of a hidden account are kept for a day.
func TestTheBoundsOfSavingAreExact(t *testing.T) {
	t.Parallel()
	for index, refused := range map[int]bool{8191: false, 8192: true} {
		s, _, _ := newCabinet(0, files.Options{})
		save := png(index)
		_, err := s.ForNode(newRun("acme"), "9").Save(t.Context(), save, content("x"))
		require.Equal(t, refused, err != nil, index)
	}
	for length, refused := range map[int]bool{255 - len("_000000000_.png"): false, 256 - len("_000000000_.png"): true} {
		s, _, _ := newCabinet(0, files.Options{})
		save := png(0)
		save.Prefix = strings.Repeat("x", length)
		_, err := s.ForNode(newRun("acme"), "9").Save(t.Context(), save, content("x"))
		require.Equal(t, refused, err != nil, length)
	}
	for of, want := range map[string]*time.Time{"acme": nil, account.Shadow("acme"): new(time.Time)} {
		s, c, _ := newCabinet(0, files.Options{Now: func() time.Time { return noon }})
		_, err := s.ForNode(newRun(of), "9").Save(t.Context(), png(0), content("x"))
		require.NoError(t, err)
		if want != nil {
			*want = noon.Add(24 * time.Hour)
		}
		require.Equal(t, want, c.saved[0].ExpiresAt)
		require.Equal(t, of, c.saved[0].Account)
	}
	s, c, _ := newCabinet(0, files.Options{InputRetention: time.Hour, Now: func() time.Time { return noon }})
	own, later := noon.Add(time.Minute), noon.Add(time.Hour)
	for given, want := range map[*time.Time]*time.Time{nil: &later, &own: &own} {
		e, err := s.Upload(t.Context(), files.Upload{Account: "a", ExpiresAt: given, Place: asset.Place{Filename: "x"}})
		require.NoError(t, err)
		require.Equal(t, want, e.ExpiresAt)
	}
	c.Reset(1)
	_, err := s.Upload(t.Context(), files.Upload{Place: asset.Place{Subfolder: "a", Filename: "b"}})
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.ErrorContains(t, err, "a/b")
}
