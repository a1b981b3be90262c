package codec

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec/jpegplane"
)

func scanJPEG(data []byte) (layout, error) {
	c, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return layout{}, fmt.Errorf("jpeg header: %w", err)
	}
	kind := map[color.Model]pixels{color.CMYKModel: packedColors, color.GrayModel: greyLevels}[c.ColorModel]
	return layout{c.Width, c.Height, 1, turned(jpegOrientation(data)), c.ColorModel == color.CMYKModel, kind}, nil
}

// turned is an orientation without its mirroring: the library that ComfyUI loads files with turns pictures and does not
// mirror them.
func turned(orientation int) int {
	if without, mirrored := map[int]int{2: 3, 4: 1, 5: 6, 7: 8}[orientation]; mirrored {
		return without
	}
	return orientation
}

func decodeJPEG(ctx context.Context, data []byte, l layout) (*frames, error) {
	im, err := jpegplane.Decode(ctx, data, image.Pt(l.width, l.height))
	if err != nil && ctx.Err() == nil {
		im, err = jpeg.Decode(bytes.NewReader(data)) // another kind of file; of a damaged one it says what is wrong
	}
	if err != nil {
		return nil, fmt.Errorf("jpeg: %w", err)
	}
	if y, ok := im.(*image.YCbCr); ok {
		out := newFrames(l, false)
		return out, convertJPEG(ctx, y, out.rgb)
	}
	return convert(ctx, im, l, false)
}

// previewSide and previewQuality bound live previews: 512² at 80 is about 20 KB and 4 ms.
const (
	previewSide    = 512
	previewQuality = 80
)

// EncodePreview writes a frame as a JPEG of at most 512 pixels a side. It samples the pixels of a large frame, so that a
// preview takes about the same time for every size.
func EncodePreview(ctx context.Context, e raster.Engine, w io.Writer, im *raster.Image, frame int) error {
	coarse := im.Frame(frame)
	if long := max(coarse.Width(), coarse.Height()); long > 4*previewSide {
		width, height := max(1, coarse.Width()*2*previewSide/long), max(1, coarse.Height()*2*previewSide/long)
		var err error
		if coarse, err = e.Resize(ctx, coarse, width, height, raster.NearestExact); err != nil {
			return err
		}
	}
	return EncodeThumbnail(ctx, e, w, coarse, 0, previewSide, previewQuality)
}

// EncodeThumbnail writes a frame as a JPEG of at most side pixels a side. Smaller frames keep their size; alpha is dropped.
func EncodeThumbnail(ctx context.Context, e raster.Engine, w io.Writer, im *raster.Image, frame, side, quality int) error {
	small := im.Frame(frame)
	if long := max(small.Width(), small.Height()); long > side {
		width := max(1, (small.Width()*side+long/2)/long)
		height := max(1, (small.Height()*side+long/2)/long)
		var err error
		if small, err = e.Resize(ctx, small, width, height, raster.Lanczos); err != nil {
			return err
		}
	}
	if err := jpeg.Encode(w, opaque(small), &jpeg.Options{Quality: quality}); err != nil {
		return fmt.Errorf("encode preview: %w", err)
	}
	return ctx.Err()
}

// opaque returns frame 0 as a standard image without alpha.
func opaque(im *raster.Image) image.Image {
	c := im.Channels()
	out := image.NewRGBA(image.Rect(0, 0, im.Width(), im.Height()))
	buf := make([]uint8, im.Width()*c)
	for y := range im.Height() {
		row := im.Row8(buf, 0, y)
		dst := out.Pix[y*out.Stride:][:4*im.Width()]
		for x := range im.Width() {
			s, d := row[x*c:][:c], dst[4*x:][:4]
			d[0], d[1], d[2], d[3] = s[0], s[min(1, c-1)], s[min(2, c-1)], 255
		}
	}
	return out
}
