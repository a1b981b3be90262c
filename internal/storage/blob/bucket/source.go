package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// source reads an object at any place. Reads that follow each other share one request.
type source struct {
	ctx  context.Context // of the reader's opener: a reader is used within one request or activity
	s    *Store
	ref  blob.Ref
	size int64
	body io.ReadCloser // nil = none open
	at   int64         // where body stands
}

// resumes is how often a read goes on over a new request whose answer broke off.
const resumes = 3

// ReadAt implements io.ReaderAt. An answer that breaks off before the object's end is one of the network, and not
// an object that ends there: that would be damage, and the object would be taken out of service.
func (r *source) ReadAt(p []byte, off int64) (n int, err error) {
	if off >= r.size {
		return 0, io.EOF
	}
	want := int(min(int64(len(p)), r.size-off))
	for broken := 0; n < want; {
		got, err := r.read(p[n:want], off+int64(n))
		n += got
		if n == want {
			break
		}
		if broken++; broken > resumes || r.ctx.Err() != nil || fault.Is(err, fault.NotFound) {
			return n, r.brokeOff(err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// read reads on at off over the open answer, or a new one. One that failed is not read from again.
func (r *source) read(p []byte, off int64) (int, error) {
	if r.body == nil || off != r.at {
		if err := r.seek(off); err != nil {
			return 0, err
		}
	}
	n, err := io.ReadFull(r.body, p)
	r.at += int64(n)
	if err != nil {
		_ = r.Close() // it is broken
	}
	return n, err
}

// brokeOff is the failure of a read; the end of an answer is no end of the object.
func (r *source) brokeOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the answer broke off: " + err.Error()) // not wrapped: it must not be taken for the end
	}
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return classify(r.ref, "read", err)
}

func (r *source) seek(off int64) error {
	if err := r.Close(); err != nil {
		return err
	}
	var opts minio.GetObjectOptions
	if off > 0 {
		if err := opts.SetRange(off, 0); err != nil {
			return err
		}
	}
	core := minio.Core{Client: r.s.client}
	body, _, _, err := core.GetObject(r.ctx, r.s.opts.Bucket, r.s.key(r.ref), opts)
	if err != nil {
		return classify(r.ref, "read", err)
	}
	r.body, r.at = body, off
	return nil
}

// Close implements io.Closer.
func (r *source) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}
