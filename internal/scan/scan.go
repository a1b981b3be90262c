// Package scan examines stored files: it finds the type of the bytes, measures images and makes their thumbnails. It
// rejects files that the service cannot handle, such as an image that would exhaust the memory. A file whose type
// differs from the declared type is not rejected, only noted. The handling of rejected files is left to
// others.
package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Bounds of a scan.
const (
	sniffBytes       = 512       // the sniffing rules read no more
	maxImageBytes    = 256 << 20 // an image file larger than this is not decoded
	rejectPixels     = 1 << 30   // frames × width × height above which an image is rejected
	thumbnailPixels  = 1 << 26   // bound of images that get a thumbnail
	thumbnailSide    = 512
	thumbnailQuality = 80
)

// Content scans stored files.
type Content struct{ Blobs blob.Store } // the store for thumbnails

// Scan sniffs the type. For an image it also reads the size and makes a thumbnail.
func (s Content) Scan(ctx context.Context, a asset.Asset, content io.ReadSeeker) (asset.Scan, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return asset.Scan{}, fmt.Errorf("read the start: %w", err)
	}
	found := asset.Scan{Verdict: asset.Clean, SniffedType: http.DetectContentType(head[:n])}
	if a.Size > maxImageBytes || !looksLikeImage(found.SniffedType, head[:n]) {
		return found, nil
	}
	return s.image(ctx, content, found)
}

// looksLikeImage reports whether a decoder may accept the file; other files are not read into memory.
func looksLikeImage(sniffed string, head []byte) bool {
	return strings.HasPrefix(sniffed, "image/") || bytes.HasPrefix(head, []byte("II*\x00")) || bytes.HasPrefix(head, []byte("MM\x00*"))
}

// image adds the size of an image to found. For another file it changes nothing.
func (s Content) image(ctx context.Context, content io.ReadSeeker, found asset.Scan) (asset.Scan, error) {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return asset.Scan{}, err
	}
	info, err := codec.Stat(raster.Engine{MaxPixels: rejectPixels}, content)
	switch {
	case fault.Is(err, fault.Exhausted):
		found.Verdict, found.Reason = asset.Rejects, "the image has too many pixels"
		return found, nil
	case fault.Is(err, fault.Invalid):
		return found, nil
	case err != nil:
		return asset.Scan{}, fmt.Errorf("read the image header: %w", err)
	}
	found.SniffedType, found.Width, found.Height = "image/"+string(info.Format), info.Width, info.Height
	if int64(info.Width)*int64(info.Height)*int64(info.Frames) > thumbnailPixels {
		return found, nil
	}
	return s.thumbnail(ctx, content, found)
}

// thumbnail stores a small JPEG. An image that cannot be decoded gets none.
func (s Content) thumbnail(ctx context.Context, content io.ReadSeeker, found asset.Scan) (asset.Scan, error) {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return asset.Scan{}, err
	}
	engine := raster.Engine{MaxPixels: thumbnailPixels}
	pic, err := codec.Decode(ctx, engine, content)
	if fault.Is(err, fault.Invalid) {
		return found, nil
	}
	if err != nil {
		return asset.Scan{}, fmt.Errorf("decode the image: %w", err)
	}
	w, err := s.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return asset.Scan{}, err
	}
	defer w.Abort()
	if err := codec.EncodeThumbnail(ctx, engine, w, pic.Image, 0, thumbnailSide, thumbnailQuality); err != nil {
		return asset.Scan{}, fmt.Errorf("make a thumbnail: %w", err)
	}
	stored, err := w.Commit(ctx)
	if err != nil {
		return asset.Scan{}, err
	}
	found.Thumbnail = stored.Ref
	return found, nil
}
