package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// source reads an object at any offset. Sequential reads share one request.
type source struct {
	ctx  context.Context //nolint:containedctx // the context of Open: a reader is used within one request or activity
	s    *Store
	ref  blob.Ref
	size int64
	body io.ReadCloser // nil = no open answer
	at   int64         // offset of body
}

// resumes bounds how often a read continues with a new request after an answer ended early.
const resumes = 3

// ReadAt implements io.ReaderAt. An answer that ends before the object does is a network failure, not the end of the
// object, which would count as damage and put the object into quarantine.
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

// read reads at off from the open answer, or from a new one. It does not read from an answer that has failed.
func (r *source) read(p []byte, off int64) (int, error) {
	if r.body == nil || off != r.at {
		if err := r.seek(off); err != nil {
			return 0, err
		}
	}
	n, err := io.ReadFull(r.body, p)
	r.at += int64(n)
	if err != nil {
		_ = r.Close() // the answer is broken
	}
	return n, err
}

// brokeOff converts the error of a read, because the end of an answer is not the end of the object.
func (r *source) brokeOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the answer broke off: " + err.Error()) // not wrapped, so that errors.Is does not find io.EOF
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
