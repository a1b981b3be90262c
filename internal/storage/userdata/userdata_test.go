package userdata_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"a", "a/b.json", "../x", "a/../b", "/a", "a//b", ".", "a\\b", "a\x00", "é/ü", "\xff", " a",
		strings.Repeat("a/", 20),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := userdata.ParsePath(text)
		if err != nil {
			return
		}
		require.Equal(t, text, string(p), "a path that is accepted is not changed")
		require.Equal(t, text, path.Clean(text), "and leads nowhere else")
		require.False(t, path.IsAbs(text) || text == ".." || strings.HasPrefix(text, "../"))
		require.True(t, utf8.ValidString(text))
		require.NotContains(t, text, "\x00")
		require.LessOrEqual(t, len(text), userdata.MaxPath)
	})
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]userdata.Path{"": "", ".": "", "/": "", "a": "a", "a/b/": "a/b"} {
		got, err := userdata.ParseDir(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := userdata.ParseDir("a/../..")
	require.Error(t, err)
}
