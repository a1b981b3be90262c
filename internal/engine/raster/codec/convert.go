package codec

import (
	"context"
	"image"
	"image/color"
)

// convert turns a standard image into one frame.
func convert(ctx context.Context, im image.Image, l layout, alpha bool) (*frames, error) {
	out := newFrames(l, alpha)
	b := im.Bounds()
	if b.Dx() != l.width || b.Dy() != l.height {
		return nil, errSize
	}
	for y := range l.height {
		if y%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for x := range l.width {
			p := y*l.width + x
			r, g, bl, a := straight(im, b.Min.X+x, b.Min.Y+y)
			d := out.rgb[3*p:][:3]
			d[0], d[1], d[2] = r, g, bl
			if alpha {
				out.alpha[p] = a
			}
		}
	}
	return out, nil
}

// straight returns a pixel with colour not multiplied by alpha, 8 bits a channel.
func straight(im image.Image, x, y int) (r, g, b, a uint8) {
	switch im := im.(type) {
	case *image.Gray:
		v := im.Pix[im.PixOffset(x, y)]
		return v, v, v, 255
	case *image.NRGBA:
		p := im.Pix[im.PixOffset(x, y):][:4]
		return p[0], p[1], p[2], p[3]
	case *image.NRGBA64:
		p := im.Pix[im.PixOffset(x, y):][:8]
		return p[0], p[2], p[4], p[6]
	case *image.CMYK:
		p := im.Pix[im.PixOffset(x, y):][:4]
		return cmyk(p[0], p[3]), cmyk(p[1], p[3]), cmyk(p[2], p[3]), 255
	default:
		c := color.NRGBAModel.Convert(im.At(x, y)).(color.NRGBA)
		return c.R, c.G, c.B, c.A
	}
}

// cmyk mixes one ink with black, as ffmpeg does it.
func cmyk(ink, black uint8) uint8 {
	return uint8((255 - uint32(ink)) * (255 - uint32(black)) * 257 >> 16)
}
