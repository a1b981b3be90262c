// Package ffmpeg reads and writes files of sound and video with the programs ffmpeg and ffprobe as child processes:
// untrusted files are never parsed in this process. The programs get no environment, no network and only the file to read,
// refuse containers that point to other files (playlists), and end with the context, or when this process is killed.
package ffmpeg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Tool is an installation of ffmpeg, 5.1 or later. The zero value runs nothing.
type Tool struct {
	ffmpeg, ffprobe string
}

// None is the name that makes Find return no tool.
const None = "none"

// Find returns the tool for the ffmpeg of that name, and for ffprobe in the same directory. With an empty name it
// searches the path, and returns a nil tool if the path does not have both. For None it returns a nil tool.
func Find(name string) (*Tool, error) {
	if name == None {
		return nil, nil
	}
	program, err := exec.LookPath(orElse(name, "ffmpeg"))
	if err != nil && name == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find ffmpeg: %w", err)
	}
	probe := filepath.Join(filepath.Dir(program), "ffprobe")
	if _, err := exec.LookPath(probe); err != nil {
		if name == "" {
			return nil, nil
		}
		return nil, fmt.Errorf("find ffprobe in the directory of ffmpeg: %w", err)
	}
	return &Tool{ffmpeg: program, ffprobe: probe}, nil
}

func orElse(text, or string) string {
	return cmp.Or(text, or)
}

// containers lists the containers that are read. Playlists and scripts are left out, because they name other files.
const containers = "aac,ac3,aiff,amr,ape,asf,avi,caf,flac,flv,gif,matroska,mov,mp3,mpeg,mpegts,ogg,wav,w64,wv"

// maxFrame bounds the pixels of a frame, a little above 8K. A small file may declare far larger frames, even after
// its first one, and decoders keep dozens of frames in memory.
const maxFrame = 1 << 25

// guarded returns the options before an untrusted input.
func guarded() []string {
	return []string{"-protocol_whitelist", "file", "-format_whitelist", containers, "-max_pixels", strconv.Itoa(maxFrame)}
}

const (
	maxAlloc  = 1 << 30     // bytes that ffmpeg may allocate at once
	maxStderr = 2000        // bytes of error output that are kept
	killWait  = time.Second // how long the output of a killed program may stay open
)

// run runs ffmpeg in a directory.
func (t *Tool) run(ctx context.Context, dir string, in io.Reader, out io.Writer, args ...string) error {
	first := []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-max_alloc", fmt.Sprint(maxAlloc), "-y"}
	if in != nil {
		first = first[1:]
	}
	return execute(ctx, dir, t.ffmpeg, in, out, append(first, args...))
}

// execute runs a program without an environment. A failure of the program is fault.Invalid, since its input is unusable.
func execute(ctx context.Context, dir, program string, in io.Reader, out io.Writer, args []string) error {
	said, taken := &stderrHead{}, &sink{w: out}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator's own setting
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, []string{}, in, taken, said, killWait
	err := child.Run(cmd)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case taken.err != nil:
		return taken.err
	case errors.As(err, &exit):
		return fault.Wrap(err, fault.Invalid, fault.CodeMediaUnusable, "ffmpeg cannot process the file: %s", said.last())
	default:
		return fmt.Errorf("run %s: %w", filepath.Base(program), err)
	}
}

// sink keeps the error of its writer, because the program sees only a closed pipe.
type sink struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = errors.Join(s.err, err)
	return n, err
}

// stderrHead keeps the beginning of a program's error output.
type stderrHead struct{ bytes.Buffer }

// Write implements io.Writer.
func (w *stderrHead) Write(p []byte) (int, error) {
	w.Buffer.Write(p[:min(len(p), max(0, maxStderr-w.Len()))])
	return len(p), nil
}

// last returns the last line, without names of files.
func (w *stderrHead) last() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(w.String(), "")), "\n")
	text := lines[len(lines)-1]
	if text == "" {
		return "no reason given"
	}
	return strings.ReplaceAll(text, inputName, "the file")
}

// The names of files in a working directory.
const (
	inputName  = "input"
	soundName  = "sound.f32"
	tagsName   = "tags.txt"
	outputName = "output"
)

// within calls f with a new directory, which it removes afterwards. The directory of a killed process is removed by a
// later process.
func within(f func(dir string) error) (err error) {
	dir, err := scratch.New("millrace-media")
	if err != nil {
		return fmt.Errorf("make a working directory: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	return f(dir.Path)
}

// spool writes to a file of a working directory.
func spool(dir, name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make a working file: %w", err)
	}
	return errors.Join(write(f), f.Close())
}

// copyOf returns a function that copies r until the context ends.
func copyOf(ctx context.Context, r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, readerFunc(func(p []byte) (int, error) {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return r.Read(p)
		}))
		return err
	}
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
