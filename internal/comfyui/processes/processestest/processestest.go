//go:build unix

// Package processestest lets a test binary play the interpreter of ComfyUI processes: it runs the simulator of ComfyUI instead.
package processestest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// marker makes a test binary run the simulator.
const marker = "MILLRACE_TEST_COMFYUI"

// Main is called by TestMain first. In a process that plays ComfyUI, it runs the simulator and does not return.
func Main() {
	if os.Getenv(marker) == "" {
		return
	}
	argument := func(name string) string { return os.Args[slices.Index(os.Args, name)+1] }
	fmt.Println("simulated ComfyUI on device", os.Getenv("CUDA_VISIBLE_DEVICES"), "secret:", os.Getenv("MILLRACE_SECRET_KEY"))
	m, err := comfyui.Start(net.JoinHostPort(argument("--listen"), argument("--port")), comfyui.Options{
		Models: filepath.Join(filepath.Dir(argument("--extra-model-paths-config")), "models"),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	<-ctx.Done()
	stop()
	m.Close()
	os.Exit(0)
}

// Dir returns a directory that passes for that of ComfyUI, and an interpreter that finds this many GPUs and runs script, a part
// of a shell script, before it becomes ComfyUI.
func Dir(t testing.TB, gpus int, script string) (dir, python string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "comfy"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.py"), nil, 0o600))
	python = filepath.Join(dir, "python")
	text := fmt.Sprintf(`#!/bin/sh
if [ "$1" = -c ]; then echo '{"gpus": %d, "mps": false}'; exit; fi
%s
%s=1 exec %s "$@"
`, gpus, script, marker, os.Args[0])
	require.NoError(t, os.WriteFile(python, []byte(text), 0o700))
	return dir, python
}
