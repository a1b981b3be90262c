package blob

import (
	"context"
	"errors"
	"hash"
	"io/fs"
	"os"
)

// Spool is the part of a Writer that stores share: a file that contains a blob until it is committed. It hashes and
// counts the written bytes.
type Spool struct {
	file     *os.File // nil after the end
	hash     hash.Hash
	size     int64
	err      error // error of the first failed write; later writes fail too
	classify func(error) error
}

// NewSpool returns a spool that writes to f; classify converts errors of the file to fault errors.
func NewSpool(f *os.File, classify func(error) error) *Spool {
	return &Spool{file: f, hash: NewHash(), classify: classify}
}

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) {
	if s.file == nil {
		return 0, fs.ErrClosed
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.file.Write(p)
	s.hash.Write(p[:n])
	s.size += int64(n)
	if err != nil {
		s.err = s.classify(err)
	}
	return n, s.err
}

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	if s.file == nil {
		return 0, fs.ErrClosed
	}
	return s.file.ReadAt(p, off)
}

// Sum implements Writer.
func (s *Spool) Sum() (Ref, int64) { return RefOf(s.hash), s.size }

// Whole returns the digest and size of the written bytes, or an error if the spool has ended, a write has failed, or the
// context has ended.
func (s *Spool) Whole(ctx context.Context) (Stored, error) {
	if s.file == nil {
		return Stored{}, fs.ErrClosed
	}
	if err := errors.Join(s.err, ctx.Err()); err != nil {
		return Stored{}, err
	}
	return Stored{Ref: RefOf(s.hash), Size: s.size}, nil
}

// File returns the file, or nil when the spool has ended.
func (s *Spool) File() *os.File { return s.file }

// Close ends the spool; the file may keep its name. A second Close does nothing.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
