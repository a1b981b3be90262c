package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
)

var errGIF = errors.New("malformed gif")

// gifFile is the structure of a GIF.
type gifFile struct {
	width, height int
	background    int // index into the global colours
	frames        []gifFrame
}

// gifFrame holds the properties of a frame that the standard decoder drops.
type gifFrame struct {
	colors []byte // RGB triples
	clear  int    // index of the transparent colour, or -1
}

// rgb returns a colour; an index beyond the table is black.
func (f *gifFrame) rgb(i int) []byte {
	if 3*i+3 > len(f.colors) {
		return []byte{0, 0, 0}
	}
	return f.colors[3*i : 3*i+3]
}

// parseGIF walks the blocks, so that the frames are counted before any is decoded.
func parseGIF(data []byte) (*gifFile, error) {
	if len(data) < 13 {
		return nil, errGIF
	}
	f := &gifFile{
		width:      int(binary.LittleEndian.Uint16(data[6:])),
		height:     int(binary.LittleEndian.Uint16(data[8:])),
		background: int(data[11]),
	}
	global := table(data[13:], data[10])
	clear := -1
	b := skip(data, 13+len(global))
	for len(b) > 0 && b[0] != ';' {
		switch {
		case b[0] == '!':
			const control = 0xf9
			if len(b) >= 8 && b[1] == control && b[2] == 4 && b[3]&1 != 0 {
				clear = int(b[6])
			}
			b = skipBlocks(skip(b, 2))
		case b[0] == ',' && len(b) >= 10:
			frame := gifFrame{global, clear}
			local := table(b[10:], b[9])
			if len(local) > 0 {
				frame.colors = local
			}
			f.frames, clear = append(f.frames, frame), -1
			b = skipBlocks(skip(b, 10+len(local)+1))
		default:
			return nil, errGIF
		}
	}
	if len(f.frames) == 0 {
		return nil, errGIF
	}
	return f, nil
}

func scanGIF(data []byte) (layout, error) {
	f, err := parseGIF(data)
	if err != nil {
		return layout{}, err
	}
	return layout{width: f.width, height: f.height, frames: len(f.frames), clear: true, pixels: packedColors}, nil
}

// table returns the colour table at the start of b that packed flags announce.
func table(b []byte, flags byte) []byte {
	return b[:min(len(b), tableBytes(flags))]
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
	f, err := parseGIF(data)
	if err != nil {
		return nil, err
	}
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("gif: %w", err)
	}
	if len(g.Image) != len(f.frames) {
		return nil, errGIF
	}
	out := newFrames(l, f.hasClear(g))
	c := newCanvas(l.width, l.height)
	var saved []uint8
	for i, im := range g.Image {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if g.Disposal[i] == gif.DisposalPrevious {
			saved = append(saved[:0], c.rgba...)
		}
		c.paletted(im, &f.frames[i], i == 0)
		c.copyTo(out, i)
		switch g.Disposal[i] {
		case gif.DisposalBackground:
			c.fill(im.Rect, f.disposalColor(i))
		case gif.DisposalPrevious:
			copy(c.rgba, saved)
		}
	}
	return out, nil
}

// disposalColor is the colour that replaces a frame disposed to the background: its transparent colour, or the background colour
// if it has none.
func (f *gifFile) disposalColor(i int) color.NRGBA {
	frame, index, alpha := &f.frames[i], f.frames[i].clear, uint8(0)
	if index < 0 {
		index, alpha = f.background, 255
	}
	c := frame.rgb(index)
	return color.NRGBA{c[0], c[1], c[2], alpha}
}

// hasClear reports whether the file may have transparent pixels: because the first frame does not cover the canvas or has
// a transparent colour, or because a later frame clears to one.
func (f *gifFile) hasClear(g *gif.GIF) bool {
	if g.Image[0].Rect != image.Rect(0, 0, f.width, f.height) || f.frames[0].clear >= 0 {
		return true
	}
	for i, frame := range f.frames {
		if frame.clear >= 0 && g.Disposal[i] == gif.DisposalBackground {
			return true
		}
	}
	return false
}

// fill sets a rectangle of the canvas.
func (c *canvas) fill(r image.Rectangle, v color.NRGBA) {
	r = r.Intersect(image.Rect(0, 0, c.width, c.height))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			d := c.rgba[4*(y*c.width+x):][:4]
			d[0], d[1], d[2], d[3] = v.R, v.G, v.B, v.A
		}
	}
}

// paletted draws a frame and skips its transparent pixels, which in the first frame get their palette colour with alpha 0.
func (c *canvas) paletted(im *image.Paletted, f *gifFrame, first bool) {
	r := im.Rect.Intersect(image.Rect(0, 0, c.width, c.height))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			i := int(im.Pix[im.PixOffset(x, y)])
			if i == f.clear && !first {
				continue
			}
			d := c.rgba[4*(y*c.width+x):][:4]
			copy(d, f.rgb(i))
			d[3] = 255
			if i == f.clear {
				d[3] = 0
			}
		}
	}
}
