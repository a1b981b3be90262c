package asset_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.Bytes()
}

// The bounds of metadata are exact, and the error names the bound.
func TestTheBoundsOfMetadataAreExact(t *testing.T) {
	t.Parallel()
	const empty = len(`{"a":""}`)
	deep := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	for raw, says := range map[string]string{
		`{"a":"` + strings.Repeat("x", 16<<10-empty) + `"}`:   "",
		`{"a":"` + strings.Repeat("x", 16<<10-empty+1) + `"}`: "it is larger than 16384 bytes",
		deep(16):                   "",
		deep(17):                   "it is nested too deeply",
		`{`:                        "it is not JSON",
		`[]`:                       "it is not a JSON object",
		`{"a":"` + `\u0000` + `"}`: "it contains a NUL character",
		`{"a":1e401}`:              "it contains a number that a double cannot represent, or with too many digits",
	} {
		_, err := asset.ParseMetadata([]byte(raw))
		if says == "" {
			require.NoError(t, err, "%.40s", raw)
			continue
		}
		require.EqualError(t, err, "the metadata is not valid: "+says)
		require.True(t, fault.Is(err, fault.Invalid))
	}
}

// A number is one that a double represents, with at most 400 digits and an exponent of at most 400.
func TestANumberIsADouble(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0": true, "-1.5": true, "1e308": true, "1e309": false, "1E-300": true, "1e-400": false, "0e-400": true, "0e400": true, "0e401": false,
		"0e-401": false, "0.000": true, "0e99999999999999999999": false, strings.Repeat("0", 399) + "1": true,
		"0." + strings.Repeat("0", 398): true, "0." + strings.Repeat("0", 399): false, "1" + strings.Repeat("0", 308): true,
		"0." + strings.Repeat("0", 350) + "9": false, "5e-324": true,
	} {
		require.Equal(t, want, asset.IsDouble(json.Number(text)), text)
	}
}

// An asset is changed ten thousand times, counted in events, and has at most 64 tags.
func TestTheBoundsOfChangesAreExact(t *testing.T) {
	t.Parallel()
	for version, refused := range map[int64]bool{9_998: false, 9_999: true} {
		_, err := asset.Asset{ID: id, Version: version}.ChangeEvents(asset.Change{Name: at("x"), ContentType: at("y")})
		require.Equal(t, refused, err != nil, version)
	}
	tags := make([]string, 65)
	for n, refused := range map[int]bool{64: false, 65: true} {
		all := tags[:n]
		_, err := asset.Asset{}.ChangeEvents(asset.Change{Tags: &all})
		require.Equal(t, refused, err != nil, n)
	}
}

// A strict request repeats an asset only with all its values; another one repeats it anyway.
func TestAStrictRequestRepeatsAnEqualAsset(t *testing.T) {
	t.Parallel()
	there := asset.Asset{ContentType: "image/png", Name: "n", Metadata: json.RawMessage(`{"a":1}`), Preview: "p"}
	same := asset.New{ContentType: "image/png", About: asset.About{Name: "n", Metadata: asset.Metadata(`{"a":1}`), Preview: "p", Strict: true}}
	for name, c := range map[string]struct {
		change func(*asset.New)
		want   bool
	}{
		"the same":         {func(*asset.New) {}, true},
		"no type":          {func(n *asset.New) { n.ContentType = "" }, true},
		"another type":     {func(n *asset.New) { n.ContentType = "image/webp" }, false},
		"another name":     {func(n *asset.New) { n.Name = "" }, false},
		"other metadata":   {func(n *asset.New) { n.Metadata = nil }, false},
		"another preview":  {func(n *asset.New) { n.Preview = "" }, false},
		"an id":            {func(n *asset.New) { n.Chosen = "c" }, false},
		"not strict":       {func(n *asset.New) { *n = asset.New{Chosen: "c", ContentType: "x"} }, true},
		"an id, no strict": {func(n *asset.New) { n.Chosen, n.Strict = "c", false }, true},
	} {
		n := same
		c.change(&n)
		require.Equal(t, c.want, n.Repeats(there), name)
	}
}

