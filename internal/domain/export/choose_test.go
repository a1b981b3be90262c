package export_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// archive has one job with a saved file, a temporary file and a file whose content was rejected.
type archive struct{ titles map[asset.ID]asset.Asset }

func (archive) ByPublicID(_ context.Context, _ string, id job.PublicID) (job.Job, error) {
	if id != "j1" {
		return job.Job{}, fault.New(fault.NotFound, "", "no such job")
	}
	return job.Job{ID: "j1", SubmittedAt: noon, Outputs: []job.NodeOutput{{Node: "9", Files: []job.OutputFile{
		{Asset: "saved", Folder: asset.LabelOutput}, {Asset: "temp", Folder: asset.LabelTemp}, {Asset: "rejected", Folder: asset.LabelOutput},
	}}}}, nil
}

func (archive) Known(_ context.Context, _ string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	known := map[asset.PublicID]files.Entry{}
	for _, id := range ids {
		if id != "gone" {
			e := files.Entry{Asset: asset.ID(id), Public: id, Size: 10, Rejected: id == "rejected"}
			e.Place.Subfolder, e.Place.Filename = "sub", string(id)+".png"
			known[id] = e
		}
	}
	return known, nil
}

func (s archive) Several(_ context.Context, _ string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	found := maps.Clone(s.titles)
	maps.DeleteFunc(found, func(id asset.ID, _ asset.Asset) bool { return !slices.Contains(ids, id) })
	return found, nil
}

func chosen(t *testing.T, s archive, l export.Limits, r export.Request) (names []string, c export.Choice, err error) {
	t.Helper()
	c, err = export.Chooser{Jobs: s, Files: s, Shelf: s, Limits: l}.Choose(t.Context(), "a", r)
	for _, e := range c.Entries {
		names = append(names, e.Filename)
	}
	return names, c, err
}

func TestFilesOfARequestAreChosen(t *testing.T) {
	t.Parallel()
	type assets = []asset.PublicID
	jobs, j2 := []job.PublicID{"j1"}, []job.PublicID{"j2"}
	for name, c := range map[string]struct {
		request export.Request
		want    []string
		missing int
	}{
		"saved files of a job":          {export.Request{Jobs: jobs}, []string{"saved.png"}, 1},
		"with its temporary files":      {export.Request{Jobs: jobs, Previews: true}, []string{"saved.png", "temp.png"}, 1},
		"a file once":                   {export.Request{Jobs: jobs, Assets: assets{"saved", "other"}}, []string{"saved.png", "other.png"}, 1},
		"unknown files and jobs":        {export.Request{Jobs: j2, Assets: assets{"gone", "other"}}, []string{"other.png"}, 2},
		"filtered by its file name":     {export.Request{Jobs: jobs, Previews: true, Names: names("temp.png")}, []string{"temp.png"}, 1},
		"filtered by its path":          {export.Request{Jobs: jobs, Previews: true, Names: names("sub/temp.png")}, []string{"temp.png"}, 1},
		"filtered by its title":         {export.Request{Jobs: jobs, Previews: true, Names: names("Holiday")}, []string{"temp.png"}, 1},
		"a filter of another job":       {export.Request{Jobs: jobs, Names: map[string][]string{"j2": {"x"}}}, []string{"saved.png"}, 1},
		"a requested file has no job":   {export.Request{Assets: []asset.PublicID{"temp"}, Names: names("x")}, []string{"temp.png"}, 0},
		"its path below another folder": {export.Request{Jobs: jobs, Assets: assets{"other"}, Names: names("/x")}, []string{"other.png"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, choice, err := chosen(t, archive{map[asset.ID]asset.Asset{"temp": {ID: "temp", Name: "Holiday"}}}, export.Limits{}, c.request)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Len(t, choice.Missing, c.missing)
			require.EqualValues(t, 10*len(got), choice.Bytes)
			require.Equal(t, len(got)+c.missing, choice.Total())
			for _, e := range choice.Entries {
				require.Equal(t, e.Filename == "temp.png" && len(c.request.Jobs) > 0, e.Preview, e.Filename)
			}
		})
	}
}

func names(one string) map[string][]string { return map[string][]string{"j1": {one}} }

func TestArchiveIsBounded(t *testing.T) {
	t.Parallel()
	two := export.Request{Assets: []asset.PublicID{"x", "y"}}
	for name, c := range map[string]struct {
		limits  export.Limits
		refused fault.Code
	}{
		"exactly":        {export.Limits{Files: 2, Bytes: 20}, ""},
		"no bounds":      {export.Limits{}, ""},
		"too many files": {export.Limits{Files: 1}, fault.CodeExportTooLarge},
		"too many bytes": {export.Limits{Bytes: 19}, fault.CodeExportTooLarge},
	} {
		_, _, err := chosen(t, archive{}, c.limits, two)
		require.Equal(t, c.refused, fault.CodeOf(err), name)
	}
	_, _, err := chosen(t, archive{}, export.Limits{}, export.Request{Assets: []asset.PublicID{"gone"}})
	require.Equal(t, fault.CodeNothingToExport, fault.CodeOf(err))
}
