package image

import (
	"context"
	"encoding/json"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ImageCrop cuts a rectangle out of images.
func ImageCrop() *node.Class {
	return &node.Class{
		Name: "ImageCrop", DisplayName: "Crop Image (DEPRECATED)", Category: "image/transform", Module: moduleImages,
		Essentials:  "Image Tools",
		Description: "Cuts a rectangle out of images. What lies outside is left away.",
		Deprecated:  true,
		Inputs: []node.Input{
			declare.Image("image", "The images to cut."),
			declare.Integer("width", 512, 1, maxSide, "The width of the rectangle."),
			declare.Integer("height", 512, 1, maxSide, "The height of the rectangle."),
			declare.Integer("x", 0, 0, maxSide, "The left edge."),
			declare.Integer("y", 0, 0, maxSide, "The top edge."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(copyNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Crop(ctx, call.Image("image"), call.Int("x"), call.Int("y"), call.Int("width"), call.Int("height")))
		},
	}
}

// copyNanos is the cost of moving a pixel of four floats.
const copyNanos = 10

// ImageCropV2 cuts out a rectangle that is given as one value, and shows the result.
func ImageCropV2() *node.Class {
	return &node.Class{
		Name: "ImageCropV2", DisplayName: "Crop Image", Category: "image/transform", Module: moduleImages,
		Essentials:    "Image Tools",
		Description:   "Cuts a rectangle out of images. What lies outside is left away.",
		SearchAliases: []string{"trim", "cut out"},
		Intermediate:  true,
		Inputs: []node.Input{
			declare.Image("image", "The images to cut."),
			{
				Name: "crop_region", Type: node.BoundingBox, Tooltip: "The rectangle.", Socketless: true,
				Extra:   map[string]any{"component": "ImageCrop"},
				Default: map[string]any{"x": 0, "y": 0, "width": 512, "height": 512},
			},
		},
		Outputs: declare.Images(""),
		Cost:    encodeCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			box, err := region(call.Object("crop_region"))
			if err != nil {
				return node.Result{}, err
			}
			x, w := box.span(box.X, box.Width, im.Width())
			y, h := box.span(box.Y, box.Height, im.Height())
			if im, err = engine(call).Crop(ctx, im, x, y, w, h); err != nil {
				return node.Result{}, err
			}
			return ShowFrames(ctx, call, im)
		},
	}
}

// defaultCrop is the side of a rectangle without a width or height.
const defaultCrop = 512

// box is a rectangle as graphs write it.
type box struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// span returns a part of a side of the given size as a Python slice does: a negative edge counts from the end.
func (box) span(from, length, size int) (start, count int) {
	from = min(from, size-1)
	index := func(i int) int {
		if i < 0 {
			i += size
		}
		return min(max(i, 0), size)
	}
	return index(from), index(from+length) - index(from)
}

// region reads a bounding box whose values may be of any number type. Missing members have defaults.
func region(v map[string]any) (b box, err error) {
	b = box{Width: defaultCrop, Height: defaultCrop}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		return box{}, fault.New(fault.Invalid, fault.CodeInputType, "input crop_region is not a rectangle of whole numbers")
	}
	return b, nil
}
