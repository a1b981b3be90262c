package scan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/scan"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// program returns a scanner made of a shell script.
func program(t *testing.T, script string, timeout time.Duration) scan.Command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scanner")
	// A process that another test starts would have the open file for a moment, and a file that is open for writing cannot be run.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	c, err := scan.NewCommand(scan.Content{Blobs: mem.New()}, path+" --stdin", timeout)
	require.NoError(t, err)
	return c
}

func judge(t *testing.T, c scan.Command, data string) (asset.Scan, error) {
	t.Helper()
	return c.Scan(t.Context(), asset.Asset{Size: int64(len(data))}, bytes.NewReader([]byte(data)))
}

func TestScannerExitCodeIsTheVerdict(t *testing.T) {
	t.Parallel()
	c := program(t, `test "$1" = --stdin || exit 9
grep -q EICAR && { echo "found: EICAR"; exit 1; }; exit 0`, time.Minute)
	found, err := judge(t, c, "all is well")
	require.NoError(t, err)
	require.Equal(t, asset.Clean, found.Verdict)
	require.Equal(t, "text/plain; charset=utf-8", found.SniffedType)
	found, err = judge(t, c, "this is EICAR")
	require.NoError(t, err)
	require.Equal(t, asset.Rejects, found.Verdict)
	require.Equal(t, "found: EICAR", found.Reason)
}

func TestFailingOrHangingScannerGivesNoVerdict(t *testing.T) {
	t.Parallel()
	_, err := judge(t, program(t, "echo no database >&2; exit 2", time.Minute), "x")
	require.ErrorContains(t, err, "no database")
	began := time.Now()
	_, err = judge(t, program(t, "sleep 3600", 100*time.Millisecond), "x")
	require.ErrorContains(t, err, "too long")
	require.Less(t, time.Since(began), 10*time.Minute)
}

func TestAMissingScannerIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	_, err := scan.NewCommand(scan.Content{}, "no-such-scanner-program", time.Minute)
	require.Error(t, err)
	_, err = scan.NewCommand(scan.Content{}, " ", time.Minute)
	require.Error(t, err)
}
