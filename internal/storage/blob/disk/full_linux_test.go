package disk_test

import (
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// TestAFullDisk uses a file system of one megabyte.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	root := smallDisk(t)
	s := open(t, root, disk.Options{})
	small, err := blob.PutBytes(t.Context(), s, []byte("before"))
	require.NoError(t, err)
	_, err = blob.Put(t.Context(), s, blob.Durable, io.LimitReader(zeros{}, 8<<20))
	require.Equal(t, fault.Exhausted, fault.KindOf(err), "%v", err)
	require.Equal(t, fault.CodeDiskFull, fault.CodeOf(err))
	require.Zero(t, staged(t, root), "no part of it stays")
	_, err = blob.Verify(t.Context(), s, small)
	require.NoError(t, err, "what was stored is served")
	_, err = blob.PutBytes(t.Context(), s, []byte("after"))
	require.NoError(t, err, "small blobs fit again")
	free, err := s.Free()
	require.NoError(t, err)
	require.Less(t, free, uint64(1<<20))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}
