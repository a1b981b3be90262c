package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/millrace-dev/millrace/internal/blob"
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

// ReadAt implements io.ReaderAt.
func (r *source) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size {
		return 0, io.EOF
	}
	if r.body == nil || off != r.at {
		if err := r.seek(off); err != nil {
			return 0, err
		}
	}
	n, err := io.ReadFull(r.body, p[:min(int64(len(p)), r.size-off)])
	r.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
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
