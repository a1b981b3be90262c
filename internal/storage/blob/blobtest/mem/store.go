// Package mem stores blobs in memory, for tests. It keeps every promise of blob.Store, except that blobs are lost
// with the process.
package mem

import (
	"bytes"
	"context"
	"hash"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store implements blob.Store.
type Store struct {
	mu    sync.Mutex // guards blobs
	blobs map[blob.Ref]stored
}

type stored struct {
	data    []byte
	touched time.Time
}

var _ blob.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{blobs: map[blob.Ref]stored{}} }

// Open implements blob.Store.
func (s *Store) Open(_ context.Context, ref blob.Ref) (blob.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[ref]
	if !ok {
		return nil, blob.Missing(ref)
	}
	return blob.NewReader(ref, source{bytes.NewReader(b.data)}, int64(len(b.data)), false, nil), nil
}

type source struct{ *bytes.Reader }

// Close implements io.Closer.
func (source) Close() error { return nil }

// Stat implements blob.Store.
func (s *Store) Stat(_ context.Context, ref blob.Ref) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[ref]
	if !ok {
		return 0, blob.Missing(ref)
	}
	return int64(len(b.data)), nil
}

// Touch implements blob.Store.
func (s *Store) Touch(_ context.Context, ref blob.Ref) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[ref]
	if !ok {
		return blob.Missing(ref)
	}
	b.touched = time.Now()
	s.blobs[ref] = b
	return nil
}

// Remove implements blob.Store.
func (s *Store) Remove(_ context.Context, ref blob.Ref, cutoff time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.blobs[ref]; ok && !b.touched.Before(cutoff) {
		return false, nil
	}
	delete(s.blobs, ref)
	return true, nil
}

// Walk implements blob.Store.
func (s *Store) Walk(ctx context.Context, fn func(blob.Entry) error) error {
	for _, e := range s.entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) entries() []blob.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []blob.Entry
	for ref, b := range s.blobs {
		all = append(all, blob.Entry{Ref: ref, Size: int64(len(b.data)), Touched: b.touched})
	}
	return all
}

// Damage flips a bit of a stored blob, as a bad disk might. It reports whether the store has the blob.
func (s *Store) Damage(ref blob.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[ref]
	if !ok || len(b.data) == 0 {
		return false
	}
	b.data = slices.Clone(b.data)
	b.data[len(b.data)/2] ^= 1
	s.blobs[ref] = b
	return true
}

// Create implements blob.Store.
func (s *Store) Create(context.Context, blob.Durability) (blob.Writer, error) {
	return &writer{s: s, h: blob.NewHash()}, nil
}

type writer struct {
	s     *Store
	h     hash.Hash
	buf   bytes.Buffer
	ended bool
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, fs.ErrClosed
	}
	return io.MultiWriter(&w.buf, w.h).Write(p)
}

// ReadAt implements io.ReaderAt.
func (w *writer) ReadAt(p []byte, off int64) (int, error) {
	if w.ended {
		return 0, fs.ErrClosed
	}
	return bytes.NewReader(w.buf.Bytes()).ReadAt(p, off)
}

// Sum implements blob.Writer.
func (w *writer) Sum() (blob.Ref, int64) { return blob.RefOf(w.h), int64(w.buf.Len()) }

// Commit implements blob.Writer.
func (w *writer) Commit(ctx context.Context) (blob.Stored, error) {
	if w.ended {
		return blob.Stored{}, fs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return blob.Stored{}, err
	}
	w.ended = true
	ref, size := w.Sum()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	b, exists := w.s.blobs[ref]
	if !exists {
		b.data = w.buf.Bytes()
	}
	b.touched = time.Now()
	w.s.blobs[ref] = b
	return blob.Stored{Ref: ref, Size: size, Created: !exists}, nil
}

// Abort implements blob.Writer.
func (w *writer) Abort() error {
	w.ended = true
	return nil
}
