// Package blob is the port of the content-addressed store of all bytes: uploads, outputs, values between nodes, large
// documents. It promises that bytes that are read under a Ref have that hash, or the read fails. Packages asset and
// files decide who may see a blob, and its name.
package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// ErrCorrupt reports stored bytes that no longer have their hash. Errors that wrap it are of kind Internal, because a
// client cannot fix them.
var ErrCorrupt = errors.New("stored bytes do not match their hash")

// Durability is the guarantee for which a commit waits.
type Durability uint8

// The durabilities. After a crash of the machine a Relaxed blob may be missing, but never wrong. It is for bytes that
// can be computed again, such as values between nodes.
const (
	Durable Durability = iota // bytes and name are synced when Commit returns
	Relaxed
)

// Stored describes a committed blob.
type Stored struct {
	Ref     Ref
	Size    int64
	Created bool // false = the store had the bytes already and kept its copy
}

// Entry is a blob that Walk found. Touched is the time of its last commit or touch.
type Entry struct {
	Ref     Ref
	Size    int64
	Touched time.Time
}

// Writer receives the bytes of a new blob. It is not safe for concurrent use. A successful Commit or Abort ends it; a later
// Abort has no effect, so it can be deferred.
type Writer interface {
	io.Writer
	// ReaderAt reads the bytes written so far, until the writer ends.
	io.ReaderAt
	// Sum returns the digest and count of the bytes written so far.
	Sum() (Ref, int64)
	// Commit stores the bytes under their digest. After an error nothing is stored, and the bytes can be read until Abort.
	Commit(ctx context.Context) (Stored, error)
	// Abort discards the bytes and removes all files of the writer.
	Abort() error
}

// Reader is an open blob. Reads are verified: before a sequential read returns the last bytes of the blob, and before a read
// out of sequence returns any, the bytes are checked against the Ref. A mismatch is ErrCorrupt.
type Reader interface {
	io.ReadSeekCloser
	// Size returns the blob's size in bytes.
	Size() int64
	// Check verifies the whole blob now, unless it was verified before. After a successful Check no read fails with
	// ErrCorrupt.
	Check() error
}

// Store stores blobs. Implementations are safe for concurrent use, also by several processes. Errors are faults:
// NotFound (absent), Exhausted (no space), Unavailable (the backend does not answer), Internal (ErrCorrupt and
// others).
//
// A collector keeps every blob that is referenced or was touched within a grace period. Code that adds a reference must
// therefore commit or touch the blob first, and record the reference well within that period. Remove checks the time of
// the touch again under a lock that excludes Commit and Touch.
type Store interface {
	// Create returns a writer for a new blob.
	Create(ctx context.Context, d Durability) (Writer, error)
	// Open returns the blob for reading.
	Open(ctx context.Context, ref Ref) (Reader, error)
	// Stat returns the blob's size without reading it.
	Stat(ctx context.Context, ref Ref) (int64, error)
	// Touch marks the blob as in use now. An absent blob is NotFound.
	Touch(ctx context.Context, ref Ref) error
	// Remove deletes the blob, unless it was touched at or after the cutoff. It reports whether the blob is absent
	// afterwards.
	Remove(ctx context.Context, ref Ref, cutoff time.Time) (bool, error)
	// Walk calls fn for every blob, in no particular order, until fn fails. Blobs that are added or removed meanwhile may
	// or may not be included.
	Walk(ctx context.Context, fn func(Entry) error) error
}

// Linker is a Store that can make a file of a blob without copying its bytes.
type Linker interface {
	// Link makes a new file of the verified bytes of a blob: way is clone if it only shares them, and link if it is the same file. It is
	// errors.ErrUnsupported where the file system of the path allows neither.
	Link(ctx context.Context, ref Ref, path string) (way string, err error)
}

// Filer is a Reader over a plain file. File returns the file if its bytes have been verified, so that the kernel can send
// it, and nil otherwise.
type Filer interface{ File() *os.File }

// Presigner is a Store whose blobs a client can fetch directly from the backend.
type Presigner interface {
	// Presign returns an absolute URL that serves the blob with these headers until expiry.
	Presign(ctx context.Context, ref Ref, h Headers, ttl time.Duration) (string, error)
	// Origin returns the scheme and the host of all these URLs, as in https://bucket.example.com.
	Origin(ctx context.Context) (string, error)
}

// Origins returns the origins from which clients fetch blobs of a store directly, none where it serves all itself.
func Origins(ctx context.Context, s Store) ([]string, error) {
	p, ok := s.(Presigner)
	if !ok {
		return nil, nil
	}
	origin, err := p.Origin(ctx)
	return []string{origin}, err
}

// Headers are response headers that the backend sends for a presigned URL.
type Headers struct {
	ContentType        string
	ContentDisposition string
}

// Put stores the bytes of r.
func Put(ctx context.Context, s Store, d Durability, r io.Reader) (Stored, error) {
	w, err := s.Create(ctx, d)
	if err != nil {
		return Stored{}, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, r); err != nil {
		return Stored{}, fmt.Errorf("write a blob: %w", err)
	}
	return w.Commit(ctx)
}

// PutBytes stores data durably and returns its digest.
func PutBytes(ctx context.Context, s Store, data []byte) (Ref, error) {
	stored, err := Put(ctx, s, Durable, bytes.NewReader(data))
	return stored.Ref, err
}

// GetBytes returns the blob that a digest names, of a larger one the first limit bytes.
func GetBytes(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	ref, err := ParseRef(name)
	if err != nil {
		return nil, err
	}
	r, err := s.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, limit))
}

// Verify reads and checks the whole blob and returns its size.
func Verify(ctx context.Context, s Store, ref Ref) (int64, error) {
	r, err := s.Open(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if v, ok := r.(interface{ Checked() bool }); ok && !v.Checked() { // the reader hashes the bytes itself
		n, err := io.Copy(io.Discard, contextReader{ctx, r})
		if err != nil {
			return n, fmt.Errorf("verify %s: %w", ref, err)
		}
		return n, nil
	}
	h := NewHash()
	n, err := io.Copy(h, contextReader{ctx, r})
	if err != nil {
		return n, fmt.Errorf("verify %s: %w", ref, err)
	}
	if RefOf(h) != ref {
		return n, Corrupt(ref)
	}
	return n, nil
}

// contextReader ends a long read when its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives for one call
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Missing returns the error for an absent blob.
func Missing(ref Ref) error {
	return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no blob %s", ref)
}

// Corrupt returns the error for a damaged blob.
func Corrupt(ref Ref) error {
	return fault.Wrap(ErrCorrupt, fault.Internal, fault.CodeBlobCorrupt, "blob %s is damaged", ref)
}
