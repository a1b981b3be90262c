package files_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A file is found by its id, its hash or its name, and an input also where clients put it without saying so.
func TestAFileIsFoundWhereClientsNameIt(t *testing.T) {
	t.Parallel()
	id, ref := uuid.NewString(), blob.Sum([]byte("x"))
	for name, c := range map[string]struct {
		name  string
		there string // what finds it; "" = nothing
		asked []string
	}{
		"by its id":            {"asset:" + id, "acme j id " + id, []string{"acme j id " + id}},
		"by no id":             {"asset:x", "", []string{"acme j input:asset:x", "acme j temp:sent/asset:x"}},
		"by its hash":          {ref.String(), "acme j hash " + ref.String(), []string{"acme j hash " + ref.String()}},
		"by its name":          {"a.png", "acme j input:a.png", []string{"acme j input:a.png"}},
		"in another folder":    {"a.png [output]", "", []string{"acme j output:a.png"}},
		"by an id of a client": {"a.png", "acme j temp:sent/a.png", []string{"acme j input:a.png", "acme j temp:sent/a.png"}},
		"without a subfolder":  {"clip/a.png", "acme j input:a.png", []string{"acme j input:clip/a.png", "acme j input:a.png"}},
		"with a slash before":  {"/a.png", "acme j input:a.png", []string{"acme j input:a.png"}},
		"nowhere":              {"b/a.png", "", []string{"acme j input:b/a.png", "acme j input:a.png"}},
	} {
		s, store, d := newCabinet(0, files.Options{})
		_, err := blob.PutBytes(t.Context(), d.Store, []byte("x"))
		require.NoError(t, err)
		e := files.Entry{
			Asset: "i", Account: "acme", Hash: ref, Size: 1, ContentType: "t", Width: 3, Height: 2,
			Place: asset.Place{Subfolder: "s", Filename: "f"},
		}
		if c.there != "" {
			store.entries[c.there] = e
		}
		nf := s.ForNode(job.RunRef{Job: "j", Account: "acme"}, "9")
		got, err := nf.Stat(t.Context(), c.name)
		require.Equal(t, c.asked, store.Made(), name)
		if c.there == "" {
			require.True(t, fault.Is(err, fault.NotFound), name)
			require.Zero(t, got, name)
			require.Empty(t, nf.Pinned(), name)
			_, err = nf.Open(t.Context(), c.name)
			require.True(t, fault.Is(err, fault.NotFound), name)
			continue
		}
		require.NoError(t, err, name)
		info := node.Info{Name: "s/f", Hash: ref.String(), Size: 1, ContentType: "t", Pixels: 6}
		require.Equal(t, info, got, name)
		open, err := nf.Open(t.Context(), c.name)
		require.NoError(t, err, name)
		require.Equal(t, info, open.Info(), name)
		raw, err := io.ReadAll(open)
		require.NoError(t, err)
		require.NoError(t, open.Close())
		require.Equal(t, "x", string(raw))
		require.Equal(t, []string{"i"}, nf.Pinned(), "%s: once", name)
		for lookup := range store.Made()[:len(c.asked)] {
			store.Reset(lookup + 1)
			_, err = nf.Stat(t.Context(), c.name)
			require.ErrorIs(t, err, faulttest.ErrAway, name)
			require.Len(t, store.Made(), lookup+1, name)
		}
		store.Reset(len(c.asked) + 1)
		_, err = nf.Open(t.Context(), c.name)
		require.ErrorIs(t, err, faulttest.ErrAway, "%s: its bytes", name)
		require.ErrorContains(t, err, "open file i of account acme")
		e.Rejected = true
		store.entries[c.there] = e
		_, err = nf.Stat(t.Context(), c.name)
		require.True(t, fault.Is(err, fault.NotFound), "%s: a scan rejected it", name)
	}
}

// A hidden account reads the files of the account that it belongs to.
func TestAHiddenAccountReadsTheFilesOfItsAccount(t *testing.T) {
	t.Parallel()
	s, c, _ := newCabinet(0, files.Options{})
	shadow := account.Shadow("acme")
	c.entries["acme  input:a"] = files.Entry{Hash: blob.Sum(nil)}
	_, err := s.ForAccount(shadow).Stat(t.Context(), "a")
	require.NoError(t, err)
	c.entries["acme j input:b"] = files.Entry{Hash: blob.Sum(nil)}
	_, err = s.ForNode(job.RunRef{Job: "j", Account: shadow}, "9").Stat(t.Context(), "b")
	require.NoError(t, err)
}

// A list names the files of a folder, or the weights that were not rejected, of the account and of everyone.
func TestAListNamesFilesOrWeights(t *testing.T) {
	t.Parallel()
	s, c, _ := newCabinet(0, files.Options{})
	c.weights = []asset.Weight{{Folder: "vae", Name: "a"}, {Folder: "vae", Name: "b", Rejected: true}, {Folder: "loras", Name: "c"}}
	mine := s.ForAccount("acme")
	names, err := mine.List(t.Context(), node.FolderModels, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"vae/a", "loras/c"}, names)
	names, err = mine.List(t.Context(), node.FolderTemp, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
	require.Equal(t, []string{"weights acme " + account.Everyone, "names acme temp 5"}, c.Made())
	_, err = mine.List(t.Context(), "elsewhere", 5)
	require.True(t, fault.Is(err, fault.Invalid))
	for _, folder := range []node.Folder{node.FolderModels, node.FolderOutput} {
		c.Reset(1)
		_, err = mine.List(t.Context(), folder, 5)
		require.ErrorIs(t, err, faulttest.ErrAway)
	}
}

