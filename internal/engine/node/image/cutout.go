package image

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ImageCropToMask cuts out the area that a mask selects and puts it on a colour.
func ImageCropToMask() *node.Class {
	return &node.Class{
		Name: "ImageCropToMask", DisplayName: "Crop Image to Mask", Category: "image/transform", Module: moduleImages,
		Description: "Cuts images to what a mask selects, puts it onto a colour and resizes it.", SearchAliases: []string{"crop to mask"},
		Inputs: []node.Input{
			declare.Image("images", "The images."),
			declare.Mask("masks", "What is selected, one mask for each image or one for all."),
			declare.Stepped(declare.Count("width", 1024, 64, 4096, "The width of the result."), 8),
			declare.Stepped(declare.Count("height", 1024, 64, 4096, "The height of the result."), 8),
			declare.Stepped(declare.Number("pad_factor", 1, 1, 2, "How much larger than the selected area the cut is."), 0.01),
			declare.Integer("grow_mask", 0, -32, 32, "By how many pixels the mask becomes wider, or narrower."),
			{Name: "background", Type: node.Color, Default: "#000000", Socketless: true, Tooltip: "The colour behind."},
		},
		Outputs: declare.Images("images"),
		Cost:    declare.PerPixel(500),
		Pixels:  resultPixels("width", "height"),
		Run:     runCutout,
	}
}

// cutout holds the arguments of one ImageCropToMask.
type cutout struct {
	width, height, grow int
	pad                 float64
	ground              [3]float32
}

func runCutout(ctx context.Context, call *node.Call) (node.Result, error) {
	im, mask := call.Image("images"), call.Mask("masks")
	c := cutout{
		width: call.Int("width"), height: call.Int("height"), grow: call.Int("grow_mask"),
		pad: call.Float("pad_factor"), ground: colorOf(call.String("background")),
	}
	e := declare.Engine(call)
	if err := e.Fit(im.Frames(), c.height, c.width); err != nil {
		return node.Result{}, err
	}
	if mask.Frames() != 1 && mask.Frames() != im.Frames() || !(c.pad >= 1 && c.pad <= 2) || c.grow < -32 || c.grow > 32 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeBatchMismatch, "%d masks do not fit %d images, or a number is out of range",
			mask.Frames(), im.Frames())
	}
	grey := mask.Grey()
	if grey.Width() != im.Width() || grey.Height() != im.Height() {
		var err error
		if grey, err = e.Resize(ctx, grey, im.Width(), im.Height(), raster.Bilinear); err != nil {
			return node.Result{}, err
		}
	}
	parts := make([]*raster.Image, im.Frames())
	for i := range parts {
		part, err := c.cut(ctx, e, im.Frame(i).WithChannels(3), grey.Frame(min(i, grey.Frames()-1)))
		if err != nil {
			return node.Result{}, err
		}
		parts[i] = part
	}
	return declare.One(e.Join(ctx, parts...))
}

// colorOf parses #rrggbb; anything else is black.
func colorOf(text string) (c [3]float32) {
	text = strings.TrimLeft(text, "#")
	v, err := strconv.ParseUint(text, 16, 32)
	if len(text) != 6 || err != nil {
		return c
	}
	for i := range c {
		c[i] = float32(v>>(16-8*i)&0xff) / 255
	}
	return c
}

// From the value selected on, a mask selects a pixel fully; below faint, it does not select the pixel at all.
const (
	selected = 204
	faint    = 0.05
)

func (c cutout) cut(ctx context.Context, e raster.Engine, im, mask *raster.Image) (*raster.Image, error) {
	m, err := c.prepared(ctx, e, mask)
	if err != nil {
		return nil, err
	}
	if most := max(c.width, c.height); max(im.Width(), im.Height()) > most {
		by := float64(most) / float64(max(im.Width(), im.Height()))
		w, h := int(float64(im.Width())*by), int(float64(im.Height())*by)
		if im, err = e.Resize(ctx, im, w, h, raster.Lanczos); err != nil {
			return nil, err
		}
		grey, err := m.image()
		if err != nil {
			return nil, err
		}
		if grey, err = e.Resize(ctx, grey, w, h, raster.Lanczos); err != nil {
			return nil, err
		}
		m = planeOf(grey)
	}
	x0, y0, x1, y1, found := m.bounds(func(v float32) bool { return uint8(min(max(v, 0), 1)*255) > selected })
	if !found {
		x0, y0, x1, y1, found = m.bounds(func(v float32) bool { return 255-uint8(min(max(v, 0), 1)*255) > selected })
		if found {
			m.invert()
		}
	}
	left, top, right, bottom := 0, 0, m.w, m.h
	if found {
		left, top, right, bottom = c.window(x0, y0, x1, y1)
	}
	cut, err := c.compose(im, m, left, top, right, bottom)
	if err != nil {
		return nil, err
	}
	return e.Resize(ctx, cut, c.width, c.height, raster.Lanczos)
}

