package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// copied is a tree with the Makefile and the sources of the Temporal part.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o600))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "localtemporal"), os.DirFS("../localtemporal")))
	return dir
}

// program writes a shell script.
func program(t *testing.T, path, script string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return path
}

// makes runs make with a compiler that only says that it was asked, and returns what was printed.
func makes(t *testing.T, dir, path string, args ...string) string {
	t.Helper()
	compiler := program(t, filepath.Join(dir, "compiler"), `for last in "$@"; do [ "$before" = -o ] && to=$last; before=$last; done
echo "go: downloading example.com/module v1.0.0" >&2; echo compiled > "$to"; chmod +x "$to"; echo "compiled $*"`)
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "GO=" + compiler}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MILLRACE_TEMPORAL_BIN=", "PATH="+path+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// versionOf returns the version that make gives the Temporal part.
func versionOf(t *testing.T, printed string) string {
	t.Helper()
	_, rest, ok := strings.Cut(printed, "-X main.version=")
	require.True(t, ok, printed)
	return strings.Fields(rest)[0]
}

// An installed release of the Temporal part is taken if it has the version of the sources, and no other.
func TestAnInstalledTemporalPartOfTheSameVersionIsTaken(t *testing.T) {
	t.Parallel()
	dir := copied(t)
	printed := makes(t, dir, "", "bin/millrace-temporal")
	require.Contains(t, printed, "2/2 building the Temporal server of local mode, about")
	require.NotContains(t, printed, "downloading")
	version := versionOf(t, printed)
	require.Regexp(t, `^\d+\.\d+\.\d+-\d+$`, version)

	installed := t.TempDir()
	own := program(t, filepath.Join(installed, "millrace-temporal"), "echo "+version)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "bin")))
	printed = makes(t, dir, installed, "bin/millrace-temporal")
	require.Contains(t, printed, "2/2 taking "+own)
	require.NotContains(t, printed, "compiled")
	same, err := os.ReadFile(filepath.Join(dir, "bin", "millrace-temporal"))
	require.NoError(t, err)
	require.Contains(t, string(same), "echo "+version)

	program(t, own, "echo 1.32.1-7")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "bin")))
	require.Contains(t, makes(t, dir, installed, "bin/millrace-temporal"), "2/2 building", "another version")

	f, err := os.OpenFile(filepath.Join(dir, "localtemporal", "omitted", "sqlite", "sqlite.go"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	program(t, own, "echo "+version)
	printed = makes(t, dir, installed, "bin/millrace-temporal")
	require.NotEqual(t, version, versionOf(t, printed), "every source counts")
}

func TestAFirstBuildSaysHowLongItTakes(t *testing.T) {
	t.Parallel()
	dir := copied(t)
	printed := makes(t, dir, "", "bin/millrace")
	require.Regexp(t, `(?m)^1/2 building Millrace, about \d+ minutes`, printed)
	require.NotContains(t, printed, "downloading")
	require.NotContains(t, makes(t, dir, "", "bin/millrace"), "minutes", "later builds take seconds")
}
