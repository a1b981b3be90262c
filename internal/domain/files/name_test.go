package files_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

func TestNumbered(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a.png", files.Numbered("a.png", 0))
	require.Equal(t, "a (1).png", files.Numbered("a.png", 1))
	require.Equal(t, "a.tar (12).gz", files.Numbered("a.tar.gz", 12))
	require.Equal(t, "noext (1)", files.Numbered("noext", 1))
	require.Equal(t, ".hidden (1)", files.Numbered(".hidden", 1))
	long := files.Numbered(strings.Repeat("é", 125)+".png", 3)
	require.LessOrEqual(t, len(long), 255)
	require.NoError(t, files.CheckPath(long), "a character is never cut in half")
}

func TestCounters(t *testing.T) {
	t.Parallel()
	prefixes, numbers := files.Counters("a_00005_00001_.png")
	require.Equal(t, []string{"a", "a_00005"}, prefixes)
	require.Equal(t, []int64{5, 1}, numbers)
	for _, none := range []string{"a.png", "_00001_.png", "a_.png", "a_1234567890_.png"} {
		prefixes, _ = files.Counters(none)
		require.Empty(t, prefixes, none)
	}
}

func FuzzPlace(f *testing.F) {
	for _, s := range []string{"a/b.png", "../a", "a [output]", "asset:x", "a//b", "c:\\x", "\xff", "a/./b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p, err := files.ParseName(name, node.FolderInput)
		if err != nil {
			return
		}
		joined := files.Join(p)
		require.Equal(t, joined, path.Clean(joined))
		require.False(t, path.IsAbs(joined))
		require.NotContains(t, strings.Split(joined, "/"), "..")
		require.NotContains(t, joined, "\x00")
		require.NotContains(t, joined, "\\")
		again, err := files.NewPlace(node.Folder(p.Folder), joined)
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

// Drives of Windows are letters; a colon after another character is part of a name.
func TestDrivesAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"a:", "z:x", "A:/x", "Z:/x", "m:"} {
		require.Error(t, files.CheckPath(p), p)
	}
	for _, p := range []string{"a", "1:", "`:x", "{:x", "@:x", "[:x", "ab:x", "é:x"} {
		require.NoError(t, files.CheckPath(p), p)
	}
}
