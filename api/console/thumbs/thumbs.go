// Package thumbs makes thumbnails of stored pictures for the pages of the console. It promises that the memory and
// the time of a thumbnail are bounded, and that concurrent requests for a thumbnail share one computation. Callers
// check who may see a picture.
package thumbs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of thumbnails.
const (
	thumbSide        = 224     // pixels: twice the size on a page, for dense screens
	thumbQuality     = 78      // of a JPEG
	thumbPixels      = 1 << 25 // largest picture, in pixels: a decoded batch of such pictures takes half a gigabyte
	thumbBytes       = 64 << 20
	cachedThumbs     = 4096 // of about 6 KiB each
	concurrentThumbs = 2
	thumbTime        = 30 * time.Second // bound of making a thumbnail
)

// Thumbs makes thumbnails of stored pictures and keeps the latest in memory. Equal bytes have equal thumbnails, so
// that the hash of the bytes identifies a thumbnail.
type Thumbs struct {
	cache   *lru.Cache[string, []byte]
	flights singleflight.Group
	busy    *semaphore.Weighted
}

// New returns an empty Thumbs.
func New() *Thumbs {
	kept, err := lru.New[string, []byte](cachedThumbs)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Thumbs{cache: kept, busy: semaphore.NewWeighted(concurrentThumbs)}
}

// Serve answers with the thumbnail of a file. done is false for a file without one: not a picture, or too large.
func (t *Thumbs) Serve(c *gin.Context, store content.Store, e files.Entry) (done bool, err error) {
	small, err := t.of(c.Request.Context(), store, e)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Exhausted) {
		return false, nil
	}
	if err != nil {
		return false, content.Unavailable(err)
	}
	c.Header("Cache-Control", "private, max-age=3600") // the bytes of a file never change
	c.Header("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, "image/jpeg", small)
	return true, nil
}

// of returns the thumbnail of a file, a JPEG. A file that is not a picture, or is too large, is Invalid.
func (t *Thumbs) of(ctx context.Context, store content.Store, e files.Entry) ([]byte, error) {
	key := e.Hash.String()
	if small, ok := t.cache.Get(key); ok {
		return small, nil
	}
	made, err, _ := t.flights.Do(key, func() (any, error) {
		// other visitors may wait for the thumbnail after this one has left
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), thumbTime)
		defer cancel()
		if err := t.busy.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer t.busy.Release(1)
		small, err := makeThumb(ctx, store, e)
		if err == nil {
			t.cache.Add(key, small)
		}
		return small, err
	})
	if err != nil {
		return nil, err
	}
	small, _ := made.([]byte)
	return small, nil
}

func makeThumb(ctx context.Context, store content.Store, e files.Entry) ([]byte, error) {
	if e.Size > thumbBytes {
		return nil, fault.New(fault.Invalid, fault.CodeTooLarge, "the picture is too large for a thumbnail")
	}
	r, err := store.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	engine := raster.Engine{MaxPixels: thumbPixels}
	picture, err := codec.Decode(ctx, engine, io.LimitReader(r, thumbBytes))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", e.Hash, err)
	}
	var small bytes.Buffer
	if err := codec.EncodeThumbnail(ctx, engine, &small, picture.Image, 0, thumbSide, thumbQuality); err != nil {
		return nil, fmt.Errorf("make a thumbnail of %s: %w", e.Hash, err)
	}
	return small.Bytes(), nil
}
