package ffmpeg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
)

// workerMode is the environment variable that makes the re-executed test binary run the named program until it is
// killed.
const workerMode = "MILLRACE_TEST_FFMPEG_WORKER"

func TestMain(m *testing.M) {
	program := os.Getenv(workerMode)
	if program == "" {
		os.Exit(m.Run())
	}
	tool, err := ffmpeg.Find(program)
	if err == nil {
		_, err = tool.Sound(context.Background(), strings.NewReader("a file"), ffmpeg.Part{}, 1<<20)
	}
	fmt.Println("the program ended:", err)
	os.Exit(1)
}

// The programs of a killed worker must end, because the next worker starts over with the same file.
func TestAProgramEndsWithItsKilledWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	life := filepath.Join(dir, "life")
	require.NoError(t, syscall.Mkfifo(life, 0o600))
	// The program prints its process id and keeps the pipe open while it lives.
	script := "#!/bin/sh\nexec >" + life + "\necho $$\nexec /bin/sleep 3600 2>/dev/null\n"
	// A process that another test starts would have an open file for a moment, and a file that is open for writing cannot be run.
	syscall.ForkLock.RLock()
	err := errors.Join(os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(script), 0o700),
		os.WriteFile(filepath.Join(dir, "ffprobe"), []byte(script), 0o700))
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerMode+"="+filepath.Join(dir, "ffmpeg"), "TMPDIR="+dir)
	require.NoError(t, worker.Start())
	out, err := os.Open(life)
	require.NoError(t, err)
	defer out.Close()
	said := make([]byte, 32)
	n, err := out.Read(said)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(said[:n])))
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })

	require.NoError(t, worker.Process.Kill())
	require.ErrorContains(t, worker.Wait(), "killed")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out.Read(said) // returns when no process has the pipe open
	}()
	select {
	case <-ended:
	case <-time.After(5 * time.Minute):
		t.Fatal("the program outlived its worker")
	}
}
