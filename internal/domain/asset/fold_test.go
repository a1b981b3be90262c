package asset_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const id = asset.ID("0b4f8c52-5a34-4f0f-9a7a-3a1c7f2f7d10")

// given folds events that go through the registry's encoding, as stored ones do.
func given(t *testing.T, events ...any) asset.Asset {
	t.Helper()
	registry := eventlog.NewRegistry()
	require.NoError(t, asset.Register(registry))
	var state asset.Asset
	for i, event := range events {
		raw, err := json.Marshal(event)
		require.NoError(t, err)
		rec := eventlog.Recorded{
			Stream: id.Stream(), Version: int64(i + 1), Position: int64(10 * (i + 1)), Account: "a1",
			Type: typeOf(t, event), Data: raw, RecordedAt: start.Add(time.Duration(i) * time.Minute),
		}
		data, err := registry.Decode(rec.Type, rec.Data)
		require.NoError(t, err)
		state = asset.Fold(state, rec, data)
		require.Equal(t, state, asset.Fold(state, rec, data), "twice is once")
	}
	return state
}

func typeOf(t *testing.T, event any) string {
	t.Helper()
	switch event.(type) {
	case asset.CreatedV1:
		return asset.TypeCreated
	case asset.VerifiedV1:
		return asset.TypeVerified
	case asset.ScannedV1:
		return asset.TypeScanned
	case asset.RetentionExtendedV1:
		return asset.TypeRetentionExtended
	case asset.RenamedV1:
		return asset.TypeRenamed
	case asset.RetypedV1:
		return asset.TypeRetyped
	case asset.TagsAddedV1:
		return asset.TypeTagsAdded
	case asset.TagsRemovedV1:
		return asset.TypeTagsRemoved
	case asset.DescribedV1:
		return asset.TypeDescribed
	case asset.PreviewChosenV1:
		return asset.TypePreviewChosen
	case asset.DeletedV1:
		return asset.TypeDeleted
	case asset.ExpiredV1:
		return asset.TypeExpired
	}
	t.Fatalf("no type for %T", event)
	return ""
}

