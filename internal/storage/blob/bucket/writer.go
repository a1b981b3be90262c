package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Create implements blob.Store.
func (s *Store) Create(context.Context, blob.Durability) (blob.Writer, error) {
	failed := func(err error) error {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return fault.Wrap(err, fault.Exhausted, fault.CodeDiskFull, "no space left to store files")
		}
		return fmt.Errorf("spool a blob: %w", err)
	}
	return &writer{Spool: blob.NewSpool(s.spool, failed), s: s}, nil
}

// spool makes a file without a name, so it does not outlive the process.
func (s *Store) spool() (*os.File, error) {
	f, err := os.CreateTemp(s.opts.Spool, "")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writer spools one blob before it is sent.
type writer struct {
	*blob.Spool
	s *Store
}

// Commit implements blob.Writer.
func (w *writer) Commit(ctx context.Context) (blob.Stored, error) {
	stored, err := w.Whole(ctx)
	if err != nil {
		return blob.Stored{}, err
	}
	adopted, err := w.adopt(ctx, stored)
	if err == nil && !adopted {
		stored.Created = true
		err = w.upload(ctx, stored)
	}
	if err == nil {
		_ = w.Abort() // the file has no name
	}
	return stored, err
}

// adopt uses an existing object of the right size as the blob and touches it, so that no collector removes it.
func (w *writer) adopt(ctx context.Context, b blob.Stored) (bool, error) {
	size, err := w.s.Stat(ctx, b.Ref)
	if fault.Is(err, fault.NotFound) || err == nil && size != b.Size {
		return false, nil
	}
	if err == nil {
		err = w.s.Touch(ctx, b.Ref)
	}
	if fault.Is(err, fault.NotFound) { // the object was collected meanwhile
		return false, nil
	}
	return err == nil, err
}

// uploadAttempts bounds how often an upload is repeated because a collector removed its object.
const uploadAttempts = 3

// upload stores the object. A collector that has examined an older object of the same name may still remove the new
// one, so upload checks under the lock that the object exists.
func (w *writer) upload(ctx context.Context, b blob.Stored) error {
	for attempt := 1; ; attempt++ {
		_, err := w.s.client.PutObject(ctx, w.s.opts.Bucket, w.s.key(b.Ref), io.NewSectionReader(w, 0, b.Size), b.Size,
			minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 1, ServerSideEncryption: w.s.sse})
		if err != nil {
			return classify(b.Ref, "store", err)
		}
		err = w.s.locks.Shared(ctx, b.Ref, func(ctx context.Context) error {
			_, err := w.s.Stat(ctx, b.Ref)
			return err
		})
		if !fault.Is(err, fault.NotFound) || attempt == uploadAttempts {
			return err
		}
	}
}

// partSize is the size of the parts of a large upload.
const partSize = 16 << 20

// Abort implements blob.Writer.
func (w *writer) Abort() error { return w.Close() }