// A link names one content of a file: its own, or its thumbnail, while it may be read.
func TestALinkNamesOneContent(t *testing.T) {
	t.Parallel()
	own, thumbnail, other := blob.Sum([]byte("own")), blob.Sum([]byte("small")), blob.Sum([]byte("other"))
	for name, c := range map[string]struct {
		entry files.Entry
		hash  blob.Ref
		want  *files.Entry
	}{
		"its own": {files.Entry{Hash: own, Size: 3}, own, &files.Entry{Hash: own, Size: 3}},
		"its thumbnail": {
			files.Entry{Hash: own, Size: 3, Thumbnail: thumbnail}, thumbnail, &files.Entry{Hash: thumbnail, Thumbnail: thumbnail},
		},
		"its own, of two": {
			files.Entry{Hash: own, Size: 3, Thumbnail: thumbnail}, own, &files.Entry{Hash: own, Size: 3, Thumbnail: thumbnail},
		},
		"another":                  {files.Entry{Hash: own, Thumbnail: thumbnail}, other, nil},
		"no thumbnail":             {files.Entry{Hash: own}, blob.Ref{}, nil},
		"one that was rejected":    {files.Entry{Hash: own, Rejected: true}, own, nil},
		"a thumbnail of a refused": {files.Entry{Hash: own, Thumbnail: thumbnail, Rejected: true}, thumbnail, nil},
	} {
		s, store, _ := newCabinet(0, files.Options{})
		store.entries["anyone i"] = c.entry
		got, err := s.Linked(t.Context(), "i", c.hash)
		if c.want == nil {
			require.True(t, fault.Is(err, fault.NotFound), name)
			require.Zero(t, got, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, *c.want, got, name)
	}
	s, store, _ := newCabinet(1, files.Options{})
	_, err := s.Linked(t.Context(), "i", own)
	require.ErrorIs(t, err, faulttest.ErrAway)
	store.Reset(1)
	_, err = s.Known(t.Context(), "acme", nil)
	require.ErrorIs(t, err, faulttest.ErrAway)
}

// The storage backend serves a file itself if it can and has it.
func TestABackendServesAFileItself(t *testing.T) {
	t.Parallel()
	_, c, d := newCabinet(0, files.Options{})
	ref, err := blob.PutBytes(t.Context(), d.Store, []byte("x"))
	require.NoError(t, err)
	e, headers := files.Entry{Hash: ref}, blob.Headers{ContentType: "t"}
	link, err := files.New(c, d, files.Options{}).Presign(t.Context(), e, headers, time.Minute)
	require.NoError(t, err)
	require.Empty(t, link)
	s := files.New(c, linked{d}, files.Options{})
	link, err = s.Presign(t.Context(), e, headers, time.Minute)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint("https://bucket/", ref, "t", time.Minute), link)
	c.Reset(1)
	link, err = s.Presign(t.Context(), e, headers, time.Minute)
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.Empty(t, link)
	w, err := s.Create(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Abort())
}

// References are resolved with one query, for at most ten thousand different assets, and not to files that were rejected.
func TestReferencesAreResolvedTogether(t *testing.T) {
	t.Parallel()
	many := func(n int) *graph.Graph {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"i%d":%s`, i, referenceTo(asset.PublicID(uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)).String())))
		}
		g, err := graph.Parse(json.RawMessage(`{"1":{"class_type":"X","inputs":{`+b.String()[1:]+`}}}`), graph.Limits{})
		require.NoError(t, err)
		return g
	}
	s, c, _ := newCabinet(0, files.Options{})
	err := s.ResolveAssets(t.Context(), "acme", many(10_001))
	require.Equal(t, fault.CodeInvalidWorkflow, fault.CodeOf(err))
	require.ErrorContains(t, err, "at most 10000 assets, not 10001")
	require.Empty(t, c.Made())
	require.Equal(t, fault.CodeMissingAsset, fault.CodeOf(s.ResolveAssets(t.Context(), account.Shadow("acme"), many(10_000))))
	require.Equal(t, []string{"acme  ids 10000"}, c.Made())

	id := asset.PublicID(uuid.NewString())
	both := json.RawMessage(`{"1":{"class_type":"X","inputs":{"a":` + referenceTo(id) + `,"b":` + referenceTo(id) + `}}}`)
	for rejected, code := range map[bool]fault.Code{false: "", true: fault.CodeMissingAsset} {
		c.entries[string(id)] = files.Entry{Public: id, Rejected: rejected}
		c.Reset(0)
		g, err := graph.Parse(both, graph.Limits{})
		require.NoError(t, err)
		err = s.ResolveForJob(t.Context(), job.RunRef{Job: "j", Account: account.Shadow("acme")}, g)
		require.Equal(t, code, fault.CodeOf(err))
		require.Equal(t, []string{"acme j ids 1"}, c.Made())
		if rejected {
			var refused *fault.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, map[string]any{"node_errors": map[string]any{
				"1": []map[string]string{{"field": "a", "reason": "the asset does not exist"}},
			}}, refused.Details)
			require.Equal(t, "input a of node 1 names an asset that does not exist", refused.Message)
		}
	}
	c.Reset(1)
	g, err := graph.Parse(both, graph.Limits{})
	require.NoError(t, err)
	require.ErrorIs(t, s.ResolveAssets(t.Context(), "acme", g), faulttest.ErrAway)
	c.Reset(1)
	_, err = s.NameAssets(t.Context(), "acme", "j", both)
	require.ErrorIs(t, err, faulttest.ErrAway)
	none, err := graph.Parse(json.RawMessage(`{"1":{"class_type":"X","inputs":{}}}`), graph.Limits{})
	require.NoError(t, err)
	c.Reset(0)
	require.NoError(t, s.ResolveAssets(t.Context(), "acme", none))
	require.Empty(t, c.Made())
}
