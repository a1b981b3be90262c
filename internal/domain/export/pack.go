package export

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Opener opens stored bytes; blob.Store is one.
type Opener interface {
	Open(ctx context.Context, ref blob.Ref) (blob.Reader, error)
}

// Packer writes archives, a file at a time.
type Packer struct {
	Blobs  Opener
	Report func(task.Progress) // called after each piece; may be nil
}

// Packed describes the content of an archive.
type Packed struct {
	Files   int
	Bytes   int64 // of the files
	Missing []Missing
}

// DamagedError reports a file whose bytes did not match their hash while they were packed. The archive is unusable
// and must be started again without the file.
type DamagedError struct {
	Asset asset.ID
	cause error
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("asset %s is damaged: %v", e.Asset, e.cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.cause }

// Pack writes the items, except those in without, as one archive. It lists these and lost files as missing.
func (p Packer) Pack(ctx context.Context, w io.Writer, items []Item, without map[asset.ID]bool, at task.Progress) (Packed, error) {
	var packed Packed
	archive := zip.NewWriter(w)
	for _, item := range items {
		lost := without[item.Asset]
		if !lost {
			var err error
			if lost, err = p.add(ctx, archive, item, &at); err != nil {
				return Packed{}, err
			}
		}
		at.Attempted++
		if lost {
			at.Failed++
			packed.Missing = append(packed.Missing, Missing{Asset: item.Public, Job: item.Job, Name: item.Name, Error: reasonLost})
		} else {
			packed.Files, packed.Bytes = packed.Files+1, packed.Bytes+item.Size
		}
		p.report(at)
	}
	if err := archive.Close(); err != nil {
		return Packed{}, fmt.Errorf("finish an archive: %w", err)
	}
	return packed, nil
}

func (p Packer) report(at task.Progress) {
	if p.Report != nil {
		p.Report(at)
	}
}

// add writes one file. lost reports that the file no longer exists; then nothing was written.
func (p Packer) add(ctx context.Context, archive *zip.Writer, item Item, at *task.Progress) (lost bool, err error) {
	r, err := p.Blobs.Open(ctx, item.Hash)
	if fault.Is(err, fault.NotFound) || errors.Is(err, blob.ErrCorrupt) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open asset %s: %w", item.Asset, err)
	}
	defer r.Close()
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: item.Path, Method: method(item.ContentType), Modified: item.CreatedAt.UTC()})
	if err != nil {
		return false, fmt.Errorf("add asset %s: %w", item.Asset, err)
	}
	from := &source{ctx: ctx, r: r, read: func(n int) {
		at.Done += int64(n)
		p.report(*at)
	}}
	if _, err := io.CopyBuffer(struct{ io.Writer }{entry}, from, make([]byte, pieceSize)); err != nil {
		if errors.Is(err, blob.ErrCorrupt) {
			return false, &DamagedError{Asset: item.Asset, cause: err}
		}
		return false, fmt.Errorf("pack asset %s: %w", item.Asset, err)
	}
	return false, nil
}

// pieceSize is the size of the part of a file that is in memory.
const pieceSize = 1 << 20

// method returns store for formats that are compressed already, such as images, sound and video, else deflate.
func method(contentType string) uint16 {
	family, sub, _ := strings.Cut(contentType, "/")
	if family == "text" || strings.HasPrefix(sub, "json") || strings.HasPrefix(sub, "svg") {
		return zip.Deflate
	}
	return zip.Store
}

// source reads until its context ends, and counts the bytes. It hides the reader's other methods, so that the copy
// proceeds piece by piece.
type source struct {
	ctx  context.Context //nolint:containedctx // the context of the only copy that uses this value
	r    io.Reader
	read func(int)
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.read(n)
	return n, err
}
