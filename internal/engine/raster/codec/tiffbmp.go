package codec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// errSize reports a file whose pixels do not match its header.
var errSize = errors.New("the size of the pixels does not match the header")

func scanBMP(data []byte) (layout, error) {
	c, err := bmp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return layout{}, fmt.Errorf("bmp header: %w", err)
	}
	_, palette := c.ColorModel.(color.Palette)
	l := layout{width: c.Width, height: c.Height, frames: 1, pixels: packedColors}
	if palette {
		l.pixels = byteColors
	}
	return l, nil
}

func decodeBMP(ctx context.Context, data []byte, l layout) (*frames, error) {
	im, err := bmp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("bmp: %w", err)
	}
	nrgba, ok := im.(*image.NRGBA)
	return convert(ctx, im, l, ok && !nrgba.Opaque())
}

func scanTIFF(data []byte) (layout, error) {
	c, err := tiff.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return layout{}, fmt.Errorf("tiff header: %w", err)
	}
	l := layout{width: c.Width, height: c.Height, frames: 1, orientation: exifOrientation(data)}
	if c.ColorModel == color.GrayModel {
		l.pixels = greyLevels
	}
	return l, nil
}

func decodeTIFF(ctx context.Context, data []byte, l layout) (*frames, error) {
	im, err := tiff.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("tiff: %w", err)
	}
	return convert(ctx, im, l, hasAlpha(im))
}

// hasAlpha reports whether the image type keeps alpha.
func hasAlpha(im image.Image) bool {
	switch im.(type) {
	case *image.NRGBA, *image.NRGBA64:
		return true
	case *image.RGBA, *image.RGBA64:
		return !im.(interface{ Opaque() bool }).Opaque()
	default:
		return false
	}
}