func created() asset.CreatedV1 {
	path := "in/photo.png"
	deadline := start.Add(time.Hour)
	return asset.CreatedV1{
		Origin: asset.Uploaded, Hash: blob.Sum([]byte("x")), Size: 1, ContentType: "image/png",
		FilePath: &path, Place: &asset.Place{Folder: "input", Subfolder: "in", Filename: "photo.png"},
		Tags: []string{"a", "b"}, ExpiresAt: &deadline,
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	later := start.Add(48 * time.Hour)
	for name, c := range map[string]struct {
		events []any
		check  func(*testing.T, asset.Asset)
	}{
		"created": {[]any{created()}, func(t *testing.T, a asset.Asset) {
			require.Equal(t, asset.Live, a.State)
			require.Equal(t, id, a.ID)
			require.Equal(t, "a1", a.Account)
			require.Equal(t, start, a.CreatedAt)
			require.Equal(t, "in/photo.png", *a.FilePath)
			require.Equal(t, []string{"a", "b"}, a.Tags)
			require.Equal(t, int64(10), a.Position)
		}},
		"verified": {[]any{created(), asset.VerifiedV1{OK: true, Size: 1}}, func(t *testing.T, a asset.Asset) {
			require.Equal(t, start.Add(time.Minute), *a.VerifiedAt)
			require.False(t, a.Damaged)
		}},
		"verified as damaged": {[]any{created(), asset.VerifiedV1{}}, func(t *testing.T, a asset.Asset) {
			require.True(t, a.Damaged)
		}},
		"verified and scanned in one step": {[]any{
			created(),
			asset.VerifiedV1{OK: true, Size: 1, Scan: &asset.Scan{Verdict: asset.Rejects, Width: 4, Height: 3}},
		}, func(t *testing.T, a asset.Asset) {
			require.Equal(t, start.Add(time.Minute), *a.VerifiedAt)
			require.Equal(t, asset.Rejected, a.State)
			require.Equal(t, [2]int{4, 3}, [2]int{a.Width, a.Height})
			require.Equal(t, asset.Rejects, a.Scan.Verdict)
		}},
		"scanned clean": {
			[]any{created(), asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Clean, Width: 4, Height: 3}}},
			func(t *testing.T, a asset.Asset) {
				require.Equal(t, asset.Live, a.State)
				require.Equal(t, [2]int{4, 3}, [2]int{a.Width, a.Height})
			},
		},
		"rejected by the scan": {
			[]any{created(), asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Rejects, Reason: "no"}}},
			func(t *testing.T, a asset.Asset) {
				require.Equal(t, asset.Rejected, a.State)
				require.False(t, a.State.Gone())
			},
		},
		"a rejected asset can be deleted": {
			[]any{created(), asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Rejects}}, asset.DeletedV1{}},
			func(t *testing.T, a asset.Asset) {
				require.Equal(t, asset.Deleted, a.State)
			},
		},
		"extended": {[]any{created(), asset.RetentionExtendedV1{ExpiresAt: &later}}, func(t *testing.T, a asset.Asset) {
			require.Equal(t, later, *a.ExpiresAt)
		}},
		"extended to never": {[]any{created(), asset.RetentionExtendedV1{}}, func(t *testing.T, a asset.Asset) {
			require.Nil(t, a.ExpiresAt)
		}},
		"expired": {[]any{created(), asset.ExpiredV1{}}, func(t *testing.T, a asset.Asset) {
			require.True(t, a.State.Gone())
			require.Equal(t, start.Add(time.Minute), *a.EndedAt)
		}},
		"nothing changes what is gone": {
			[]any{created(), asset.DeletedV1{}, asset.ExpiredV1{}, asset.VerifiedV1{}},
			func(t *testing.T, a asset.Asset) {
				require.Equal(t, asset.Deleted, a.State)
				require.Nil(t, a.VerifiedAt)
				require.Equal(t, int64(4), a.Version)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(t, given(t, c.events...))
		})
	}
}

func TestLaterReturnsTheLaterDeadline(t *testing.T) {
	t.Parallel()
	soon, late := start, start.Add(time.Hour)
	require.Equal(t, &late, asset.LaterDeadline(&soon, &late))
	require.Equal(t, &late, asset.LaterDeadline(&late, &soon))
	require.Nil(t, asset.LaterDeadline(nil, &late), "never wins")
	require.Nil(t, asset.LaterDeadline(&soon, nil))
}

func TestDerivedIDsAreStable(t *testing.T) {
	t.Parallel()
	a := asset.OutputID("j", 1, "9", 0)
	require.Equal(t, a, asset.OutputID("j", 1, "9", 0))
	require.NotEqual(t, a, asset.OutputID("j", 1, "9", 1))
	require.NotEqual(t, a, asset.OutputID("j", 2, "9", 0))
	require.NotEqual(t, asset.EventID(a, asset.TypeCreated), asset.EventID(a, asset.TypeDeleted))
	back, ok := asset.IDOfStream(a.Stream())
	require.True(t, ok)
	require.Equal(t, a, back)
	_, ok = asset.IDOfStream("job-" + string(a))
	require.False(t, ok)
}

// A reader may get the latest event of an asset twice.
func TestTheLatestEventOfAnAssetIsFoldedOnce(t *testing.T) {
	t.Parallel()
	a := given(t, created())
	require.Equal(t, a, asset.Fold(a, eventlog.Recorded{Version: a.Version, RecordedAt: start}, asset.DeletedV1{}))
}

// Clients know an asset by the id that its account chose, and otherwise by its own.
func TestPublicIDOfAnAsset(t *testing.T) {
	t.Parallel()
	a := asset.Asset{ID: id}
	require.Equal(t, asset.PublicID(id), a.PublicID())
	a.Chosen = "11111111-2222-4333-8444-555555555555"
	require.Equal(t, a.Chosen, a.PublicID())
}
