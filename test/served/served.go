// Package served contains the common parts of tests of complete services: a log that can be read while it is written,
// waiting until the service is ready, and the command line of the service.
package served

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/cli"
)

// Log is a log that can be written and read concurrently. The zero value is empty.
type Log struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// AwaitReady waits until submissions are accepted at base and workers would run them. ended delivers the result of
// the service if it ends.
func AwaitReady(base string, patience time.Duration, ended <-chan error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the service ended: %w", err)
		case <-timeout:
			return fmt.Errorf("the service at %s did not get ready", base)
		case <-tick.C:
			if ready(base) {
				return nil
			}
		}
	}
}

func ready(base string) bool {
	res, err := http.Get(base + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return err == nil && res.StatusCode == http.StatusOK && !bytes.Contains(raw, []byte(`"ok":false`))
}

// Command runs a command of the program and returns what it writes.
func Command(ctx context.Context, lookup func(string) (string, bool), args ...string) (string, error) {
	var out bytes.Buffer
	cmd := cli.Command(&out, &out, lookup)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// LastLine returns the last line of a command's output.
func LastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
