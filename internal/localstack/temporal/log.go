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

// complaint returns the last thing the program itself gave as its reason to end, or "".
func complaint(name string) string {
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
		if own, ok := strings.CutPrefix(strings.TrimSpace(string(line)), Name+": "); ok {
			last = own
		}
	}
	return last
}
