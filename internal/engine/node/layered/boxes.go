package layered

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// LayersFromBoundingBoxes makes a layer of each image, at the position of its box.
func LayersFromBoundingBoxes() *node.Class {
	return &node.Class{
		Name: "LayersFromBoundingBoxes", DisplayName: "Layers From Bounding Boxes", Category: "image", Module: module, Experimental: true,
		Description: "Makes a layer of each image of a batch, at the place and in the size of its box.",
		Inputs: []node.Input{
			declare.Image("image", "The images."),
			{
				Name: "bboxes", Type: "BOUNDING_BOX,ARRAY,STRING",
				Tooltip: "A box for each image: boxes in pixels, elements with a bbox in thousandths of the canvas, or either as JSON.",
			},
			declare.Optional(declare.Mask("mask", "Where it is 1 the layer is transparent: one for all images, or one for each.")),
			layersInput(),
			flag("crop_to_content", true, "Cuts an image to the content_rect that its box names."),
			sideInput("canvas_width", "The width of the canvas; 0 is what the layers take."),
			sideInput("canvas_height", "The height of the canvas; 0 is what the layers take."),
		},
		Outputs: stacked(),
		Cost:    declare.PerPixel(20),
		Run:     runFromBoxes,
	}
}

// fromBoxes holds the arguments of one LayersFromBoundingBoxes.
type fromBoxes struct {
	images *raster.Image
	mask   *raster.Mask
	crop   bool
	e      raster.Engine
}

func runFromBoxes(ctx context.Context, call *node.Call) (node.Result, error) {
	f := fromBoxes{
		images: call.Image("image"), mask: node.Given(call, "mask", call.Mask, nil),
		crop: node.Given(call, "crop_to_content", call.Bool, true), e: declare.Engine(call),
	}
	below := before(call)
	canvas := layers.Size{Width: integer(call, "canvas_width"), Height: integer(call, "canvas_height")}
	if max(canvas.Width, canvas.Height) > layers.MaxSide { // linked values are not checked against the input's range
		return node.Result{}, fault.New(fault.Invalid, fault.CodePixelLimit, "a canvas of %d × %d pixels exceeds the largest of %d × %d",
			canvas.Width, canvas.Height, layers.MaxSide, layers.MaxSide)
	}
	boxes, err := boxesOf(call.Args["bboxes"], canvas)
	if err != nil {
		return node.Result{}, err
	}
	first := 0
	if below != nil && len(below.Layers) > 0 {
		first = below.Layers[0].Z + 1
		for _, l := range below.Layers {
			first = max(first, l.Z+1)
		}
	}
	made := make([]layers.Layer, f.images.Frames())
	for i := range made {
		var b box
		if i < len(boxes) {
			b = boxes[i]
		}
		if made[i], err = f.layer(ctx, i, b, first+i); err != nil {
			return node.Result{}, err
		}
	}
	stack, err := below.Over(call.MaxPixels, made...)
	if err != nil {
		return node.Result{}, err
	}
	if canvas.Width > 0 && canvas.Height > 0 {
		stack.Canvas = canvas
	}
	return declare.One(stack, nil)
}

// layer returns a layer of image i at its box. z is its place in the stack unless the box has a z.
func (f fromBoxes) layer(ctx context.Context, i int, b box, z int) (layers.Layer, error) {
	l := layers.Layer{Image: f.images.Frame(i), X: b.x, Y: b.y, Z: z, Opacity: 1, Mode: "normal"}
	var err error
	if l.Mask, err = layers.MaskFrame(ctx, f.mask, i); err != nil {
		return l, err
	}
	if l.Z, err = truncated(b.about["z_index"], z); err != nil {
		return l, err
	}
	if l.Name, _ = b.about["name"].(string); l.Name == "" {
		l.Name, _ = b.about["desc"].(string)
	}
	part, err := f.content(b)
	if err != nil {
		return l, err
	}
	if part == nil {
		l.Width, l.Height = max(0, b.width), max(0, b.height)
		return l, nil
	}
	l.X, l.Y = b.x+part.left, b.y+part.top
	if l.Image, err = f.e.Crop(ctx, l.Image, part.left, part.top, part.width, part.height); err != nil || l.Mask == nil {
		return l, err
	}
	if part.left >= l.Mask.Width() || part.top >= l.Mask.Height() {
		return l, fault.New(fault.Invalid, fault.CodeEmptyCrop, "the content_rect of image %d lies outside its mask of %d × %d pixels", i,
			l.Mask.Width(), l.Mask.Height())
	}
	l.Mask, err = f.e.CropMask(ctx, l.Mask, part.left, part.top, part.width, part.height)
	return l, err
}

// rectangle is a part of an image.
type rectangle struct{ left, top, width, height int }

// content returns the part of an image that its box names as content, or nil.
func (f fromBoxes) content(b box) (*rectangle, error) {
	list, ok := b.about["content_rect"].([]any)
	if !f.crop || !ok || len(list) != 4 {
		return nil, nil
	}
	var n [4]int
	for i, v := range list {
		var err error
		if n[i], err = truncated(v, 0); err != nil {
			return nil, err
		}
	}
	w, h := f.images.Width(), f.images.Height()
	r := rectangle{left: min(max(n[0], 0), w), top: min(max(n[1], 0), h)}
	r.width, r.height = min(max(n[2], 0), w-r.left), min(max(n[3], 0), h-r.top)
	if r.width == 0 || r.height == 0 {
		return nil, nil
	}
	return &r, nil
}
