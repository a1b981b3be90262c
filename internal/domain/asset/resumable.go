package asset

import (
	"cmp"
	"context"
	"io"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Upload is an upload whose bytes arrive in several requests, possibly hours apart.
type Upload struct {
	ID       PublicID // of the asset that it becomes
	Account  string
	Size     int64             // bytes that the client announced
	Received int64             // bytes that are stored
	Fields   map[string]string // what the client says about the file
	Pieces   []blob.Ref        // the bytes received, in order
	Made     bool              // the asset was recorded
}

// Uploads stores the state of resumable uploads. An upload that the account does not have is NotFound.
type Uploads interface {
	// Begin records an upload. Too many unfinished uploads of the account are Exhausted.
	Begin(ctx context.Context, u Upload) error
	// Upload returns an upload.
	Upload(ctx context.Context, account string, id PublicID) (Upload, error)
	// Append records the next bytes of an upload. Unless at bytes were received before, it is Conflict, upload_offset.
	Append(ctx context.Context, u Upload, at int64, piece blob.Stored) error
	// Made records that an upload became an asset, and that its pieces are not needed.
	Made(ctx context.Context, u Upload) error
	// Drop removes an upload.
	Drop(ctx context.Context, u Upload) error
	// Pending returns the announced bytes of the account's unfinished uploads.
	Pending(ctx context.Context, account string) (int64, error)
}

// Resumable accepts uploads whose bytes arrive in several requests. After a crash, at most a piece of the bytes that were sent is lost.
type Resumable struct {
	Uploads
	Service *Service
	Blobs   blob.Store
	Piece   int64 // bytes of a piece; 0 = 64 MiB

	finishing singleflight.Group
}

const (
	defaultPiece = 64 << 20
	// finishWithin bounds the making of an asset. Each byte is read and written once more: for 64 GiB on a slow disk, some ten minutes.
	finishWithin = time.Hour
)

// Write stores the bytes of src as the next ones of an upload, from the offset at. It returns how many are stored, even with an error.
func (r *Resumable) Write(ctx context.Context, u Upload, at int64, src io.Reader) (stored int64, err error) {
	size := r.Piece
	size = cmp.Or(size, defaultPiece)
	for last := size; last == size && err == nil; {
		last, err = r.write(ctx, u, at+stored, io.LimitReader(src, size))
		stored += last
	}
	return stored, err
}

func (r *Resumable) write(ctx context.Context, u Upload, at int64, src io.Reader) (int64, error) {
	w, err := r.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	n, broken := io.Copy(w, src) // a connection that breaks does not waste what came before
	if n == 0 {
		return 0, broken
	}
	piece, err := w.Commit(ctx)
	if err == nil {
		err = r.Append(ctx, u, at, piece)
	}
	if err != nil {
		return 0, err
	}
	return n, broken
}

// Finish makes the asset of an upload whose bytes have all arrived, which may take minutes, and does not stop when ctx ends. Bytes
// without the expected hash are Conflict, hash_mismatch, and end the upload. Several calls at once make one asset.
func (r *Resumable) Finish(ctx context.Context, u Upload, expected *blob.Ref, spec Spec) error {
	_, err, _ := r.finishing.Do(u.Account+" "+string(u.ID), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		err := r.finish(ctx, u, expected, spec)
		switch fault.CodeOf(err) {
		case fault.CodeHashMismatch:
			if gone := r.Drop(ctx, u); gone != nil {
				return nil, gone
			}
		case fault.CodeAssetIDTaken: // another process made it, or this one before a crash
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return nil, r.Made(ctx, u)
	})
	return err
}

func (r *Resumable) finish(ctx context.Context, u Upload, expected *blob.Ref, spec Spec) error {
	in, err := r.Service.Receive(ctx, u.Account, expected)
	if err != nil {
		return err
	}
	defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	for _, piece := range u.Pieces {
		if err := r.read(ctx, in, piece); err != nil {
			return err
		}
	}
	_, err = r.Service.Create(ctx, in, expected, spec)
	return err
}

func (r *Resumable) read(ctx context.Context, to io.Writer, piece blob.Ref) error {
	from, err := r.Blobs.Open(ctx, piece)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}
