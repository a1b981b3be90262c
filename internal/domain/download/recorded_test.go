package download_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A download makes the asset that its request describes.
func TestADownloadMakesTheAssetOfItsRequest(t *testing.T) {
	t.Parallel()
	path := "a/b.png"
	r := download.Request{
		Source: "https://example.com/x?token=1", Asset: "i", Name: "n", Title: "t", Type: "image/png", FilePath: &path,
		Place: &asset.Place{Filename: "b.png"}, Tags: []string{"x"}, Metadata: json.RawMessage(`{"a":1}`), Preview: "p",
	}
	require.Equal(t, asset.Spec{
		Account: "acme", ContentType: "image/png", FilePath: &path, Place: r.Place, Tags: []string{"x"}, RequestID: "r", Chosen: "i",
		About: asset.About{Name: "t", Metadata: asset.Metadata(`{"a":1}`), Preview: "p", Strict: true},
	}, r.Spec("acme", "text/html", "r"))
	recorded := r.Recorded()
	require.Equal(t, "https://example.com/x", recorded.Source)
	recorded.Source = r.Source
	require.Equal(t, r, recorded, "only the address differs")
}

// Requests that ask for the same are equal, whichever ids their assets would have.
func TestEqualRequestsHaveEqualFingerprints(t *testing.T) {
	t.Parallel()
	ref := blob.Sum([]byte("x"))
	base := download.Request{Source: "https://example.com/x", Asset: "i", Weight: &download.Weight{Hash: &ref}}
	other := base
	other.Asset = "j"
	require.Equal(t, base.Fingerprint(), other.Fingerprint())
	require.Equal(t, asset.PublicID("i"), base.Asset)
	seen := map[string]bool{string(base.Fingerprint()): true}
	for _, change := range []func(*download.Request){
		func(r *download.Request) { r.Source += "?token=1" }, func(r *download.Request) { r.Name = "n" },
		func(r *download.Request) { r.Title = "t" }, func(r *download.Request) { r.Tags = []string{"x"} },
		func(r *download.Request) { r.Weight = nil }, func(r *download.Request) { r.Weight = &download.Weight{Hash: &ref, Replace: true} },
	} {
		r := base
		change(&r)
		require.Len(t, r.Fingerprint(), 32)
		require.False(t, seen[string(r.Fingerprint())])
		seen[string(r.Fingerprint())] = true
	}
}
