package export_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The error of an invalid request names its fault, and the bounds are exact.
func TestTheBoundsOfARequestAreExact(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	one := []job.PublicID{job.PublicID(id)}
	names := func(n int) map[string][]string { return map[string][]string{id: slices.Repeat([]string{"a"}, n)} }
	for says, r := range map[string]export.Request{
		"naming_strategy must be":          {Jobs: one, Naming: "x"},
		"give job_ids, asset_ids or both":  {},
		"job_ids must contain UUIDs":       {Jobs: []job.PublicID{"x"}},
		"asset_ids must contain UUIDs":     {Assets: []asset.PublicID{asset.PublicID("{" + id + "}")}},
		"job_ids may have at most 1000":    {Jobs: slices.Repeat(one, 1001)},
		"asset_ids may have at most 1000":  {Assets: slices.Repeat([]asset.PublicID{asset.PublicID(id)}, 1001)},
		"must name 1 to 1000 files":        {Jobs: one, Names: names(1001)},
		"job_asset_name_filters must name": {Jobs: one, Names: names(0)},
		"at most 65536 bytes together":     {Jobs: one, Names: map[string][]string{id: {strings.Repeat("x", 65537)}}},
	} {
		_, err := r.Normalize()
		require.ErrorContains(t, err, says)
		require.True(t, fault.Is(err, fault.Invalid))
	}
	for _, naming := range []export.Naming{export.ByJobID, export.ByJobTime, export.Preserve, export.ByAsset} {
		r, err := export.Request{Jobs: slices.Repeat(one, 1000), Naming: naming, Names: names(1000)}.Normalize()
		require.NoError(t, err)
		require.Equal(t, export.Request{
			Jobs: one, Assets: []asset.PublicID{}, Naming: naming, Names: map[string][]string{id: {"a"}},
		}, r)
	}
	other, err := export.Request{Jobs: one, Names: map[string][]string{uuid.NewString(): {"x"}}}.Normalize()
	require.NoError(t, err)
	require.Nil(t, other.Names, "a filter of no job")
}

// A completion counts all missing files and names a hundred.
func TestACompletionNamesAHundredMissingFiles(t *testing.T) {
	t.Parallel()
	for _, n := range []int{99, 100, 101} {
		done := export.Completion("n", 5, export.Packed{Files: 2, Bytes: 7}, make([]export.Missing, n))
		require.Len(t, done.Missing, min(n, 100))
		done.Missing = nil
		require.Equal(t, export.CompletedV1{Name: "n", Size: 5, Files: 2 + n, Packed: 2, Bytes: 7}, done)
	}
}

// A part of a path has at most 200 bytes and keeps a short extension; control characters and those of Windows are replaced.
func TestAPartOfAPathIsBounded(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, want := range map[string]string{
		x(200):                 x(200),
		x(201):                 x(200),
		x(196) + ".png":        x(196) + ".png",
		x(197) + ".png":        x(196) + ".png",
		x(160) + "." + x(49):   x(150) + "." + x(49),
		x(160) + "." + x(50):   x(160) + "." + x(39),
		"a\x1f\x7f:*?\"<>|b ~": "a_________b ~",
		x(199) + "ü":           x(199),
		" a. . ":               "a",
	} {
		require.Equal(t, []string{want}, paths([]export.Entry{{Public: "p", Name: name, Filename: "f"}}, export.Preserve), name)
	}
}

// Jobs of one second get folders of different seconds, by the times of their submissions or of their first files, the same
// each time.
func TestJobsOfOneSecondHaveTheirOwnFolders(t *testing.T) {
	t.Parallel()
	e := func(of string, submitted, created time.Time) export.Entry {
		return export.Entry{Asset: "a", Public: "a", Job: of, Name: "x", JobTime: submitted, CreatedAt: created}
	}
	require.Equal(t, []string{
		"2026-03-04T12-00-01/x", "2026-03-04T12-00-00/x", "2026-03-04T12-00-02/x", "2026-03-04T12-00-02/x (2)", "2026-03-04T11-00-00/x",
	}, paths([]export.Entry{
		e("b", noon, noon.Add(-time.Hour)), e("a", noon, time.Time{}), e("c", time.Time{}, noon.Add(2*time.Second)),
		e("c", time.Time{}, noon.Add(9*time.Second)), e("", time.Time{}, noon.Add(-time.Hour)),
	}, export.ByJobTime))
	require.Equal(t, []string{"2026-03-04T12-00-00/x", "2026-03-04T12-00-00/x (2)"}, paths([]export.Entry{
		e("c", time.Time{}, noon.Add(time.Second)), e("c", time.Time{}, noon),
	}, export.ByJobTime), "of its first file")
}
