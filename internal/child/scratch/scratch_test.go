//go:build unix

package scratch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
)

// parentEnv makes this program make a directory at the given path and kill itself.
const parentEnv = "MILLRACE_TEST_SCRATCH"

func TestMain(m *testing.M) {
	parent := os.Getenv(parentEnv)
	if parent == "" {
		os.Exit(m.Run())
	}
	d, err := scratch.NewIn(parent, "test")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "left"), nil, 0o600); err != nil {
		os.Exit(1)
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Println("still alive", err)
	select {}
}

func list(t *testing.T, parent string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(parent, "*"))
	require.NoError(t, err)
	return found
}

// age sets the times of all files far into the past.
func age(t *testing.T, parent string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	for _, path := range list(t, parent) {
		for _, name := range append(list(t, path), path) {
			require.NoError(t, os.Chtimes(name, then, then))
		}
	}
}

func TestOnlyDirectoriesOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	kept, err := scratch.NewIn(parent, "test")
	require.NoError(t, err)
	foreign := filepath.Join(parent, "test-foreign")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	killed := exec.CommandContext(t.Context(), os.Args[0])
	killed.Env = append(os.Environ(), parentEnv+"="+parent)
	require.Error(t, killed.Run(), "it kills itself")
	require.Len(t, list(t, parent), 3)

	young, err := scratch.NewIn(parent, "test")
	require.NoError(t, err)
	require.Len(t, list(t, parent), 4, "a young directory may not have its lock yet")
	age(t, parent)
	last, err := scratch.NewIn(parent, "test")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{kept.Path, young.Path, last.Path, foreign}, list(t, parent))
	for _, d := range []*scratch.Dir{kept, young, last} {
		require.NoError(t, d.Remove())
	}
	require.Equal(t, []string{foreign}, list(t, parent))
}
