// Package preview re-encodes a stored image for display by GET /view: its first frame, selected channels, or a smaller
// format. It never changes stored files.
package preview

import (
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"strconv"
	"strings"

	"github.com/HugoSmits86/nativewebp"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

// Channel selects the channels of an image to show.
type Channel string

// The channels of the view route. Alpha is black with the image's alpha.
const (
	RGBA  Channel = ""
	RGB   Channel = "rgb"
	Alpha Channel = "a"
)

// ParseChannel reads the channel parameter. Unknown names mean all channels, as in ComfyUI.
func ParseChannel(s string) Channel {
	switch s {
	case "rgb":
		return RGB
	case "a", "alpha":
		return Alpha
	}
	return RGBA
}

// Options say how to show an image.
type Options struct {
	Channel Channel
	Format  Format
	Quality int // of JPEG, 1..100
}

// Format is the encoding of a preview.
type Format string

// The formats. WebP is lossless: no lossy encoder exists without C.
const (
	PNG  Format = "image/png"
	JPEG Format = "image/jpeg"
	WebP Format = "image/webp"
)

// defaultQuality is the JPEG quality of previews in ComfyUI.
const defaultQuality = 90

// Parse reads the parameters of the view route: preview as "<webp|jpeg>;<quality>", and channel. Without a preview,
// the format is PNG. A channel with alpha needs WebP.
func Parse(preview, channel string) Options {
	o := Options{Channel: ParseChannel(channel), Format: PNG, Quality: defaultQuality}
	if preview == "" {
		return o
	}
	parts := strings.Split(preview, ";")
	o.Format = WebP
	if parts[0] == "jpeg" && !strings.Contains(channel, "a") {
		o.Format = JPEG
	}
	if q, err := strconv.Atoi(parts[len(parts)-1]); err == nil && q >= 1 && q <= 100 {
		o.Quality = q
	}
	return o
}

// Render writes the first frame of the image file r. A file that is not an image is Invalid; a file with too many
// pixels is Exhausted.
func Render(ctx context.Context, e raster.Engine, w io.Writer, r io.Reader, o Options) error {
	pic, err := codec.Decode(ctx, e, r)
	if err != nil {
		return err
	}
	img := compose(pic, o)
	switch o.Format {
	case JPEG:
		err = jpeg.Encode(w, img, &jpeg.Options{Quality: o.Quality})
	case WebP:
		err = nativewebp.Encode(w, img, nil)
	case PNG:
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, img)
	}
	if err != nil {
		return fmt.Errorf("encode a preview: %w", err)
	}
	return ctx.Err()
}

// compose returns the first frame with the selected channels. Other colours are black, and alpha that is not selected is
// opaque.
func compose(pic *codec.Picture, o Options) *image.NRGBA {
	im := pic.Image
	out := image.NewNRGBA(image.Rect(0, 0, im.Width(), im.Height()))
	color := o.Channel != Alpha
	mask := pic.Mask
	if o.Channel == RGB || o.Format == JPEG {
		mask = nil
	}
	buf := make([]uint8, im.Width()*im.Channels())
	for y := range im.Height() {
		row := im.Row8(buf, 0, y)
		dst := out.Pix[y*out.Stride:][:4*im.Width()]
		for x := range im.Width() {
			d := dst[4*x:][:4]
			if color {
				copy(d[:3], row[x*im.Channels():][:3])
			}
			d[3] = alphaAt(mask, y, x)
		}
	}
	return out
}

// alphaAt converts a mask sample, which is 1 − alpha, to an 8-bit alpha.
func alphaAt(mask *raster.Mask, y, x int) uint8 {
	if mask == nil {
		return 255
	}
	return uint8((1-mask.At(0, y, x, 0))*255 + 0.5)
}
