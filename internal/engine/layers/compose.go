package layers

import (
	"context"
	"math"
	"sync"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// MaxSide is the largest width and height of a canvas and of a layer, and the largest distance of a layer from the
// corner of its canvas.
const MaxSide = 16384

// opaque is the least alpha that counts as opaque.
const opaque = 1 - 1e-3

// Placement is the position of a picture, its size and its mode. The rotation is in radians, clockwise.
type Placement struct {
	X, Y, Width, Height, Rotation float64
	Opacity                       float64
	Mode                          string
	FlipH, FlipV                  bool
}

// Placed is a picture of one frame in 8 bits, placed on a canvas.
type Placed struct {
	Picture *raster.Image
	Placement
}

// Ground is the colour of the canvas below all layers.
type Ground struct {
	Color   [3]uint8
	Opacity float64
}

// Composition is a canvas with a ground, unless it is nil, and layers, the lowest first.
type Composition struct {
	Width, Height float64
	Ground        *Ground
	Layers        []Placed
}

// bounds returns the smallest upright rectangle of whole pixels around the placed picture.
func (p Placement) bounds() (x, y, w, h float64) {
	cx, cy := p.X+p.Width/2, p.Y+p.Height/2
	sin, cos := math.Sincos(p.Rotation)
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, corner := range [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		dx, dy := corner[0]*p.Width/2, corner[1]*p.Height/2
		px, py := cx+float64(dx*cos)-float64(dy*sin), cy+float64(dx*sin)+float64(dy*cos)
		left, top, right, bottom = min(left, px), min(top, py), max(right, px), max(bottom, py)
	}
	x, y = math.Floor(left), math.Floor(top)
	return x, y, max(1, math.Ceil(right)-x), max(1, math.Ceil(bottom)-y)
}

// Reach returns how far to the right and down a placed picture reaches.
func (p Placement) Reach() (right, bottom float64) {
	x, y, w, h := p.bounds()
	return x + w, y + h
}

// Image composes the picture. The result is RGB if it is opaque everywhere, otherwise RGBA.
func (c Composition) Image(ctx context.Context, e raster.Engine) (*raster.Image, error) {
	if !(c.Width <= MaxSide && c.Height <= MaxSide) {
		return nil, fault.New(fault.Invalid, fault.CodePixelLimit, "a canvas of %g × %g pixels exceeds the largest of %d × %d",
			c.Width, c.Height,
			MaxSide, MaxSide)
	}
	out := canvas{w: int(c.Width), h: int(c.Height)}
	if err := e.Fit(1, out.h, out.w); err != nil {
		return nil, err
	}
	out.pix = make([]float32, out.w*out.h*4)
	if c.Ground != nil {
		out.fill(*c.Ground)
	}
	for _, layer := range c.Layers {
		if err := out.lay(ctx, e, layer); err != nil {
			return nil, err
		}
	}
	return out.image(ctx)
}

// canvas holds RGBA pixels in linear light.
type canvas struct {
	w, h int
	pix  []float32
}

func (c *canvas) fill(g Ground) {
	var p [4]float32
	for i, v := range g.Color {
		p[i] = tables().linear[v]
	}
	p[3] = float32(g.Opacity)
	if p[3] == 0 {
		return
	}
	for i := 0; i < len(c.pix); i += 4 {
		copy(c.pix[i:], p[:])
	}
}

// eightBit holds a table from 8-bit values to linear light, and the reverse conversion.
type eightBit struct{ linear, encoded, share [256]float32 }

var tables = sync.OnceValue(func() *eightBit {
	t := &eightBit{}
	for i := range t.linear {
		t.share[i] = float32(i) / 255
		t.linear[i] = linear(t.share[i])
		t.encoded[i] = encoded(t.linear[i])
	}
	return t
})

// lay mixes one picture into the canvas.
func (c *canvas) lay(ctx context.Context, e raster.Engine, layer Placed) error {
	im, err := prepared(ctx, e, layer)
	if err != nil {
		return err
	}
	x, y, w, h := layer.bounds()
	x += math.Floor((w - float64(im.Width())) / 2)
	y += math.Floor((h - float64(im.Height())) / 2)
	left, top := int(x), int(y)
	m := modeOf(layer.Mode)
	by := layer.within(left, top, im)
	for row := max(by.top, 0); row < min(by.bottom, c.h); row++ {
		src := im.Row8(nil, 0, row-top)
		for col := max(by.left, 0); col < min(by.right, c.w); col++ {
			m.over((*[4]float32)(c.pix[(row*c.w+col)*4:]), (*[4]uint8)(src[(col-left)*4:]), float32(layer.Opacity))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// extent is a rectangle, given by its edges.
type extent struct{ left, top, right, bottom int }

// within returns the part of the prepared picture that lies within the bounds of its placement. The prepared picture
// may be larger by a pixel.
func (p Placement) within(left, top int, im *raster.Image) extent {
	x, y, w, h := p.bounds()
	return extent{
		max(left, int(x)), max(top, int(y)),
		min(left+im.Width(), int(x+w)), min(top+im.Height(), int(y+h)),
	}
}

// prepared returns the picture as RGBA, mirrored, resized and rotated.
func prepared(ctx context.Context, e raster.Engine, layer Placed) (im *raster.Image, err error) {
	im = layer.Picture.WithChannels(4)
	if layer.FlipH {
		if im, err = e.FlipColumns(ctx, im); err != nil {
			return nil, err
		}
	}
	if layer.FlipV {
		if im, err = e.FlipRows(ctx, im); err != nil {
			return nil, err
		}
	}
	w, h := max(1, int(math.RoundToEven(layer.Width))), max(1, int(math.RoundToEven(layer.Height)))
	if im, err = e.Resize(ctx, im, w, h, raster.Lanczos); err != nil || layer.Rotation == 0 {
		return im, err
	}
	return e.Turn(ctx, im, -(layer.Rotation * (180 / math.Pi)))
}

// over mixes a pixel of a layer into one of the canvas.
func (m *mode) over(below *[4]float32, p *[4]uint8, opacity float32) {
	t := tables()
	alpha := t.share[p[3]] * opacity
	covers := m == &modes[0]
	if alpha == 0 || !covers && below[3] == 0 {
		return
	}
	in, layer := rgb(below[:3]), rgb{t.linear[p[0]], t.linear[p[1]], t.linear[p[2]]}
	if covers {
		total := alpha + float32((1-alpha)*below[3])
		if below[3] != 0 {
			ratio := alpha / total
			for i := range layer {
				layer[i] = float32(ratio*(layer[i]-in[i])) + in[i]
			}
		}
		copy(below[:], layer[:])
		below[3] = total
		return
	}
	if m.perceptual {
		layer = rgb{t.encoded[p[0]], t.encoded[p[1]], t.encoded[p[2]]}
		layer = m.mix(in.each(encoded), layer).each(linear)
	} else {
		layer = m.mix(in, layer)
	}
	for i := range layer {
		below[i] = float32(layer[i]*alpha) + float32(in[i]*(1-alpha))
	}
}

// image returns the canvas in sRGB.
func (c *canvas) image(ctx context.Context) (*raster.Image, error) {
	channels := 3
	for i := 3; i < len(c.pix); i += 4 {
		if !(c.pix[i] >= opaque) {
			channels = 4
			break
		}
	}
	out := make([]float32, c.w*c.h*channels)
	for y := range c.h {
		for x := y * c.w; x < (y+1)*c.w; x++ {
			from, to := c.pix[x*4:], out[x*channels:]
			for i := range 3 {
				to[i] = encoded(min(max(from[i], 0), 1))
			}
			if channels == 4 {
				to[3] = min(max(from[3], 0), 1)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return raster.NewImage(1, c.h, c.w, channels, out)
}
