package assets_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlogtest.Registry(tb)
	require.NoError(tb, asset.Register(r))
	return r
}

// id returns the nth asset of a history.
func id(n int) asset.ID {
	return asset.ID(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n)).String())
}

func given(n int, eventType string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id(n).Stream(), Account: "acme", Type: eventType, Data: data}
}

var deadline = time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC)

func created(n int, path string, tags ...string) projectiontest.Given {
	return given(n, asset.TypeCreated, asset.CreatedV1{
		Origin: asset.Uploaded, Hash: blob.Sum([]byte(path)), Size: int64(n), ContentType: "image/png", FilePath: &path,
		Place: &asset.Place{Folder: "input", Filename: path}, Tags: tags, ExpiresAt: &deadline,
	})
}

// history is the life of four assets: one verified and scanned, one rejected, one deleted, one nameless.
func history() []projectiontest.Given {
	return []projectiontest.Given{
		created(1, "Photo.png", "a", "b, c", `"q"`),
		created(2, "other.png", "a"),
		given(1, asset.TypeVerified, asset.VerifiedV1{OK: true, Size: 1}),
		{Stream: "note-1", Account: "acme", Type: eventlogtest.TypeNoted, Data: eventlogtest.NotedV1{Text: "no asset"}},
		given(1, asset.TypeScanned, asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Clean, SniffedType: "image/png", Width: 4, Height: 3}}),
		given(2, asset.TypeScanned, asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Rejects, Reason: "no"}}),
		created(3, "gone.png"),
		given(3, asset.TypeDeleted, asset.DeletedV1{}),
		given(1, asset.TypeRetentionExtended, asset.RetentionExtendedV1{}),
		given(4, asset.TypeCreated, asset.CreatedV1{Origin: asset.Referenced, Hash: blob.Sum(nil), ContentType: "a/b"}),
		given(1, asset.TypeRenamed, asset.RenamedV1{Name: "The Photo"}),
		given(1, asset.TypeTagsAdded, asset.TagsAddedV1{Tags: []string{"new", "old"}}),
		given(1, asset.TypeTagsRemoved, asset.TagsRemovedV1{Tags: []string{"old"}}),
		given(1, asset.TypeDescribed, asset.DescribedV1{Metadata: []byte(`{"rating":5}`)}),
		given(1, asset.TypePreviewChosen, asset.PreviewChosenV1{Preview: asset.PublicID(id(2))}),
		given(4, asset.TypeRetyped, asset.RetypedV1{ContentType: "image/webp"}),
	}
}

func TestAssetsView(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, assets.NewProjection(r), "assets", projectiontest.Record(t, r, history()...))
}

func TestAssetsViewRefusesAGap(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.RefusesAGap(t, assets.NewProjection(r), projectiontest.Record(t, r, history()...), 4)
}

func TestAssetsViewEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, assets.NewProjection(r), history()...)
}

func paths(p assets.Page) []string {
	out := []string{}
	for _, a := range p.Assets {
		if a.FilePath != nil {
			out = append(out, *a.FilePath)
		}
	}
	return out
}

// TestReads gives the same answers whether the view has folded nothing, some or all of the log.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, folded := range []int{0, 3, 6, len(history())} {
		t.Run(fmt.Sprintf("%d events folded", folded), func(t *testing.T) {
			t.Parallel()
			r, pool := registry(t), projectiontest.NewPool(t)
			events := eventstore.New(pool, r, nil)
			last := projectiontest.Position(projectiontest.Append(t, events, history()[:folded]...))
			fold(t, pool, r, last)
			projectiontest.Append(t, events, history()[folded:]...)
			reader := assets.NewReader(pool, r, nil)

			a, err := reader.Asset(t.Context(), "acme", id(1))
			require.NoError(t, err)
			require.Equal(t, [2]int{4, 3}, [2]int{a.Width, a.Height})
			require.Nil(t, a.ExpiresAt)
			for _, gone := range []asset.ID{id(3), id(9)} {
				_, err = reader.Asset(t.Context(), "acme", gone)
				require.Equal(t, fault.NotFound, fault.KindOf(err))
			}
			_, err = reader.Asset(t.Context(), "other", id(1))
			require.Equal(t, fault.NotFound, fault.KindOf(err))

			list := func(q assets.Query) assets.Page {
				p, err := reader.List(t.Context(), "acme", q)
				require.NoError(t, err)
				return p
			}
			require.Len(t, list(assets.Query{}).Assets, 3)
			require.Equal(t, []string{"other.png", "Photo.png"}, paths(list(assets.Query{Tags: []string{"a"}})))
			require.Equal(t, []string{"Photo.png"}, paths(list(assets.Query{Tags: []string{"b, c", `"q"`}})))
			require.Equal(t, []string{"Photo.png"}, paths(list(assets.Query{Name: "phoTO"})))
			require.Empty(t, list(assets.Query{Name: "100%"}).Assets)
			require.Empty(t, list(assets.Query{Tags: []string{"none"}}).Assets)
			var walked []asset.ID
			for q := (assets.Query{Limit: 1}); ; {
				p := list(q)
				for _, a := range p.Assets {
					walked = append(walked, a.ID)
				}
				if q.Before = p.Next; q.Before == 0 {
					break
				}
			}
			require.Equal(t, []asset.ID{id(4), id(2), id(1)}, walked)
			late := assets.NewReader(pool, r, func() time.Time { return deadline })
			_, err = late.Asset(t.Context(), "acme", id(2))
			require.Equal(t, fault.NotFound, fault.KindOf(err), "its deadline has come")
			p, err := late.List(t.Context(), "acme", assets.Query{})
			require.NoError(t, err)
			require.Len(t, p.Assets, 2)
		})
	}
}

// fold brings the view to a position of the log, as its runner would.
func fold(t *testing.T, pool *pgxpool.Pool, r *eventlog.Registry, to int64) {
	t.Helper()
	view := assets.NewProjection(r)
	found, err := pool.Query(t.Context(), eventstore.SelectEvents+` where position <= $1 order by position`, to)
	require.NoError(t, err)
	events, err := pgx.CollectRows(found, eventstore.ScanRecorded)
	require.NoError(t, err)
	if len(events) > 0 {
		projectiontest.Apply(t, pool, view, events...)
	}
	_, err = pool.Exec(t.Context(), `insert into checkpoints (name, position) values ($1, $2)`, view.Name, to)
	require.NoError(t, err)
}
