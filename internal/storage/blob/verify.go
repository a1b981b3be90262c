package blob

import (
	"errors"
	"fmt"
	"hash"
	"io"
)

// Source provides NewReader with random access to stored bytes.
type Source interface {
	io.ReaderAt
	io.Closer
}

// NewReader returns a verifying Reader over src, which must have size bytes. A sequential read hashes the bytes and
// returns the last block only if the digest is right. A read out of sequence first hashes the whole blob, once.
// checked means that the bytes have just passed a check and need no other. onVerdict, if not nil, is called once with
// the result of a check.
func NewReader(ref Ref, src Source, size int64, checked bool, onVerdict func(ok bool)) *VerifyingReader {
	return &VerifyingReader{ref: ref, src: src, size: size, checked: checked, onVerdict: onVerdict}
}

// VerifyingReader implements Reader over random-access bytes.
type VerifyingReader struct {
	ref       Ref
	src       Source
	size      int64
	pos       int64
	checked   bool
	corrupt   bool
	onVerdict func(bool)
	h         hash.Hash
	hashed    int64 // h covers the bytes before this offset
}

var _ Reader = (*VerifyingReader)(nil)

// Size returns the blob's size in bytes.
func (v *VerifyingReader) Size() int64 { return v.size }

// Checked reports whether all bytes were verified.
func (v *VerifyingReader) Checked() bool { return v.checked && !v.corrupt }

// Read implements io.Reader.
func (v *VerifyingReader) Read(p []byte) (int, error) {
	if v.corrupt {
		return 0, Corrupt(v.ref)
	}
	if v.pos == 0 && v.size == 0 && !v.checked {
		return 0, v.verdict(Sum(nil) == v.ref, io.EOF)
	}
	if v.pos >= v.size {
		return 0, io.EOF
	}
	if !v.checked && v.pos != v.hashed {
		if err := v.checkAll(); err != nil {
			return 0, err
		}
	}
	n, err := v.readAt(p)
	if err != nil || v.checked {
		v.pos += int64(n)
		return n, err
	}
	return v.follow(p[:n])
}

// readAt fills p from the current position. If the source ends before size, the blob is corrupt.
func (v *VerifyingReader) readAt(p []byte) (int, error) {
	if rest := v.size - v.pos; int64(len(p)) > rest {
		p = p[:rest]
	}
	n, err := v.src.ReadAt(p, v.pos)
	if n > 0 || err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, v.verdict(false, nil)
	}
	return 0, fmt.Errorf("read blob %s at %d: %w", v.ref, v.pos, err)
}

// follow hashes bytes that were read in sequence, and checks the digest after the last of them.
func (v *VerifyingReader) follow(p []byte) (int, error) {
	if v.h == nil {
		v.h = NewHash()
	}
	v.h.Write(p)
	v.pos += int64(len(p))
	v.hashed = v.pos
	if v.pos < v.size {
		return len(p), nil
	}
	if err := v.verdict(RefOf(v.h) == v.ref, nil); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Check implements Reader.
func (v *VerifyingReader) Check() error {
	if v.checked || v.corrupt {
		return v.verdict(!v.corrupt, nil)
	}
	return v.checkAll()
}

func (v *VerifyingReader) checkAll() error {
	h := NewHash()
	if _, err := io.Copy(h, io.NewSectionReader(v.src, 0, v.size)); err != nil {
		return fmt.Errorf("check blob %s: %w", v.ref, err)
	}
	return v.verdict(RefOf(h) == v.ref, nil)
}

// verdict records the result of a check. It returns good, or the error for a corrupt blob.
func (v *VerifyingReader) verdict(ok bool, good error) error {
	first := !v.checked && !v.corrupt
	v.checked, v.corrupt = ok, !ok
	if first && v.onVerdict != nil {
		v.onVerdict(ok)
	}
	if !ok {
		return Corrupt(v.ref)
	}
	return good
}

// Seek implements io.Seeker.
func (v *VerifyingReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += v.pos
	case io.SeekEnd:
		offset += v.size
	}
	if offset < 0 {
		return v.pos, errors.New("seek before the start of a blob")
	}
	v.pos = offset
	return offset, nil
}

// Close closes the source.
func (v *VerifyingReader) Close() error { return v.src.Close() }
