//go:build unix

package temporal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// openLog begins a new log and keeps the one before.
func openLog(name string) (*os.File, error) {
	if err := os.Rename(name, name+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("Temporal log: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("Temporal log: %w", err)
	}
	return f, nil
}

// tailBytes is how much of the log's end is searched for what the server said last.
const tailBytes = 4 << 10

// lastLine returns what the program itself complained about last, or the last line, or "".
func lastLine(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read only
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b := make([]byte, min(size, tailBytes))
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil {
		return ""
	}
	last := ""
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line))
		if own, ok := strings.CutPrefix(text, Name+": "); ok {
			return own
		}
		if text != "" {
			last = text
		}
	}
	return last
}
