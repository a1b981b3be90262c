package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func referenceTo(id asset.PublicID) string {
	return fmt.Sprintf(`{"__type":"core/ASSET","info":{"id":%q}}`, id)
}

// A reference to an asset becomes a name that finds this asset, whatever is uploaded later, and only for its account.
func TestReferencesToAssetsAreResolved(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	mine := upload(t, b, "a1", "photo.png", node.FolderInput, "one")
	for name, c := range map[string]struct {
		account, value string
		found          bool
	}{
		"of the account":     {"a1", referenceTo(mine.Public), true},
		"of another account": {"a2", referenceTo(mine.Public), false},
		"unknown":            {"a1", referenceTo(asset.PublicID(uuid.NewString())), false},
		"malformed":          {"a1", `{"__type":"core/ASSET","info":{"id":"x"}}`, false},
	} {
		prompt := fmt.Sprintf(`{"1":{"class_type":"LoadImage","inputs":{"image":%s,"mask":%s}}}`, c.value, c.value)
		for run, resolve := range map[string]func(g *graph.Graph) error{
			"submission": func(g *graph.Graph) error { return b.files.ResolveAssets(t.Context(), c.account, g) },
			"run": func(g *graph.Graph) error {
				return b.files.ResolveForJob(t.Context(), job.RunRef{Job: job.NewID(), Account: c.account, Run: 1}, g)
			},
		} {
			g, err := graph.Parse(json.RawMessage(prompt), graph.Limits{})
			require.NoError(t, err)
			err = resolve(g)
			if !c.found {
				require.Equal(t, fault.CodeMissingAsset, fault.CodeOf(err), "%s, %s", name, run)
				continue
			}
			require.NoError(t, err, "%s, %s", name, run)
			for _, in := range g.Nodes[0].Inputs {
				require.Equal(t, files.AssetName(mine.Public), in.Value, in.Name)
			}
		}
	}
}

// A graph that is shown to be submitted again names files as people do, as long as the name is that of the same file.
func TestAssetsOfAGraphAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	named := upload(t, b, "a1", "sub/photo.png", node.FolderInput, "one")
	replaced := upload(t, b, "a1", "lost.png", node.FolderInput, "two")
	upload(t, b, "a1", "lost.png", node.FolderInput, "three", func(u *files.Upload) { u.Overwrite = true })
	gone := asset.PublicID(uuid.NewString())
	const another = `{"__type":"other","info":{"id":%q}}`
	id := func(x asset.PublicID) string { return fmt.Sprintf("%q", files.AssetName(x)) }
	for name, c := range map[string]struct{ image, mask, wantImage, wantMask string }{
		"by its name":          {referenceTo(named.Public), `"x"`, `"sub/photo.png"`, `"x"`},
		"twice":                {referenceTo(named.Public), referenceTo(named.Public), `"sub/photo.png"`, `"sub/photo.png"`},
		"one that lost it":     {referenceTo(named.Public), referenceTo(replaced.Public), `"sub/photo.png"`, id(replaced.Public)},
		"one that is gone":     {referenceTo(gone), `["2",0]`, id(gone), `["2",0]`},
		"no reference":         {`"photo.png"`, `1`, `"photo.png"`, `1`},
		"of another type":      {fmt.Sprintf(another, named.Public), `"core/ASSET"`, fmt.Sprintf(another, named.Public), `"core/ASSET"`},
		"a text that names it": {`"core/ASSET"`, `1`, `"core/ASSET"`, `1`},
	} {
		prompt := `{"1":{"class_type":"LoadImage","inputs":{"image":%s,"mask":%s}}}`
		got, err := b.files.NameAssets(t.Context(), "a1", job.NewID(), json.RawMessage(fmt.Sprintf(prompt, c.image, c.mask)))
		require.NoError(t, err, name)
		require.Equal(t, fmt.Sprintf(prompt, c.wantImage, c.wantMask), string(got), name)
	}
	_, err := b.files.NameAssets(t.Context(), "a1", job.NewID(), json.RawMessage(`["core/ASSET"]`))
	require.Error(t, err, "a graph that cannot be read")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = b.files.NameAssets(ended, "a1", job.NewID(), json.RawMessage(`{"1":{"inputs":{"image":`+referenceTo(named.Public)+`}}}`))
	require.ErrorIs(t, err, context.Canceled)
}
