package image

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The ways to fit a part of an image into the result.
const (
	fitStretch = "stretch"
	fitPad     = "pad"
)

// CropByBBoxes cuts the rectangle around its boxes out of each image.
func CropByBBoxes() *node.Class {
	side := func(name, tooltip string) node.Input {
		return declare.Stepped(declare.Count(name, 512, 64, 4096, tooltip), 8)
	}
	return &node.Class{
		Name: "CropByBBoxes", DisplayName: "Crop By Bounding Boxes", Category: "image/transform", Module: "comfy_extras.nodes_sdpose",
		Description:   "Cuts the rectangle around the boxes out of each image and resizes it.",
		SearchAliases: []string{"crop", "face crop", "bounding box"},
		Inputs: []node.Input{
			declare.Image("image", "The images."),
			{
				Name: "bboxes", Type: node.BoundingBox, Socketless: true, ForceInput: true, Tooltip: "One box, or a list of boxes for each image.",
				Default: map[string]any{"x": 0, "y": 0, "width": 512, "height": 512},
			},
			side("output_width", "The width of the results."), side("output_height", "The height of the results."),
			declare.Integer("padding", 0, 0, 1024, "How many pixels are added on each side."),
			declare.Preset(declare.Choice("keep_aspect", []string{fitStretch, fitPad}, "Whether a part is stretched or padded with black."),
				fitStretch),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(100),
		Pixels:  resultPixels("output_width", "output_height"),
		Run:     runBoxes,
	}
}

// resultPixels is the number of pixels of a class whose inputs width and height give the size of its results.
func resultPixels(width, height string) func(node.Args, int64) int64 {
	return func(constants node.Args, upstream int64) int64 {
		w, wide := constants[width].(int64)
		h, high := constants[height].(int64)
		if !wide || !high {
			w, h = 4096, 4096
		}
		return max(upstream, w*h)
	}
}

// boxes holds the arguments of one CropByBBoxes.
type boxes struct {
	width, height, padding int
	fit                    string
}

func runBoxes(ctx context.Context, call *node.Call) (node.Result, error) {
	im := call.Image("image")
	b := boxes{call.Int("output_width"), call.Int("output_height"), call.Int("padding"), call.String("keep_aspect")}
	e := declare.Engine(call)
	if err := e.Fit(im.Frames(), b.height, b.width); err != nil {
		return node.Result{}, err
	}
	lists := call.Args["bboxes"]
	if single, ok := lists.(map[string]any); ok {
		lists = []any{[]any{single}}
	}
	perImage, ok := lists.([]any)
	if !ok {
		call.Object("bboxes") // which ends the run
	}
	var parts []*raster.Image
	for i := 0; i < im.Frames() && len(perImage) > 0; i++ {
		of, ok := perImage[min(i, len(perImage)-1)].([]any)
		if !ok {
			return node.Result{}, noBox()
		}
		if len(of) == 0 {
			continue
		}
		part, err := b.cut(ctx, e, im.Frame(i), of)
		if err != nil {
			return node.Result{}, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return declare.One(im, nil)
	}
	return declare.One(e.Join(ctx, parts...))
}

func noBox() *fault.Error {
	return fault.New(fault.Invalid, fault.CodeInputType, "input bboxes must be a box, or a list of boxes for each image")
}

// boundsOf returns the corners of the rectangle around boxes.
func boundsOf(list []any) (x0, y0, x1, y1 int, err error) {
	x0, y0, x1, y1 = math.MaxInt, math.MaxInt, math.MinInt, math.MinInt
	for _, value := range list {
		box, ok := value.(map[string]any)
		var n [4]float64
		for i, key := range []string{"x", "y", "width", "height"} {
			switch v := box[key].(type) {
			case int64:
				n[i] = float64(v)
			case float64:
				n[i] = v
			default:
				ok = false
			}
		}
		for _, key := range []string{"x", "y", "width", "height"} {
			if box[key] == nil && ok {
				return 0, 0, 0, 0, noBox().Raising("KeyError", "'%s'", key)
			}
		}
		if !ok {
			return 0, 0, 0, 0, noBox()
		}
		x0, y0 = min(x0, int(n[0])), min(y0, int(n[1]))
		x1, y1 = max(x1, int(n[0]+n[2])), max(y1, int(n[1]+n[3]))
	}
	return x0, y0, x1, y1, nil
}

// cut takes the part around the boxes. If that part has no pixels, it takes a square in the upper middle.
func (b boxes) cut(ctx context.Context, e raster.Engine, im *raster.Image, list []any) (*raster.Image, error) {
	x0, y0, x1, y1, err := boundsOf(list)
	if err != nil {
		return nil, err
	}
	w, h := im.Width(), im.Height()
	x0, y0, x1, y1 = max(0, x0-b.padding), max(0, y0-b.padding), min(w, x1+b.padding), min(h, y1+b.padding)
	if x1 <= x0 || y1 <= y0 {
		side := int(float64(min(w, h)) * 0.3)
		x0, y0 = max(0, (w-side)/2), int(float64(h)*0.1)
		x1, y1 = min(w, x0+side), min(h, y0+side)
	}
	if x1 <= x0 || y1 <= y0 {
		return b.black(im.Channels())
	}
	part, err := e.Crop(ctx, im, x0, y0, x1-x0, y1-y0)
	if err != nil || b.fit != fitPad {
		return b.resized(ctx, e, part, b.width, b.height, err)
	}
	by := min(float64(b.width)/float64(x1-x0), float64(b.height)/float64(y1-y0))
	sw, sh := int(math.RoundToEven(float64(x1-x0)*by)), int(math.RoundToEven(float64(y1-y0)*by))
	if part, err = b.resized(ctx, e, part, sw, sh, nil); err != nil {
		return nil, err
	}
	ground, err := b.black(im.Channels())
	if err != nil {
		return nil, err
	}
	return e.Composite(ctx, ground, part, nil, (b.width-sw)/2, (b.height-sh)/2, false)
}

func (b boxes) resized(ctx context.Context, e raster.Engine, part *raster.Image, w, h int, err error) (*raster.Image, error) {
	if err != nil {
		return nil, err
	}
	return e.Resize(ctx, part, w, h, raster.Area)
}

func (b boxes) black(channels int) (*raster.Image, error) {
	return raster.NewImage(1, b.height, b.width, channels, make([]float32, b.height*b.width*channels))
}
