package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
)

var errGIF = errors.New("malformed gif")

// scanGIF walks the blocks to count frames, so that their number is known before any is decoded.
func scanGIF(data []byte) (layout, error) {
	if len(data) < 13 {
		return layout{}, errGIF
	}
	l := layout{
		width:  int(binary.LittleEndian.Uint16(data[6:])),
		height: int(binary.LittleEndian.Uint16(data[8:])),
	}
	b := skip(data, 13+tableBytes(data[10]))
	for len(b) > 0 && b[0] != ';' {
		switch b[0] {
		case '!':
			b = skipBlocks(skip(b, 2))
		case ',':
			if len(b) < 10 {
				return layout{}, errGIF
			}
			l.frames++
			b = skipBlocks(skip(b, 10+tableBytes(b[9])+1))
		default:
			return layout{}, errGIF
		}
	}
	if l.frames == 0 {
		return layout{}, errGIF
	}
	return l, nil
}

// tableBytes returns the size of the colour table that packed flags announce.
func tableBytes(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func skip(b []byte, n int) []byte {
	return b[min(n, len(b)):]
}

// skipBlocks skips data sub-blocks up to and including the empty one.
func skipBlocks(b []byte) []byte {
	for len(b) > 0 && b[0] != 0 {
		b = skip(b, 1+int(b[0]))
	}
	return skip(b, 1)
}

func decodeGIF(ctx context.Context, data []byte, l layout) (*frames, error) {
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("gif: %w", err)
	}
	if len(g.Image) == 0 || len(g.Image) > l.frames {
		return nil, errGIF
	}
	l.frames = len(g.Image)
	out := newFrames(l, hasClear(g))
	c := newCanvas(l.width, l.height)
	var saved []uint8
	for i, im := range g.Image {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if g.Disposal[i] == gif.DisposalPrevious {
			saved = append(saved[:0], c.rgba...)
		}
		c.paletted(im, i == 0)
		c.copyTo(out, i)
		switch g.Disposal[i] {
		case gif.DisposalBackground:
			r := im.Rect.Intersect(image.Rect(0, 0, l.width, l.height))
			c.clear(r.Min.X, r.Min.Y, r.Dx(), r.Dy())
		case gif.DisposalPrevious:
			copy(c.rgba, saved)
		}
	}
	return out, nil
}

// hasClear reports whether any pixel anywhere shows through.
func hasClear(g *gif.GIF) bool {
	full := image.Rect(0, 0, g.Config.Width, g.Config.Height)
	for i, im := range g.Image {
		for _, c := range im.Palette {
			if _, _, _, a := c.RGBA(); a == 0 && (i == 0 || g.Disposal[i-1] == gif.DisposalBackground) {
				return true
			}
		}
		if i == 0 && im.Rect != full {
			return true
		}
	}
	return false
}

// paletted draws a frame; transparent pixels leave what is below. On the first frame
// they keep their palette colour at alpha 0.
func (c *canvas) paletted(im *image.Paletted, first bool) {
	r := im.Rect.Intersect(image.Rect(0, 0, c.width, c.height))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			i := int(im.Pix[im.PixOffset(x, y)])
			if i >= len(im.Palette) {
				continue
			}
			cr, cg, cb, a := im.Palette[i].RGBA()
			if a == 0 && !first {
				continue
			}
			d := c.rgba[4*(y*c.width+x):][:4]
			d[0], d[1], d[2], d[3] = uint8(cr>>8), uint8(cg>>8), uint8(cb>>8), uint8(a>>8)
		}
	}
}
