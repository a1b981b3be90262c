package blob

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"io/fs"
	"os"
)

// SpoolMemory is the most bytes of a blob that a Spool has in memory and not in a file.
const SpoolMemory = 64 << 10

// Spool is the part of a Writer that stores share: it contains the bytes of a blob until they are committed, and hashes and
// counts them. Few bytes are in memory, so that a store which has the blob already makes no file.
type Spool struct {
	create   func() (*os.File, error)
	file     *os.File // nil before it is needed
	memory   []byte   // the written bytes, until the file has them
	spilled  bool     // the file has the written bytes
	closed   bool
	hash     hash.Hash
	size     int64
	err      error // error of the first failed write; later writes fail too
	classify func(error) error
}

// NewSpool returns a spool that writes to a file of create, once there are too many bytes for memory; classify converts errors of the
// file to fault errors.
func NewSpool(create func() (*os.File, error), classify func(error) error) *Spool {
	return &Spool{create: create, hash: NewHash(), classify: classify}
}

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (n int, err error) {
	if s.closed {
		return 0, fs.ErrClosed
	}
	if s.err != nil {
		return 0, s.err
	}
	if !s.spilled && len(s.memory)+len(p) <= SpoolMemory {
		s.memory = append(s.memory, p...)
		n = len(p)
	} else if err = s.spill(); err == nil {
		n, err = s.file.Write(p)
	}
	s.hash.Write(p[:n])
	s.size += int64(n)
	if err != nil {
		s.err = s.classify(err)
	}
	return n, s.err
}

// spill moves the bytes from memory to the file. After an error they are still in memory.
func (s *Spool) spill() (err error) {
	if s.spilled {
		return nil
	}
	if s.file, err = s.create(); err != nil {
		return err
	}
	if _, err = s.file.Write(s.memory); err != nil {
		return err
	}
	s.spilled, s.memory = true, nil
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case s.closed:
		return 0, fs.ErrClosed
	case s.spilled:
		return s.file.ReadAt(p, off)
	default:
		return bytes.NewReader(s.memory).ReadAt(p, off)
	}
}

// Sum implements Writer.
func (s *Spool) Sum() (Ref, int64) { return RefOf(s.hash), s.size }

// Whole returns the digest and size of the written bytes, or an error if the spool has ended, a write has failed, or the
// context has ended.
func (s *Spool) Whole(ctx context.Context) (Stored, error) {
	if s.closed {
		return Stored{}, fs.ErrClosed
	}
	if err := errors.Join(s.err, ctx.Err()); err != nil {
		return Stored{}, err
	}
	return Stored{Ref: RefOf(s.hash), Size: s.size}, nil
}

// Spill makes sure that a file has all bytes, and returns it. After an error the bytes can still be read, but not written or spilled
// any more.
func (s *Spool) Spill() (*os.File, error) {
	if s.err == nil {
		if err := s.spill(); err != nil {
			s.err = s.classify(err)
		}
	}
	return s.file, s.err
}

// File returns the file, or nil if there is none: few bytes were written, or the spool has ended.
func (s *Spool) File() *os.File { return s.file }

// Close ends the spool; the file may keep its name. A second Close does nothing.
func (s *Spool) Close() error {
	f := s.file
	s.closed, s.file, s.memory = true, nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}
