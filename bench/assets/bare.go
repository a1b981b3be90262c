package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zeebo/blake3"
)

// bareProgram is this program again, as the bare server.
type bareProgram struct {
	base string
	dir  string
	cmd  *exec.Cmd
}

func startBare(ctx context.Context, parent string) (*bareProgram, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bareProgram{dir: filepath.Join(parent, "bare")}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	b.cmd = exec.CommandContext(ctx, self, "-bare", b.dir)
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	b.base = "http://" + strings.TrimSpace(addr)
	return b, err
}

func (b *bareProgram) stop() error {
	err := b.cmd.Process.Signal(os.Interrupt)
	b.cmd.Wait() // it was asked to stop
	return err
}

// serveBare takes uploads and serves files with nothing around them.
func serveBare(ctx context.Context, dir string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		if err := bareUpload(r, dir); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: mux}              // a benchmark on loopback
	context.AfterFunc(ctx, func() { srv.Close() }) // the end
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bareUpload streams the file part to disk and hashes it, synced and renamed as a careful program does.
func bareUpload(r *http.Request, dir string) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FormName() != "file" {
			io.Copy(io.Discard, part) // fields are small
			continue
		}
		if err := bareStore(part, dir); err != nil {
			return err
		}
	}
}

func bareStore(r io.Reader, dir string) error {
	f, err := os.CreateTemp(dir, "staging-")
	if err != nil {
		return err
	}
	defer f.Close()
	h := blake3.New()
	buf := make([]byte, 256<<10)
	if _, err := io.CopyBuffer(io.MultiWriter(f, h), struct{ io.Reader }{r}, buf); err != nil {
		return err
	}
	if err := datasync(f); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, fmt.Sprintf("%x", h.Sum(nil)))); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
