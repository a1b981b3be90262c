package published

import (
	"archive/zip"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnArchiveMayNotUnpackToMoreThanItsBounds(t *testing.T) {
	t.Parallel()
	archive, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, archive.Close()) })
	w := zip.NewWriter(archive)
	for i := range 3 {
		f, err := w.Create(fmt.Sprintf("%s/%d/index.html", static, i))
		require.NoError(t, err)
		_, err = f.Write([]byte(strings.Repeat("x", 1000)))
		require.NoError(t, err)
	}
	f, err := w.Create(static + "/index.html")
	require.NoError(t, err)
	_, err = f.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, unpack(archive, t.TempDir(), bounds{files: 4, bytes: 3001}))
	require.ErrorContains(t, unpack(archive, t.TempDir(), bounds{files: 4, bytes: 3000}), "exceeds its bound")
	require.ErrorContains(t, unpack(archive, t.TempDir(), bounds{files: 3, bytes: 3001}), "at most 3 are unpacked")
}
