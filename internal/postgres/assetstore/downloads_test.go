package assetstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/secret"
)

func newDownloads(t *testing.T) (*assetBundle, *assetstore.Downloads) {
	t.Helper()
	b := newAssets(t)
	registry := eventlog.NewRegistry()
	require.NoError(t, download.Events.Register(registry))
	b.events = eventstore.New(b.pool, registry, nil)
	b.events.DeliverBy(b.delivered.add)
	return b, assetstore.NewDownloads(b.pool, b.events, sealers(t, "11"))
}

// sealers returns the sealers of keys, each of which repeats two hex digits.
func sealers(t *testing.T, digits ...string) secret.Sealers {
	t.Helper()
	keys := make([]*secret.Key, len(digits))
	for i, d := range digits {
		var err error
		keys[i], err = secret.Parse(strings.Repeat(d, secret.Size))
		require.NoError(t, err)
	}
	all, err := secret.NewSealers(keys)
	require.NoError(t, err)
	return all
}

// fetched asks for the content of an address for the account "acme".
func fetched(t *testing.T, downloads *assetstore.Downloads, source string) (download.Download, error) {
	t.Helper()
	return downloads.Create(t.Context(), "acme", download.Request{
		Source: source, Asset: asset.PublicID(asset.NewID()), Name: "a.bin", Metadata: []byte(`{"a":1}`),
	}, "r")
}

func refOf(d download.Download) task.Ref { return task.Ref{Task: d.ID, Account: d.Account} }

func TestAnAcceptedDownloadIsKeptUntilItIsOver(t *testing.T) {
	t.Parallel()
	b, downloads := newDownloads(t)
	d, err := fetched(t, downloads, "https://example.com/a.bin")
	require.NoError(t, err)
	require.Equal(t, []outbox.Kind{outbox.StartDownload}, b.delivered.take())
	require.Equal(t, task.Created, d.State)
	require.JSONEq(t, `{"a":1}`, string(d.Requested.Request.Metadata))
	require.Equal(t, "r", d.RequestID)

	again, err := fetched(t, downloads, "https://example.com/a.bin")
	require.NoError(t, err)
	require.Empty(t, b.delivered.take())
	require.Equal(t, d.ID, again.ID, "an equal request joins the one under way")
	_, err = downloads.Get(t.Context(), "other", d.ID)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	for range 2 { // a second attempt records nothing new
		state, open, err := downloads.Begin(t.Context(), refOf(d))
		require.NoError(t, err)
		require.True(t, open)
		require.Equal(t, task.Running, state.State)
		require.EqualValues(t, 2, state.Version)
	}
	half := task.Progress{Kind: task.Download, Task: d.ID, Bytes: 2, Done: 1, Problem: "no space"}
	require.NoError(t, downloads.RecordProgress(t.Context(), half))
	for _, accounts := range [][]string{nil, {"acme"}} {
		open, err := downloads.Open(t.Context(), accounts)
		require.NoError(t, err)
		require.Len(t, open, 1)
		require.Equal(t, half, open[0].Progress)
	}
	none, err := downloads.Open(t.Context(), []string{"other"})
	require.NoError(t, err)
	require.Empty(t, none)
	done := download.CompletedV1{Name: "a.bin", Asset: d.Requested.Request.Asset, Size: 3}
	require.NoError(t, downloads.Complete(t.Context(), refOf(d), done))
	require.NoError(t, downloads.Fail(t.Context(), refOf(d), download.FailedV1{Code: "late"}))
	d, err = downloads.Get(t.Context(), "acme", d.ID)
	require.NoError(t, err)
	require.Equal(t, task.Completed, d.State)
	require.Equal(t, d.Requested.Request.Asset, d.Done.Asset)
	require.Nil(t, d.Failure)
	_, open, err := downloads.Begin(t.Context(), refOf(d))
	require.NoError(t, err)
	require.False(t, open)
}

func TestDownloadsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	_, downloads := newDownloads(t)
	for i := range 16 {
		_, err := fetched(t, downloads, fmt.Sprintf("https://example.com/%d", i))
		require.NoError(t, err)
	}
	_, err := fetched(t, downloads, "https://example.com/more")
	require.Equal(t, fault.CodeTooManyDownloads, fault.CodeOf(err), "%v", err)
}

func TestDownloadWithoutAWorkflowIsFoundAndBegunAgain(t *testing.T) {
	t.Parallel()
	b, downloads := newDownloads(t)
	d, err := fetched(t, downloads, "https://example.com/a")
	require.NoError(t, err)
	left, err := downloads.Unfinished(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Empty(t, left, "its intent waits")
	_, err = b.pool.Exec(t.Context(), `delete from outbox`)
	require.NoError(t, err)
	left, err = downloads.Unfinished(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Equal(t, []task.Ref{refOf(d)}, left)
	b.delivered.take()
	again, err := downloads.Restart(t.Context(), refOf(d), "sweeper", "nothing was fetching it")
	require.NoError(t, err)
	require.True(t, again)
	require.Equal(t, []outbox.Kind{outbox.StartDownload}, b.delivered.take())
}

func TestTheQueryOfADownloadIsKeptOutOfTheLog(t *testing.T) {
	t.Parallel()
	b, downloads := newDownloads(t)
	const source = "https://user:hunter2@example.com/a%20b.bin?token=hunter2#hunter2"
	d, err := fetched(t, downloads, source)
	require.NoError(t, err)
	require.Equal(t, "https://example.com/a%20b.bin", d.Requested.Request.Source)

	read := func(query string) (text string) {
		require.NoError(t, b.pool.QueryRow(t.Context(), query).Scan(&text))
		return text
	}
	require.NotContains(t, read(`select string_agg(e::text, ' ') from events e`), "hunter2")
	require.NotContains(t, read(`select string_agg(encode(source, 'escape'), ' ') from downloads`), "hunter2")

	rotated := assetstore.NewDownloads(b.pool, b.events, sealers(t, "22", "11"))
	for _, records := range []*assetstore.Downloads{downloads, rotated} {
		state, open, err := records.Begin(t.Context(), refOf(d))
		require.NoError(t, err)
		require.True(t, open)
		require.Equal(t, source, state.Requested.Request.Source, "what is fetched is the whole address")
	}
	_, _, err = assetstore.NewDownloads(b.pool, b.events, sealers(t, "22")).Begin(t.Context(), refOf(d))
	require.True(t, fault.Is(err, fault.Denied), "the key is gone: %v", err)

	require.NoError(t, downloads.Fail(t.Context(), refOf(d), download.FailedV1{Code: "gone"}))
	require.Equal(t, "0", read(`select count(*)::text from downloads`), "the address goes with the row")
}