// window returns the part around the selected area that has the aspect ratio of the result.
func (c cutout) window(x0, y0, x1, y1 int) (left, top, right, bottom int) {
	aspect := float64(c.width) / float64(c.height)
	w, h := float64(x1-x0+1), float64(y1-y0+1)
	if w/h >= aspect {
		h = w / aspect
	} else {
		w = h * aspect
	}
	halfW := int(math.Ceil(math.Trunc(w*c.pad) / 2))
	halfH := int(math.Ceil(math.Trunc(h*c.pad) / 2))
	left, top = int(float64(x0+x1)/2-float64(halfW)), int(float64(y0+y1)/2-float64(halfH))
	return left, top, left + 2*halfW, top + 2*halfH
}

// compose puts a part of the image, as far as the mask selects it, onto the background. Beyond the image there is
// only background.
func (c cutout) compose(im *raster.Image, m plane, left, top, right, bottom int) (*raster.Image, error) {
	w, h := right-left, bottom-top
	pix := make([]float32, 0, max(w*h, 0)*3)
	for y := top; y < bottom; y++ {
		var row []float32
		if y >= 0 && y < m.h {
			row = im.Row(nil, 0, y)
		}
		for x := left; x < right; x++ {
			weight := float32(0)
			if row != nil && x >= 0 && x < m.w {
				weight = m.v[y*m.w+x]
			}
			for i := range 3 {
				v := c.ground[i] * (1 - weight)
				if weight != 0 {
					v += row[3*x+i] * weight
				}
				pix = append(pix, unit(v))
			}
		}
	}
	return raster.NewImage(1, h, w, 3, pix)
}

// prepared returns the mask, inverted if necessary, grown, and without faint values.
func (c cutout) prepared(ctx context.Context, e raster.Engine, mask *raster.Image) (plane, error) {
	m := planeOf(mask)
	for i, v := range m.v {
		m.v[i] = unit(v)
	}
	if m.inverted() {
		m.invert()
	}
	if c.grow != 0 {
		operation, size := "dilate", 2*c.grow+1
		if c.grow < 0 {
			operation, size = "erode", 1-2*c.grow
		}
		grey, err := m.image()
		if err != nil {
			return plane{}, err
		}
		if grey, err = e.Morph(ctx, grey, operation, size); err != nil {
			return plane{}, err
		}
		m = planeOf(grey)
	}
	for i, v := range m.v {
		if v < faint {
			m.v[i] = 0
		}
	}
	return m, nil
}

func planeOf(im *raster.Image) plane {
	p := newPlane(im.Width(), im.Height())
	for y := range p.h {
		copy(p.v[y*p.w:], im.Row(nil, 0, y))
	}
	return p
}

func (p plane) image() (*raster.Image, error) { return raster.NewImage(1, p.h, p.w, 1, p.v) }

func (p plane) invert() {
	for i, v := range p.v {
		p.v[i] = 1 - v
	}
}

// inverted reports whether the border is selected and the middle is not.
func (p plane) inverted() bool {
	var border, middle, middles float64
	for x := range p.w {
		border += float64(p.v[x]) + float64(p.v[(p.h-1)*p.w+x])
	}
	for y := range p.h {
		border += float64(p.v[y*p.w]) + float64(p.v[y*p.w+p.w-1])
	}
	for y := p.h / 4; y < p.h-p.h/4; y++ {
		for x := p.w / 4; x < p.w-p.w/4; x++ {
			middle += float64(p.v[y*p.w+x])
			middles++
		}
	}
	return border/float64(2*(p.w+p.h)) > 0.5 && middles > 0 && middle/middles < 0.5
}

// bounds returns the first and last columns and rows with a wanted value.
func (p plane) bounds(wanted func(float32) bool) (x0, y0, x1, y1 int, found bool) {
	x0, y0, x1, y1 = p.w, p.h, -1, -1
	for i, v := range p.v {
		if wanted(v) {
			x, y := i%p.w, i/p.w
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
		}
	}
	return x0, y0, x1, y1, x1 >= 0
}
