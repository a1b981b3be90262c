//go:build unix

package temporal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// outputFile stores the standard error of the program, such as the trace of a panic. It is next to the server's log.
func outputFile(log string) string { return strings.TrimSuffix(log, ".log") + ".out" }

// openOutput creates a new output file and keeps the previous one.
func openOutput(log string) (*os.File, error) {
	name := outputFile(log)
	if err := os.Rename(name, name+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("Temporal log: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("Temporal log: %w", err)
	}
	return f, nil
}

// size returns the size of a file, or 0 if there is none.
func size(name string) (int64, error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("Temporal log: %w", err)
	}
	return info.Size(), nil
}

// tailBytes is the number of bytes at the end of a file that are searched for the reason of the server's exit.
const tailBytes = 16 << 10

// exitReason returns the reason that the server gave for its exit, or "": its last output, or the
// fatal line of its log after the offset.
func exitReason(log string, begin int64) string {
	last := ""
	for line := range bytes.Lines(tail(outputFile(log), 0)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(string(line)), Name+": "); ok {
			last = own
		}
	}
	if last != "" {
		return last
	}
	for line := range bytes.Lines(tail(log, begin)) {
		var entry struct{ Level, Msg, Error string }
		if json.Unmarshal(line, &entry) == nil && entry.Level == "fatal" { // the first line may be cut
			last = entry.Msg + ": " + entry.Error
		}
	}
	return last
}

// tail returns the end of a file, at most from the offset on. If there is no file, it returns nothing.
func tail(name string, begin int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close() // read only
	end, err := size(name)
	if err != nil {
		return nil
	}
	if begin > end { // the file has been replaced
		begin = 0
	}
	begin = max(begin, end-tailBytes)
	b := make([]byte, end-begin)
	if _, err := f.ReadAt(b, begin); err != nil {
		return nil
	}
	return b
}
