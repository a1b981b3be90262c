package disk_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// A file system that has become read-only, as after an error of its device, is Unavailable: it may be repaired.
func TestAReadOnlyDiskIsUnavailable(t *testing.T) {
	t.Parallel()
	root := smallDisk(t)
	s := open(t, root, disk.Options{})
	if err := syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a file system cannot be made read-only here: %v", err)
	}
	_, err := blob.PutBytes(t.Context(), s, []byte("refused"))
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	require.NoError(t, syscall.Mount("", root, "", syscall.MS_REMOUNT, ""))
	_, err = blob.PutBytes(t.Context(), s, []byte("taken"))
	require.NoError(t, err)
}
