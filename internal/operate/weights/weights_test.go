package weights_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/secret"
)

// The list shows how far a weight is that a worker fetches, and why it waits. Other downloads are no weights.
func TestTheListShowsWeightsThatAreFetched(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(asset.Register(types), download.Events.Register(types)))
	db := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(db, types, nil)
	key, err := secret.Parse(strings.Repeat("11", secret.Size))
	require.NoError(t, err)
	sealers, err := secret.NewSealers([]*secret.Key{key})
	require.NoError(t, err)
	o := &weights.Service{Store: assetstore.New(db, log), Downloads: assetstore.NewDownloads(db, log, sealers)}
	place, err := files.WeightPlace("loras", "ink.safetensors")
	require.NoError(t, err)
	fetch := func(name string, w *download.Weight) download.Download {
		t.Helper()
		d, err := o.Downloads.Create(t.Context(), account.Everyone, download.Request{
			Source: "https://example.com/" + name, Asset: asset.PublicID(asset.NewID()), Name: name, Place: &place, Weight: w,
			Metadata: []byte(asset.WeightNotes{Source: "https://example.com/" + name}.Metadata()),
		}, "r")
		require.NoError(t, err)
		return d
	}
	d := fetch("ink.safetensors", &download.Weight{})
	fetch("picture.png", nil)
	at := slices.IndexFunc(weights.Actions.Actions, func(a action.For[*weights.Service]) bool { return a.ID == "adminWeights" })
	list := weights.Actions.Actions[at]
	for _, c := range []struct {
		progress task.Progress
		text     string
		fields   map[string]any
	}{
		{task.Progress{}, "created", nil},
		{task.Progress{Bytes: 200, Done: 50}, "25% fetched", map[string]any{"size": 200.0, "done": 50.0}},
		{task.Progress{Problem: "there is no space left"}, "created: there is no space left", map[string]any{"error": "there is no space left"}},
	} {
		c.progress.Task = d.ID
		require.NoError(t, o.Downloads.RecordProgress(t.Context(), c.progress))
		found, err := list.Do(t.Context(), o, list.New(false), operate.Attribution{})
		require.NoError(t, err)
		var out bytes.Buffer
		list.Show(&terminal.Printer{Out: &out}, list.New(false), found)
		require.Contains(t, out.String(), c.text)
		require.Contains(t, out.String(), "ink.safetensors")
		require.NotContains(t, out.String(), "picture.png")
		raw, err := json.Marshal(found)
		require.NoError(t, err)
		var shown []struct{ Download map[string]any }
		require.NoError(t, json.Unmarshal(raw, &shown))
		require.Len(t, shown, 1)
		require.Equal(t, string(d.ID), shown[0].Download["id"])
		for name, value := range c.fields {
			require.Equal(t, value, shown[0].Download[name])
		}
		require.Contains(t, string(raw), `"hash":""`)
	}
	require.NoError(t, o.Downloads.Fail(t.Context(), task.Ref{Task: d.ID, Account: d.Account}, download.FailedV1{Code: "x"}))
	found, err := list.Do(t.Context(), o, list.New(false), operate.Attribution{})
	require.NoError(t, err)
	require.Empty(t, found)
}
