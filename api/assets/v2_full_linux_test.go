package assets_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// A disk that is full answers a clear error, keeps no part, and the service goes on with what fits.
func TestAFullDiskIsAClearErrorAndTheServiceLives(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(root, syscall.MNT_DETACH)) })
	h := apitest.StartFilesIn(t, root, apitest.Options{})
	for range 2 {
		full := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(strings.Repeat("x", 8<<20))...)
		require.Equal(t, http.StatusInternalServerError, full.Status, full.Body)
		require.Equal(t, "upstream_error", apitest.Code(t, full))
		require.NotContains(t, full.Body, root, "the answer names no path")
		stored, staged := h.Blobs(t)
		require.Zero(t, stored)
		require.Zero(t, staged, "no part of it stays")
	}
	require.Equal(t, http.StatusCreated, h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("small")...).Status)
	require.Len(t, list(t, h, ""), 1, "what was refused is no asset")
}
