package processes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// maxLog bounds the log of a process; one former file of this size is kept beside it.
const maxLog = 4 << 20

// maxTail bounds the end of the output that is kept in memory.
const maxTail = 4 << 10

// output keeps what a process writes in a log of bounded size, and its end in memory.
type output struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
	tail []byte
}

func openOutput(path string) (*output, error) {
	o := &output{path: path}
	return o, o.open()
}

func (o *output) open() (err error) {
	if o.file, err = os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	o.size, err = o.file.Seek(0, io.SeekEnd)
	return err
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tail = append(o.tail, p...); len(o.tail) > maxTail {
		o.tail = bytes.Clone(o.tail[len(o.tail)-maxTail:])
	}
	if o.size+int64(len(p)) > maxLog {
		if err := errors.Join(o.file.Close(), os.Rename(o.path, Former(o.path)), o.open()); err != nil {
			return 0, err
		}
	}
	n, err := o.file.Write(p)
	o.size += int64(n)
	return n, err
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
			lines = append(lines, cut(line))
		}
	}
	return lines[max(0, len(lines)-n):]
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.file.Close()
}
