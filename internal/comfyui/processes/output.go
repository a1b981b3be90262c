package processes

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/millrace-dev/millrace/internal/fault"
)

// maxLog bounds the log of a process; one former file of this size is kept beside it.
const maxLog = 4 << 20

// maxTail bounds the end of the output that is kept in memory.
const maxTail = 4 << 10

// output keeps what a process writes in a log of bounded size, and its end in memory.
type output struct {
	path string
	log  *slog.Logger // says that the file cannot be written

	mu      sync.Mutex
	file    *os.File // nil = it must be opened again
	size    int64
	tail    []byte
	failing bool // the last write failed
	closed  bool
}

func openOutput(path string, log *slog.Logger) (*output, error) {
	o := &output{path: path, log: log}
	return o, o.open()
}

func (o *output) open() (err error) {
	if o.file, err = os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	o.size, err = o.file.Seek(0, io.SeekEnd)
	return err
}

// Write implements io.Writer. It never fails, so that the end in memory goes on while the file cannot be written.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tail = append(o.tail, p...); len(o.tail) > maxTail {
		o.tail = bytes.Clone(o.tail[len(o.tail)-maxTail:])
	}
	if o.closed { // by a child that has left the group
		return len(p), nil
	}
	err := o.write(p)
	if err != nil && !o.failing {
		o.log.Warn("the log of a ComfyUI process cannot be written", "log", o.path, "error", err)
	}
	o.failing = err != nil
	return len(p), nil
}

// write writes to the file. After a failure, the next call opens the file again.
func (o *output) write(p []byte) error {
	if o.file == nil {
		if err := o.open(); err != nil {
			return err
		}
	}
	if o.size+int64(len(p)) > maxLog {
		o.reset()
		if err := os.Rename(o.path, Former(o.path)); err != nil {
			return err
		}
		if err := o.open(); err != nil {
			return err
		}
	}
	n, err := o.file.Write(p)
	o.size += int64(n)
	if err != nil {
		o.reset()
	}
	return err
}

// reset closes the file, so that it is opened again.
func (o *output) reset() {
	o.file.Close() //nolint:errcheck // what is lost is in memory
	o.file = nil
}

// Former returns the path of the former file of a log.
func Former(path string) string { return path + ".1" }

// begin forgets the end of an earlier process's output.
func (o *output) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = nil
}

// last returns up to n of the last lines that are not empty.
func (o *output) last(n int) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(o.tail), "?"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, fault.Shorten(line, maxText))
		}
	}
	return lines[max(0, len(lines)-n):]
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.file.Close()
}
