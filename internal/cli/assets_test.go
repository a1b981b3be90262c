package cli_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections/assets"
)

func TestAssetsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, asset.Register(s.types))
	id := asset.ID("aaaaaaaa-0000-4000-8000-00000000000a")
	path := "in/\x1b[31mphoto.png"
	events, err := s.store.Append(t.Context(), eventlog.Append{
		Stream: id.Stream(), Account: "local", Expected: 0, Meta: eventlog.Meta{Actor: "local"},
		Events: []eventlog.Event{
			{ID: uuid.New(), Type: asset.TypeCreated, Data: asset.CreatedV1{Size: 12, ContentType: "image/png", FilePath: &path}},
			{ID: uuid.New(), Type: asset.TypeScanned, Data: asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Rejects, Reason: "not a picture"}}},
		},
	})
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		return assets.NewProjection(s.types).Apply(t.Context(), tx, events)
	}))
	for want, args := range map[string][]string{
		string(id):      {"assets", "list", "--status", "rejected", "--account", "local"},
		"not a picture": {"assets", "show", "aaaa"},
		"asset.scanned": {"assets", "events", "asset-aaaaaaaa"},
	} {
		out, err := s.run(t, args...)
		require.NoError(t, err, args)
		require.Contains(t, out, want)
		require.NotContains(t, out, "\x1b", "no asset writes to an operator's terminal")
	}
	out, err := s.run(t, "assets", "list", "--status", "live")
	require.NoError(t, err)
	require.NotContains(t, out, string(id))
	var a asset.Asset
	s.json(t, &a, "assets", "show", "aaaa")
	require.Equal(t, asset.Rejected, a.State)
	s.json(t, &a, "assets", "show", "aaaa", "--at", "1")
	require.Equal(t, asset.Live, a.State, "as it was")
	for want, args := range map[string][]string{
		"waits for verification": {"assets", "timeline", "aaaa"}, "both differ only": {"assets", "diff", "aaaa", "aaaa"},
		"no asset matches": {"assets", "list", "--status", "expired"},
	} {
		out, err := s.run(t, args...)
		require.NoError(t, err, args)
		require.Contains(t, out, want)
	}
	for _, wrong := range [][]string{
		{"assets", "list", "--limit", "-1"},
		{"assets", "timeline", "nope"},
		{"assets", "show", "aaaa", "--at", "3"},
		{"assets", "show", "aaaa", "--at", "2020-01-01"},
		{"assets", "show", "aaaa", "--at", "2020-01-01T00:00:00Z"},
		{"assets", "show", "bbbb"},
		{"assets", "show", "x"},
		{"assets", "list", "--status", "odd"},
		{"assets", "list", "--account", "nobody"},
	} {
		_, err := s.run(t, wrong...)
		require.Error(t, err, wrong)
	}
}