// The folder of a file without a name is that of its origin or of its tags.
func TestTheFolderOfAFileWithoutAName(t *testing.T) {
	t.Parallel()
	for origin, want := range map[asset.Origin]string{
		asset.Uploaded: "input", asset.Referenced: "input", asset.Produced: "input", asset.Hosted: "output", asset.Archived: "export",
	} {
		require.Equal(t, []string{want}, asset.Asset{Origin: origin}.Labels())
		for _, tag := range []string{"output", "temp", "models"} {
			require.Equal(t, []string{tag, "x"}, asset.Asset{Origin: origin, Tags: []string{"input", tag, "x"}}.Labels(), origin)
		}
		require.Equal(t, []string{want}, asset.Asset{Origin: origin, Tags: []string{"input"}}.Labels(), origin)
	}
	require.Equal(t, []string{"models"}, asset.Asset{Place: &asset.Place{Folder: "input", Subfolder: "models/models", Filename: "x"}}.Labels())
	require.Equal(t, "b.png", asset.Asset{ID: id, Place: &asset.Place{Subfolder: "a", Filename: "b.png"}}.Title())
	for tag, want := range map[string]bool{"input": true, "output": true, "temp": true, "models": true, "export": false, "": false} {
		require.Equal(t, want, asset.IsPlaceLabel(tag), tag)
	}
	require.Equal(t, "models/vae/a.safetensors", asset.ModelFile("vae", "a.safetensors"))
	category, name, ok := asset.Place{Folder: "input", Subfolder: "models/vae/x", Filename: "a"}.ModelPath()
	require.Equal(t, []any{"vae", "x/a", true}, []any{category, name, ok})
}

// The state of an asset has what each event says, and nothing else.
func TestTheStateOfAnAssetHasWhatItsEventsSay(t *testing.T) {
	t.Parallel()
	path, deadline, chosenAt := "a/b", start.Add(time.Hour), start.Add(-time.Hour)
	rec := func(version int64) eventlog.Recorded {
		return eventlog.Recorded{
			Stream: id.Stream(), Version: version, Position: 10 * version, Account: "acme",
			RecordedAt: start.Add(time.Duration(version) * time.Second),
		}
	}
	stamp := func(version int64) *time.Time { at := rec(version).RecordedAt; return &at }
	producer := asset.Producer{Job: "j", Run: 1, Node: "n"}
	made := asset.CreatedV1{
		PublicID: "c", Origin: asset.Produced, Hash: blob.Sum([]byte("x")), Size: 1, ContentType: "image/png", FilePath: &path,
		Place: &asset.Place{Filename: "b"}, Producer: &producer, Tags: []string{"a"}, Width: 1, Height: 2, CreatedAt: &chosenAt,
		ExpiresAt: &deadline, Name: "n", Metadata: json.RawMessage(`{}`), Preview: "p",
	}
	want := asset.Asset{
		ID: id, Chosen: "c", Account: "acme", State: asset.Live, Version: 1, Position: 10, Origin: asset.Produced, Hash: made.Hash, Size: 1,
		ContentType: "image/png", FilePath: &path, Place: made.Place, Producer: &producer, Tags: []string{"a"}, Width: 1, Height: 2,
		CreatedAt: chosenAt, ExpiresAt: &deadline, Name: "n", Metadata: made.Metadata, Preview: "p",
	}
	require.Equal(t, want, asset.Fold(asset.Asset{}, rec(1), made))
	for _, c := range []struct {
		event   any
		apply   func(*asset.Asset)
		changed bool
	}{
		{asset.VerifiedV1{OK: true, Workflow: "w"}, func(a *asset.Asset) { a.VerifiedAt, a.VerifiedBy = stamp(2), "w" }, false},
		{asset.VerifiedV1{Scan: &asset.Scan{Verdict: asset.Rejects}}, func(a *asset.Asset) {
			a.VerifiedAt, a.Damaged, a.State, a.Scan = stamp(2), true, asset.Rejected, &asset.Scan{Verdict: asset.Rejects}
		}, false},
		{asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Clean, Width: 5, Height: 6}}, func(a *asset.Asset) {
			a.Scan, a.Width, a.Height = &asset.Scan{Verdict: asset.Clean, Width: 5, Height: 6}, 5, 6
		}, false},
		{asset.ScannedV1{Scan: asset.Scan{Verdict: asset.NotKnown, Width: 5}}, func(a *asset.Asset) {
			a.Scan = &asset.Scan{Verdict: asset.NotKnown, Width: 5}
		}, false},
		{asset.ScannedV1{Scan: asset.Scan{Height: 5}}, func(a *asset.Asset) { a.Scan = &asset.Scan{Height: 5} }, false},
		{asset.ScannedV1{Scan: asset.Scan{Width: 1, Height: 1}}, func(a *asset.Asset) {
			a.Scan, a.Width, a.Height = &asset.Scan{Width: 1, Height: 1}, 1, 1
		}, false},
		{asset.RetentionExtendedV1{ExpiresAt: stamp(9)}, func(a *asset.Asset) { a.ExpiresAt = stamp(9) }, false},
		{asset.DeletedV1{}, func(a *asset.Asset) { a.State, a.EndedAt = asset.Deleted, stamp(2) }, false},
		{asset.ExpiredV1{}, func(a *asset.Asset) { a.State, a.EndedAt = asset.Expired, stamp(2) }, false},
		{asset.RenamedV1{Name: "m"}, func(a *asset.Asset) { a.Name = "m" }, true},
		{asset.RetypedV1{ContentType: "t"}, func(a *asset.Asset) { a.ContentType = "t" }, true},
		{asset.TagsAddedV1{Tags: []string{"0", "a"}}, func(a *asset.Asset) { a.Tags = []string{"0", "a"} }, true},
		{asset.TagsRemovedV1{Tags: []string{"a"}}, func(a *asset.Asset) { a.Tags = nil }, true},
		{asset.DescribedV1{Metadata: json.RawMessage(`{"k":1}`)}, func(a *asset.Asset) { a.Metadata = json.RawMessage(`{"k":1}`) }, true},
		{asset.PreviewChosenV1{Preview: "q"}, func(a *asset.Asset) { a.Preview = "q" }, true},
		{struct{}{}, func(*asset.Asset) {}, false},
	} {
		after := want
		after.Version, after.Position = 2, 20
		c.apply(&after)
		if c.changed {
			after.UpdatedAt, after.Changed = stamp(2), 20
		}
		require.Equal(t, after, asset.Fold(want, rec(2), c.event), "%T", c.event)
	}
	made.CreatedAt = nil
	require.Equal(t, *stamp(1), asset.Fold(asset.Asset{}, rec(1), made).CreatedAt)
	early := start
	require.Equal(t, &early, asset.LaterDeadline(&early, stamp(0)))
	require.Nil(t, asset.LaterDeadline(nil, nil))
}

