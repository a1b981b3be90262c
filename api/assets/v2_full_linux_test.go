package api_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
)

// A disk that is full answers a clear error, keeps no part, and the service goes on with what fits.
func TestAFullDiskIsAClearErrorAndTheServiceLives(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(root, syscall.MNT_DETACH)) })
	h := startFilesIn(t, root, api.Options{})
	for range 2 {
		full := h.post(t, "/api/v2/assets", "key-a", upload(strings.Repeat("x", 8<<20))...)
		require.Equal(t, http.StatusInternalServerError, full.status, full.body)
		require.Equal(t, "upstream_error", code(t, full))
		require.NotContains(t, full.body, root, "the answer names no path")
		stored, staged := h.blobs(t)
		require.Zero(t, stored)
		require.Zero(t, staged, "no part of it stays")
	}
	require.Equal(t, http.StatusCreated, h.post(t, "/api/v2/assets", "key-a", upload("small")...).status)
	require.Len(t, h.list(t, ""), 1, "what was refused is no asset")
}
