package codec

import "context"

// The dispose and blend operations of a frame of an animated PNG.
const (
	disposeBackground = 1
	disposePrevious   = 2
	blendOver         = 1
)

// canvas is the RGBA picture that an animation is drawn on.
type canvas struct {
	width, height int
	rgba          []uint8
}

func newCanvas(w, h int) *canvas {
	return &canvas{w, h, make([]uint8, 4*w*h)}
}

// draw draws a tile on the canvas. With over it blends by alpha, otherwise the tile replaces the canvas.
func (c *canvas) draw(x, y, w, h int, rgb, alpha []uint8, over bool) {
	for i := range h {
		for j := range w {
			s := i*w + j
			a := uint32(255)
			if alpha != nil {
				a = uint32(alpha[s])
			}
			d := c.rgba[4*((y+i)*c.width+x+j):][:4]
			if !over || a == 255 || d[3] == 0 {
				d[0], d[1], d[2], d[3] = rgb[3*s], rgb[3*s+1], rgb[3*s+2], uint8(a)
			} else if a > 0 {
				blend(d, rgb[3*s:3*s+3], a)
			}
		}
	}
}

// blend is source-over for straight alpha.
func blend(d, rgb []uint8, a uint32) {
	under := uint32(d[3]) * (255 - a) // × 255
	total := a*255 + under
	for k := range 3 {
		d[k] = uint8((uint32(rgb[k])*a*255 + uint32(d[k])*under + total/2) / total)
	}
	d[3] = uint8((total + 127) / 255)
}

func (c *canvas) clear(x, y, w, h int) {
	for i := range h {
		at := 4 * ((y+i)*c.width + x)
		clear(c.rgba[at : at+4*w])
	}
}

// copyTo writes the canvas as frame i.
func (c *canvas) copyTo(f *frames, i int) {
	base := i * c.width * c.height
	for p := range c.width * c.height {
		copy(f.rgb[3*(base+p):3*(base+p)+3], c.rgba[4*p:4*p+3])
		if f.alpha != nil {
			f.alpha[base+p] = c.rgba[4*p+3]
		}
	}
}

// decodeAnimation draws the frames one after the other.
func (f *pngFile) decodeAnimation(ctx context.Context, l layout) (*frames, error) {
	out := newFrames(l, f.hasAlpha())
	c := newCanvas(f.width, f.height)
	var saved []uint8
	for i, fr := range f.animation {
		tile := newFrames(layout{width: fr.width, height: fr.height, frames: 1}, f.hasAlpha())
		if err := f.decodeInto(ctx, chunks(fr.data), tile); err != nil {
			return nil, err
		}
		if fr.dispose == disposePrevious {
			saved = append(saved[:0], c.rgba...)
		}
		c.draw(fr.x, fr.y, fr.width, fr.height, tile.rgb, tile.alpha, fr.blend == blendOver)
		c.copyTo(out, i)
		switch {
		case fr.dispose == disposePrevious && i > 0:
			copy(c.rgba, saved)
		case fr.dispose == disposeBackground || fr.dispose == disposePrevious:
			c.clear(fr.x, fr.y, fr.width, fr.height)
		}
	}
	return out, nil
}