// Ids that are derived from the same parts are the same in every process, and others differ.
func TestDerivedIDsNeverChange(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"90002684-40a6-56a8-b92e-72784f85354a", "1c8637b1-8b52-5c8c-b993-41d3554cdccd", "0ed2b20e-1c11-5376-9823-d83c80a4d1bd",
	}, []string{
		string(asset.OutputID("j", 1, "9", 0)), string(asset.IDOfChoice("acme", "c")), asset.EventID(id, asset.TypeCreated).String(),
	})
	require.NotEqual(t, asset.IDOfChoice("acme", "c"), asset.IDOfChoice("other", "c"))
	require.NotEqual(t, asset.EventID(id, asset.TypeCreated), asset.EventID(id, asset.TypeCreated, 1))
	require.Equal(t, "ingest-"+string(id), id.WorkflowID())
	require.Equal(t, "ingest-batch-b", asset.BatchWorkflowID("b"))
	require.Equal(t, "chosen", asset.Producer{Job: "j", Chosen: "chosen"}.PublicJob())
	require.Equal(t, "j", asset.Producer{Job: "j"}.PublicJob())
	parsed, err := asset.ParsePublicID(string(id))
	require.NoError(t, err)
	require.Equal(t, asset.PublicID(id), parsed)
	_, err = asset.ParsePublicID(strings.ToUpper(string(id)))
	require.Error(t, err)
	_, err = asset.ParseID(string(asset.NewID()))
	require.NoError(t, err)
	for state, gone := range map[asset.State]bool{asset.Live: false, asset.Rejected: false, asset.Deleted: true, asset.Expired: true} {
		require.Equal(t, gone, state.Gone(), state)
	}
}

// A weight's metadata are its notes, and its path is its folder and its name.
func TestAWeightShowsItsNotesAndItsPath(t *testing.T) {
	t.Parallel()
	w := asset.Weight{Folder: "vae", Name: "sub/a.safetensors", WeightNotes: asset.WeightNotes{Source: "s", License: "l"}}
	require.Equal(t, "vae/sub/a.safetensors", w.Path())
	require.JSONEq(t, `{"source":"s","license":"l"}`, string(w.Metadata()))
	require.Equal(t, `{}`, string(asset.WeightNotes{}.Metadata()))
}
