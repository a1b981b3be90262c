package clients_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child"
)

// toolsDir is the cache of pinned tools that the Makefile uses.
func toolsDir(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "millrace-tools")
}

// awaitLock waits until no other process or test has the lock of a file, and locks it.
func awaitLock(t *testing.T, path string) *child.Lock {
	t.Helper()
	var lock *child.Lock
	require.Eventually(t, func() bool {
		var held *child.LockedError
		var err error
		lock, err = child.Acquire(path)
		if !errors.As(err, &held) {
			require.NoError(t, err)
		}
		return lock != nil
	}, patience, 100*time.Millisecond)
	return lock
}

// installed returns the directory of a client that was installed with these pinned requirements. If there is none,
// install fills an empty directory; a concurrent install by another process is awaited.
func installed(t *testing.T, name, requirements string, install func(dir string)) string {
	t.Helper()
	raw, err := os.ReadFile(requirements)
	require.NoError(t, err)
	sum := sha256.Sum256(raw)
	dir := filepath.Join(toolsDir(t), name+"-"+hex.EncodeToString(sum[:6]))
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	lock := awaitLock(t, dir+".lock")
	defer lock.Release()
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err == nil {
		return dir
	}
	require.NoError(t, os.RemoveAll(dir)) // the remains of an interrupted install
	require.NoError(t, os.Mkdir(dir, 0o755))
	install(dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".complete"), nil, 0o600))
	return dir
}

// pythonClient installs the requirements into an environment of its own, and returns it.
func pythonClient(t *testing.T, name, requirements string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the test of %s needs python3, which is not installed", name)
	}
	return installed(t, name, requirements, func(dir string) {
		out, err := exec.CommandContext(t.Context(), python, "-m", "venv", dir).CombinedOutput()
		if err != nil {
			t.Skipf("the test of %s needs Python's venv, which does not work here: %s", name, out)
		}
		pip := exec.CommandContext(t.Context(), filepath.Join(dir, "bin/pip"),
			"install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements)
		out, err = pip.CombinedOutput()
		skipWithoutRegistry(t, name, string(out), err)
		require.NoError(t, err, string(out))
	})
}

// skipWithoutRegistry skips the test if the installer could not reach its registry.
func skipWithoutRegistry(t *testing.T, name, out string, err error) {
	t.Helper()
	for _, sign := range []string{
		"ConnectionError", "No matching distribution", "Temporary failure", "Timeout", "timed out", "ProtocolError", "IncompleteRead",
		"HTTP error 5", "HTTP error 429",
		"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "TIMEOUT", "EAI_AGAIN", "E429", "E50",
	} {
		if err != nil && strings.Contains(out, sign) {
			t.Skipf("the test of %s needs a package registry, which cannot be reached (%s)", name, sign)
		}
	}
}
