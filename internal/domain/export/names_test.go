package export_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func paths(entries []export.Entry, naming export.Naming) []string {
	var all []string
	for _, item := range export.Named(entries, naming) {
		all = append(all, item.Path)
	}
	return all
}

func TestFilesAreNamedByTheRequestedScheme(t *testing.T) {
	t.Parallel()
	entries := []export.Entry{
		{Asset: "a1", Public: "a1", Job: "j1", Dir: "sub", Name: "x_00001_.png", Filename: "x_00001_.png", JobTime: noon},
		{Asset: "a2", Public: "a2", Job: "j1", Name: "preview.png", Filename: "preview.png", Preview: true, JobTime: noon},
		{Asset: "a3", Public: "a3", Job: "j2", Name: "x_00001_.png", Filename: "x_00001_.png", JobTime: noon.Add(time.Millisecond)},
		{Asset: "a4", Public: "a4", Name: "Holiday", Filename: "upload.jpeg", CreatedAt: noon.Add(time.Hour)},
	}
	for naming, want := range map[export.Naming][]string{
		export.Preserve: {"sub/x_00001_.png", "preview.png", "x_00001_.png", "Holiday.jpeg"},
		export.ByAsset:  {"a1.png", "a2.png", "a3.png", "a4.jpeg"},
		export.ByJobID:  {"j1/sub/x_00001_.png", "j1/previews/preview.png", "j2/x_00001_.png", "unknown/Holiday.jpeg"},
		export.ByJobTime: {
			"2026-03-04T12-00-00/sub/x_00001_.png", "2026-03-04T12-00-00/previews/preview.png",
			"2026-03-04T12-00-01/x_00001_.png", "2026-03-04T13-00-00/Holiday.jpeg", // two jobs of one second lie apart
		},
	} {
		require.Equal(t, want, paths(entries, naming), naming)
	}
}

func TestFileNamesAreDistinct(t *testing.T) {
	t.Parallel()
	var entries []export.Entry
	for _, name := range []string{"a.png", "A.png", "a (2).png", "a.png", "noext", "noext"} {
		entries = append(entries, export.Entry{Asset: "1", Public: "1", Name: name})
	}
	require.Equal(t, []string{"a.png", "A (2).png", "a (2) (2).png", "a (3).png", "noext", "noext (2)"}, paths(entries, export.Preserve))
}

func TestNamesStayInsideTheArchive(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"../../etc/passwd":              "etc/passwd",
		`..\..\windows\system32`:        "windows/system32",
		"/absolute.png":                 "absolute.png",
		"C:\\boot.ini":                  "C_/boot.ini",
		"a/./b/../c.png":                "a/b/c.png",
		"...":                           "the-asset",
		"":                              "the-asset",
		" .. /x":                        "x",
		"name. ":                        "name",
		"a\x00b\n.png":                  "a_b_.png",
		"\xff.png":                      "_.png",
		"ünïcode 画像.png":                "ünïcode 画像.png",
		strings.Repeat("ü", 300) + ".p": strings.Repeat("ü", 99) + ".p",
	} {
		require.Equal(t, []string{want}, paths([]export.Entry{{Asset: "the-asset", Public: "the-asset", Name: name}}, export.Preserve), name)
	}
}

func FuzzNamesStayInsideTheArchive(f *testing.F) {
	f.Add("../x", `..\y.png`, "name")
	f.Fuzz(func(t *testing.T, dir, name, filename string) {
		entries := []export.Entry{
			{Asset: "1", Public: "1", Dir: dir, Name: name, Filename: filename},
			{Asset: "2", Public: "2", Dir: dir, Name: name, Filename: filename},
		}
		for _, naming := range []export.Naming{export.Preserve, export.ByJobID, export.ByJobTime, export.ByAsset} {
			got := paths(entries, naming)
			require.NotEqual(t, strings.ToLower(got[0]), strings.ToLower(got[1]))
			for _, p := range got {
				require.True(t, utf8.ValidString(p) && path.Clean(p) == p && !path.IsAbs(p) && !strings.ContainsAny(p, "\\:\x00"), "%q", p)
				require.False(t, slices.Contains(strings.Split(p, "/"), ".."), "%q", p)
			}
		}
	})
}

func TestEqualRequestsAreEqual(t *testing.T) {
	t.Parallel()
	a, b := task.NewID(), task.NewID()
	base := export.Request{Assets: []asset.PublicID{asset.PublicID(a), asset.PublicID(b)}}
	normal, err := base.Normalize()
	require.NoError(t, err)
	require.Equal(t, export.ByJobTime, normal.Naming)
	again, err := export.Request{
		Assets: []asset.PublicID{asset.PublicID(strings.ToUpper(string(b))), asset.PublicID(a), asset.PublicID(b)},
		Names:  map[string][]string{"other": {"x"}},
	}.Normalize()
	require.NoError(t, err)
	require.Equal(t, normal.Fingerprint(), again.Fingerprint())
	previews, err := export.Request{Assets: base.Assets, Previews: true}.Normalize()
	require.NoError(t, err)
	require.NotEqual(t, normal.Fingerprint(), previews.Fingerprint())
}

// What a request says becomes an event, which is small.
func TestARequestIsBounded(t *testing.T) {
	t.Parallel()
	id := job.PublicID(job.NewID())
	for names, ok := range map[int]bool{64 << 10: true, 64<<10 + 1: false} {
		_, err := export.Request{Jobs: []job.PublicID{id}, Names: map[string][]string{string(id): {strings.Repeat("n", names)}}}.Normalize()
		require.Equal(t, ok, err == nil, "%d bytes of names: %v", names, err)
	}
	_, err := export.Request{Jobs: slices.Repeat([]job.PublicID{id}, 1001)}.Normalize()
	require.ErrorContains(t, err, "job_ids")
}

func TestExportIsFoundByTheNameOfItsArchive(t *testing.T) {
	t.Parallel()
	id := task.NewID()
	got, ok := export.IDOfName("export-20260304-120000-" + string(id) + ".zip")
	require.True(t, ok)
	require.Equal(t, id, got)
	for _, name := range []string{
		"", "export.zip", "export-20260304-120000-" + string(id),
		"../export-20260304-120000-" + string(id) + ".zip",
	} {
		_, ok := export.IDOfName(name)
		require.False(t, ok, name)
	}
}

// Filters of one job that is named in several spellings are joined; equal ones count once.
func TestFiltersOfOneJobAreJoined(t *testing.T) {
	t.Parallel()
	id := job.NewID()
	lower, upper := string(id), strings.ToUpper(string(id))
	r, err := export.Request{
		Jobs: []job.PublicID{job.PublicID(lower)}, Names: map[string][]string{lower: {"c", "a"}, upper: {"b", "a"}},
	}.Normalize()
	require.NoError(t, err)
	require.Equal(t, map[string][]string{lower: {"a", "b", "c"}}, r.Names)
	for n, ok := range map[int]bool{0: false, 1: true, 1000: true, 1001: false} {
		_, err := export.Request{
			Jobs: []job.PublicID{job.PublicID(lower)}, Names: map[string][]string{lower: slices.Repeat([]string{"a"}, n)},
		}.Normalize()
		require.Equal(t, ok, err == nil, "%d names: %v", n, err)
	}
}
