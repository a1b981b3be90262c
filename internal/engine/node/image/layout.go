package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ImageRotate rotates images by quarter turns.
func ImageRotate() *node.Class {
	turns := []string{"none", "90 degrees", "180 degrees", "270 degrees"}
	return &node.Class{
		Name: "ImageRotate", DisplayName: "Rotate Image", Category: "image/transform", Module: moduleImages,
		Essentials:    "Image Tools",
		Description:   "Turns images clockwise.",
		SearchAliases: []string{"turn", "flip orientation"},
		Inputs:        []node.Input{declare.Image("image", "The images to turn."), declare.Choice("rotation", turns, "How far to turn.")},
		Outputs:       declare.Images(""),
		Cost:          declare.PerPixel(copyNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, turn := call.Image("image"), call.String("rotation")
			for i, name := range turns {
				if name == turn {
					return declare.One(engine(call).Rotate(ctx, im, i))
				}
			}
			return node.Result{}, fault.New(fault.Invalid, fault.CodeUnknownRotation, "unknown rotation %q", turn)
		},
	}
}

// ImageFlip mirrors images.
func ImageFlip() *node.Class {
	const vertical, horizontal = "x-axis: vertically", "y-axis: horizontally"
	return &node.Class{
		Name: "ImageFlip", DisplayName: "Flip Image", Category: "image/transform", Module: moduleImages,
		Description:   "Mirrors images top to bottom or left to right.",
		SearchAliases: []string{"mirror", "reflect"},
		Inputs: []node.Input{
			declare.Image("image", "The images to mirror."),
			declare.Choice("flip_method", []string{vertical, horizontal}, "The axis to mirror at."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(copyNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, method := call.Image("image"), call.String("flip_method")
			switch method {
			case vertical:
				return declare.One(engine(call).FlipRows(ctx, im))
			case horizontal:
				return declare.One(engine(call).FlipColumns(ctx, im))
			default:
				return node.Result{}, fault.New(fault.Invalid, fault.CodeUnknownFlip, "unknown flip method %q", method)
			}
		},
	}
}

// colors are the named background colours, as RGB.
func colors() map[string][3]float32 {
	return map[string][3]float32{
		"white": {1, 1, 1}, "black": {}, "red": {1, 0, 0}, "green": {0, 1, 0}, "blue": {0, 0, 1},
	}
}

// fillColor returns a colour for an image of that many channels.
func fillColor(color string, channels int, alpha float32) []float32 {
	c := colors()[color]
	return []float32{c[0], c[1], c[2], alpha}[:channels]
}

// ImageStitch puts two images side by side or one above the other.
func ImageStitch() *node.Class {
	spacing := declare.Integer("spacing_width", 0, 0, 1024, "The gap between the images; an odd width grows by one.")
	spacing.Step = 2
	return &node.Class{
		Name: "ImageStitch", DisplayName: "Stitch Images", Category: "image/transform", Module: moduleImages,
		Description:   "Puts the second image beside, below or above the first. Without a second image the first passes.",
		SearchAliases: []string{"combine images", "join images", "concatenate images", "side by side"},
		Inputs: []node.Input{
			declare.Image("image1", "The first image."),
			declare.Preset(declare.Choice("direction", []string{"right", "down", "left", "up"}, "Where the second image goes."), "right"),
			{Name: "match_image_size", Type: node.Boolean, Default: true, Tooltip: "Resize the second image to fit; otherwise pad the smaller one."},
			declare.Advanced(spacing),
			declare.Advanced(declare.Preset(declare.Choice("spacing_color", []string{"white", "black", "red", "green", "blue"},
				"The colour of the gap and the padding."), "white")),
			{Name: "image2", Type: node.Image, Section: node.Optional, Tooltip: "The second image."},
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos + 3*copyNanos),
		Pixels:  func(_ node.Args, upstream int64) int64 { return upstream * 2 * assumedAspect },
		Run:     runImageStitch,
	}
}

// stitch holds the arguments of one ImageStitch.
type stitch struct {
	horizontal, reversed, match bool
	gap                         int
	color                       string
}

func runImageStitch(ctx context.Context, call *node.Call) (node.Result, error) {
	a, direction := call.Image("image1"), call.String("direction")
	s := stitch{
		horizontal: direction == "left" || direction == "right",
		reversed:   direction == "left" || direction == "up",
		match:      call.Bool("match_image_size"),
		gap:        call.Int("spacing_width"),
		color:      call.String("spacing_color"),
	}
	if !call.Has("image2") {
		return declare.One(a, nil)
	}
	b := call.Image("image2")
	return declare.One(s.run(ctx, engine(call), a, b))
}

func (s stitch) run(ctx context.Context, e raster.Engine, a, b *raster.Image) (*raster.Image, error) {
	frames := max(a.Frames(), b.Frames())
	a, err := e.Lengthen(ctx, a, frames)
	if err != nil {
		return nil, err
	}
	if b, err = e.Lengthen(ctx, b, frames); err != nil {
		return nil, err
	}
	if s.match {
		b, err = s.fit(ctx, e, a, b)
	} else {
		a, b, err = s.pad(ctx, e, a, b)
	}
	if err != nil {
		return nil, err
	}
	c := max(a.Channels(), b.Channels())
	parts := []*raster.Image{a.WithChannels(c), b.WithChannels(c)}
	if s.reversed {
		parts[0], parts[1] = parts[1], parts[0]
	}
	if s.gap > 0 {
		bar, err := s.bar(ctx, e, parts[0])
		if err != nil {
			return nil, err
		}
		parts = []*raster.Image{parts[0], bar, parts[1]}
	}
	if s.horizontal {
		return e.Beside(ctx, parts...)
	}
	return e.Above(ctx, parts...)
}

// fit resizes b to the height (or width) of a and keeps its aspect ratio.
func (s stitch) fit(ctx context.Context, e raster.Engine, a, b *raster.Image) (*raster.Image, error) {
	aspect := float64(b.Width()) / float64(b.Height())
	if s.horizontal {
		return e.Resize(ctx, b, int(float64(a.Height())*aspect), a.Height(), raster.Lanczos)
	}
	return e.Resize(ctx, b, a.Width(), int(float64(a.Width())/aspect), raster.Lanczos)
}

// pad centres the smaller image on the other's height (or width). As in ComfyUI, the padding is white only for a white gap and
// black for every other colour, and alpha is padded like the colours.
func (s stitch) pad(ctx context.Context, e raster.Engine, a, b *raster.Image) (*raster.Image, *raster.Image, error) {
	var v float32
	if s.color == "white" {
		v = 1
	}
	place := func(im, other *raster.Image) (*raster.Image, error) {
		width, height := im.Width(), max(im.Height(), other.Height())
		if !s.horizontal {
			width, height = max(im.Width(), other.Width()), im.Height()
		}
		if width == im.Width() && height == im.Height() {
			return im, nil
		}
		fill := []float32{v, v, v, v}[:im.Channels()]
		return e.Place(ctx, im, (width-im.Width())/2, (height-im.Height())/2, width, height, fill)
	}
	wide, err := place(a, b)
	if err != nil {
		return nil, nil, err
	}
	b, err = place(b, a)
	return wide, b, err
}

// bar returns the gap, which is opaque and as high (or wide) as its neighbour.
func (s stitch) bar(ctx context.Context, e raster.Engine, like *raster.Image) (*raster.Image, error) {
	gap := s.gap + s.gap%2
	width, height := gap, like.Height()
	if !s.horizontal {
		width, height = like.Width(), gap
	}
	pixel := make([]uint8, like.Channels())
	for i, v := range fillColor(s.color, like.Channels(), 1) {
		pixel[i] = uint8(v * 255)
	}
	return e.Solid(ctx, like.Frames(), height, width, pixel)
}

// ImagePadForOutpaint enlarges images with an area to be painted.
func ImagePadForOutpaint() *node.Class {
	margin := func(name, side string) node.Input {
		in := declare.Integer(name, 0, 0, maxSide, "Pixels to add "+side+".")
		in.Step = 8
		return in
	}
	return &node.Class{
		Name: "ImagePadForOutpaint", DisplayName: "Pad Image for Outpainting", Category: "image/transform", Module: moduleNodes,
		Description:   "Adds grey margins to images, and returns a mask of them that fades into the image.",
		SearchAliases: []string{"extend canvas", "expand image"},
		Inputs: []node.Input{
			declare.Image("image", "The images to enlarge."),
			margin("left", "on the left"), margin("top", "above"), margin("right", "on the right"), margin("bottom", "below"),
			declare.Advanced(declare.Integer("feathering", 40, 0, maxSide, "How far the mask fades into the image.")),
		},
		Outputs: []node.Output{{Type: node.Image}, {Type: node.Mask}},
		Cost:    declare.PerPixel(3 * copyNanos),
		Pixels:  outpaintPixels,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, feather := call.Image("image"), call.Int("feathering")
			m := raster.Margins{Left: call.Int("left"), Top: call.Int("top"), Right: call.Int("right"), Bottom: call.Int("bottom")}
			return declare.Two(engine(call).Outpaint(ctx, im, m, feather))
		},
	}
}

// outpaintPixels bounds (w+a)·(h+b) by the area, a square of side max(a, b), and strips
// along sides that are at most the area.
func outpaintPixels(constants node.Args, upstream int64) int64 {
	side := func(a, b string) int64 { return constInt(constants, a, maxSide) + constInt(constants, b, maxSide) }
	across, down := side("left", "right"), side("top", "bottom")
	return upstream + across*down + min(upstream, maxSide)*(across+down)
}
