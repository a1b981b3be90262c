package machines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/domain/pool"
)

// closeWithin is the time for the output of a command that has ended and whose children go on.
const closeWithin = time.Second

// command is a provider whose calls are commands.
type command struct{ pool.Provider }

func (c command) start(ctx context.Context, machine, token string) ([]string, error) {
	ids, err := run(ctx, c.Start, machine, token)
	if err == nil && c.Named() {
		ids = []string{machine}
	}
	return ids, err
}

func (c command) stop(ctx context.Context, handle string) error {
	_, err := run(ctx, c.Stop, handle, "")
	return err
}

func (c command) list(ctx context.Context) (places, error) {
	ids, err := run(ctx, c.List, "", "")
	return somewhere(ids), err
}

// run runs a command with its words replaced, and returns the lines of its output that are not empty.
func run(ctx context.Context, text, machine, token string) (lines []string, err error) {
	words := strings.NewReplacer(pool.MachineMark, machine, pool.TokenMark, token) // both have no character that a shell interprets
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", words.Replace(text))          //nolint:gosec // the operator's own command
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isSetting), "MILLRACE_TOKEN="+token)
	out := &bounded{}
	cmd.Stdout, cmd.WaitDelay = out, closeWithin
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = child.Run(cmd)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, failure("failed: " + exit.String())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, failure("cannot be run")
	case out.Len() > maxAnswer:
		return nil, failure(fmt.Sprintf("gave more than %d bytes", maxAnswer))
	}
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// isSetting reports whether a variable is a setting of this process: some have secrets. The others may be credentials for providers.
func isSetting(v string) bool {
	return strings.HasPrefix(v, "MILLRACE_") || strings.HasPrefix(v, "DATABASE_") || strings.HasPrefix(v, "TEMPORAL_")
}

// bounded keeps the first bytes that are written.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxAnswer+1-b.Len()))])
	return len(p), nil
}
