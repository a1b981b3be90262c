package download_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
)

// The client knows best which type a file has, then the source, and the extension of the name is a guess.
func TestTheTypeOfADownloadedFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ client, source, guess, want string }{
		"as the client says":   {"image/png", "text/html", "image/webp", "image/png"},
		"as the source says":   {"", "image/jpeg", "image/webp", "image/jpeg"},
		"as its name suggests": {"", "", "image/webp", "image/webp"},
		"not known":            {},
	} {
		spec := download.Request{Type: c.client, Guess: c.guess}.Spec("a", c.source, "r")
		require.Equal(t, c.want, spec.ContentType, name)
	}
}

// A weight stays until an operator deletes it, and takes the name of another file only if it may.
func TestAWeightIsKeptForEver(t *testing.T) {
	t.Parallel()
	by := asset.By{Actor: "ops", Reason: "new model"}
	for replace, naming := range map[bool]asset.Naming{false: asset.KeepsName, true: asset.MovesName} {
		spec := download.Request{Weight: &download.Weight{By: by, Replace: replace}}.Spec("a", "", "r")
		require.Equal(t, naming, spec.Naming)
		require.Equal(t, by, spec.By)
		require.Equal(t, asset.Forever, spec.ExpiresIn)
	}
	require.Zero(t, download.Request{}.Spec("a", "", "r").ExpiresIn, "another file has the retention of its account")
}

// Events contain no credential of an address.
func TestTheRecordedSourceHasNoCredential(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://u:p@example.com/a%2Fb?token=secret#x": "https://example.com/a%2Fb", "https://example.com/": "https://example.com/", "%": "",
	} {
		require.Equal(t, want, download.Request{Source: source}.Recorded().Source, source)
	}
}
