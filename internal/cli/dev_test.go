package cli_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

func TestPortInUseIsReportedBeforeServersStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	dir := t.TempDir()
	_, err = run(t, "dev", "--addr", taken.Addr().String(), "--data", dir)
	require.ErrorContains(t, err, "cannot listen on "+taken.Addr().String())
	require.ErrorContains(t, err, "stop what uses it, or choose another with --addr")
	require.NotContains(t, cli.Message(err), "\n")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "no data, no server")
}

func TestMissingEditorIsReportedBeforeServersStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := run(t, "dev", "--addr", "127.0.0.1:0", "--data", dir, "--editor", filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "--editor (MILLRACE_EDITOR): no editor in "+filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "comfyui-frontend-package")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "no data, no server")
}
