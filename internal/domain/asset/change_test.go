package asset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func at[T any](v T) *T { return &v }

func tagged(tags ...string) asset.CreatedV1 {
	path := "in/photo.png"
	return asset.CreatedV1{
		Origin: asset.Uploaded, Hash: blob.Sum(nil), ContentType: "image/png", FilePath: &path, Tags: tags,
		Place: &asset.Place{Folder: "input", Subfolder: "in", Filename: "photo.png"},
	}
}

func metadata(t *testing.T, raw string) *asset.Metadata {
	t.Helper()
	m, err := asset.ParseMetadata([]byte(raw))
	require.NoError(t, err)
	return &m
}

func TestChangeEventsOfAnAsset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change asset.Change
		want   []any
	}{
		"nothing": {asset.Change{}, nil},
		"what is so already": {asset.Change{
			Name: at("photo.png"), ContentType: at("image/png"), Preview: at(asset.PublicID("")),
			Metadata: metadata(t, "{}"), Tags: at([]string{"a", "b"}),
		}, nil},
		"a name": {asset.Change{Name: at("Photo")}, []any{asset.RenamedV1{Name: "Photo"}}},
		"a type": {asset.Change{ContentType: at("image/webp")}, []any{asset.RetypedV1{ContentType: "image/webp"}}},
		"metadata": {
			asset.Change{Metadata: metadata(t, `{"k": 1}`)},
			[]any{asset.DescribedV1{Metadata: json.RawMessage(`{"k":1}`)}},
		},
		"a preview": {asset.Change{Preview: at(asset.PublicID(id))}, []any{asset.PreviewChosenV1{Preview: asset.PublicID(id)}}},
		"all tags": {
			asset.Change{Tags: at([]string{"b", "c"})},
			[]any{asset.TagsRemovedV1{Tags: []string{"a"}}, asset.TagsAddedV1{Tags: []string{"c"}}},
		},
		"one more, one less": {
			asset.Change{Add: []string{"a", "c"}, Remove: []string{"b", "x"}},
			[]any{asset.TagsRemovedV1{Tags: []string{"b"}}, asset.TagsAddedV1{Tags: []string{"c"}}},
		},
		"added and taken again": {asset.Change{Add: []string{"c"}, Remove: []string{"c"}}, nil},
	} {
		state := given(t, tagged("a", "b"))
		events, err := state.ChangeEvents(c.change)
		require.NoError(t, err, name)
		var got []any
		recorder := []any{tagged("a", "b")}
		for _, f := range events {
			require.Equal(t, typeOf(t, f.Data), f.Type)
			got = append(got, f.Data)
			recorder = append(recorder, f.Data)
		}
		require.Equal(t, c.want, got, name)
		again, err := given(t, recorder...).ChangeEvents(c.change)
		require.NoError(t, err)
		require.Empty(t, again, "%s, twice", name)
	}
}

func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range asset.MaxTags + 1 {
		many = append(many, fmt.Sprintf("t%02d", i))
	}
	state := given(t, tagged(many[:60]...))
	_, err := state.ChangeEvents(asset.Change{Add: many})
	require.Equal(t, fault.CodeTooManyTags, fault.CodeOf(err))
	_, err = state.ChangeEvents(asset.Change{Add: many[60:64]})
	require.NoError(t, err)
	state.Version = 10_000
	_, err = state.ChangeEvents(asset.Change{Name: at("x")})
	require.Equal(t, fault.CodeTooManyChanges, fault.CodeOf(err))
	events, err := state.ChangeEvents(asset.Change{Name: at("photo.png")})
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestEachFileHasOnePlaceAmongItsLabels(t *testing.T) {
	t.Parallel()
	placed := func(folder, subfolder, name string, tags ...string) asset.Asset {
		return asset.Asset{Place: &asset.Place{Folder: folder, Subfolder: subfolder, Filename: name}, Tags: tags}
	}
	for name, c := range map[string]struct {
		asset asset.Asset
		want  []string
	}{
		"an input":                      {placed("input", "a", "x.png", "b"), []string{"input", "b"}},
		"an output":                     {placed("output", "", "x.png"), []string{"output"}},
		"a tag of another place":        {placed("input", "", "x.png", "output", "temp", "z"), []string{"input", "z"}},
		"a model":                       {placed("input", "models/loras/sub", "x", "loras", "new"), []string{"models", "loras", "new"}},
		"a file beside the categories":  {placed("input", "models", "x"), []string{"input"}},
		"an output that looks like one": {placed("output", "models/loras", "x"), []string{"output"}},
		"no place":                      {asset.Asset{}, []string{"input"}},
		"no place, said by a tag":       {asset.Asset{Tags: []string{"output", "p"}}, []string{"output", "p"}},
		"what a model call gave":        {asset.Asset{Origin: asset.Hosted}, []string{"output"}},
	} {
		require.Equal(t, c.want, c.asset.Labels(), name)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	state := given(t, tagged())
	require.Equal(t, "photo.png", state.Title())
	state = given(t, tagged(), asset.RenamedV1{Name: "Mine"})
	require.Equal(t, "Mine", state.Title())
	require.Equal(t, string(id), asset.Asset{ID: id}.Title())
}

func TestMetadataIsABoundedObject(t *testing.T) {
	t.Parallel()
	deepest := strings.Repeat(`{"a":[`, 8) + strings.Repeat(`]}`, 8)
	for raw, want := range map[string]string{
		`{ "b" : 1.50, "a":[true,null,"x<y"] }`: `{"a":[true,null,"x\u003cy"],"b":1.50}`,
		`{"a":1,"a":2}`:                         `{"a":2}`, `{}`: "", ` null `: "",
		deepest: deepest, `{"a":[[],{},[],{},[],{},[],{},[],{}]}`: `{"a":[[],{},[],{},[],{},[],{},[],{}]}`,
	} {
		m, err := asset.ParseMetadata([]byte(raw))
		require.NoError(t, err, raw)
		require.Equal(t, want, string(m), raw)
	}
	for _, raw := range []string{
		"", "[]", `"x"`, "1", "{", `{"a":"\u0000"}`, `{"\u0000":1}`, `{"a":1e999}`, `{"a":1e-999}`, `{"a":1}{}`,
		`{"a":[[],[]],"b":` + deepest + `}`, `{"a":[{},{}],"b":` + deepest + `}`, `{"a":"` + strings.Repeat("x", 20_000) + `"}`,
	} {
		_, err := asset.ParseMetadata([]byte(raw))
		require.Equal(t, fault.CodeInvalidMetadata, fault.CodeOf(err), "%.40s", raw)
	}
}

// FuzzParseMetadata: what is accepted is what it says, and accepted again as it is.
func FuzzParseMetadata(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":[{"b":"é"}]}`, `{"a":1e-400}`, `{"a":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := asset.ParseMetadata(raw)
		if err != nil || m == nil {
			return
		}
		again, err := asset.ParseMetadata(m)
		if len(m) <= 16<<10 { // escapes of < and > lengthen it
			require.NoError(t, err)
			require.Equal(t, string(m), string(again))
		}
	})
}
