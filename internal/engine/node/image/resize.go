package image

import (
	"context"
	"fmt"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// matched is the type of inputs and outputs that share one type, which their links determine.
const matched node.Type = "COMFY_MATCHTYPE_V3"

func cropInput() node.Input {
	return declare.Preset(declare.Choice("crop", []string{"disabled", "center"},
		"Whether to cut to the new aspect ratio instead of stretching."), "center")
}

func sideInput(name, tooltip string) node.Input {
	return declare.Integer(name, 512, 0, declare.MaxSide, tooltip)
}

// resizeTypes are the ways to give a new size.
func resizeTypes() node.Choices {
	match := node.Input{Name: "match", Type: "IMAGE,MASK", Tooltip: "What has the size."}
	return node.Choices{
		{Key: "scale dimensions", Inputs: []node.Input{
			sideInput("width", "The new width; 0 keeps the aspect ratio."),
			sideInput("height", "The new height; 0 keeps the aspect ratio."), cropInput(),
		}},
		{Key: "scale by multiplier", Inputs: []node.Input{declare.Stepped(declare.Number("multiplier", 1, 0.01, 8, "The factor for both sides."),
			0.01)}},
		{Key: "scale longer dimension", Inputs: []node.Input{sideInput("longer_size", "The length of the longer side.")}},
		{Key: "scale shorter dimension", Inputs: []node.Input{sideInput("shorter_size", "The length of the shorter side.")}},
		{Key: "scale width", Inputs: []node.Input{sideInput("width", "The new width.")}},
		{Key: "scale height", Inputs: []node.Input{sideInput("height", "The new height.")}},
		{Key: "scale total pixels", Inputs: []node.Input{declare.Stepped(declare.Number("megapixels", 1, 0.01, 16,
			"The size to reach, in 1024 × 1024."), 0.01)}},
		{Key: "match size", Inputs: []node.Input{match, cropInput()}},
		{Key: "scale to multiple", Inputs: []node.Input{declare.Integer("multiple", 8, 1, declare.MaxSide,
			"Both sides become multiples of this.")}},
	}
}

// ResizeImageMaskNode resizes images or masks to a size that is given in one of nine ways.
func ResizeImageMaskNode() *node.Class {
	methods := []string{"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}
	return &node.Class{
		Name: "ResizeImageMaskNode", DisplayName: "Resize Image/Mask", Category: "image/transform", Module: modulePostProcessing,
		Description: "Resizes images or masks to a size, by a factor, or to the size of another.", SearchAliases: []string{"resize", "scale"},
		Inputs: []node.Input{
			{
				Name: "input", Type: matched, MatchTemplate: "input_type", Tooltip: "The images or masks.",
				Extra: map[string]any{"template": map[string]any{"template_id": "input_type", "allowed_types": "IMAGE,MASK"}},
			},
			declare.Choices("resize_type", "How the size is given.", resizeTypes()),
			declare.Preset(declare.Choice("scale_method", methods, "How new pixels are computed."), "area"),
		},
		Outputs: []node.Output{{Type: matched, Name: "resized", MatchTemplate: "input_type"}},
		Cost:    declare.PerPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			if by, ok := constants["resize_type.multiplier"].(float64); ok {
				return max(upstream, int64(float64(upstream)*by*by))
			}
			longest := int64(1)
			for _, name := range []string{"width", "height", "longer_size", "shorter_size"} {
				if v, ok := constants["resize_type."+name].(int64); ok {
					longest = max(longest, v)
				}
			}
			return max(upstream, longest*longest*assumedAspect, 16*megapixel)
		},
		Run: runResize,
	}
}

// sized holds the properties that images and masks share.
type sized interface {
	Width() int
	Height() int
}

func runResize(ctx context.Context, call *node.Call) (node.Result, error) {
	kind, name := call.String("resize_type"), call.String("scale_method")
	method, err := raster.ParseMethod(name)
	if err != nil {
		return node.Result{}, err
	}
	input, isMask, err := imageOrMask(call, "input")
	if err != nil {
		return node.Result{}, err
	}
	im, err := resizeTo(ctx, call, input, kind, method)
	if err != nil {
		return node.Result{}, err
	}
	if isMask {
		return declare.One(im.AsMask(), nil)
	}
	return declare.One(im, nil)
}

// imageOrMask returns an argument that is an image or a mask, as an image.
func imageOrMask(call *node.Call, name string) (im *raster.Image, isMask bool, err error) {
	switch v := call.Args[name].(type) {
	case *raster.Image:
		return v, false, nil
	case *raster.Mask:
		if v.Empty() {
			return nil, true, fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask %s is empty", name)
		}
		return v.Grey(), true, nil
	}
	return call.Image(name), false, nil // which ends the run
}

func resizeTo(ctx context.Context, call *node.Call, im *raster.Image, kind string, method raster.Method) (*raster.Image, error) {
	e, args := declare.Engine(call), call.Args
	if kind == "scale to multiple" {
		return toMultiple(ctx, call, im, method)
	}
	w, h, err := newSize(call, im, kind)
	if err != nil || w == im.Width() && h == im.Height() && kind == "scale dimensions" && args["resize_type.width"] == int64(0) &&
		args["resize_type.height"] == int64(0) {
		return im, err
	}
	if args["resize_type.crop"] == "center" && (kind == "scale dimensions" || kind == "match size") {
		return e.Cover(ctx, im, w, h, method)
	}
	return e.Resize(ctx, im, w, h, method)
}

// newSize returns the size that the arguments request. Halves are rounded to even.
func newSize(call *node.Call, im sized, kind string) (w, h int, err error) {
	given := func(name string) int { return call.Int("resize_type." + name) }
	w, h = im.Width(), im.Height()
	switch kind {
	case "scale dimensions":
		w, h = fitted(im, given("width"), given("height"))
	case "scale width":
		w, h = fitted(im, given("width"), 0)
	case "scale height":
		w, h = fitted(im, 0, given("height"))
	case "scale by multiplier":
		by := call.Float("resize_type.multiplier")
		w, h = round(float64(w)*by), round(float64(h)*by)
	case "scale longer dimension":
		w, h = scaleEdge(w, h, given("longer_size"), h > w)
	case "scale shorter dimension":
		w, h = scaleEdge(w, h, given("shorter_size"), h < w)
	case "scale total pixels":
		by := math.Sqrt(math.Trunc(call.Float("resize_type.megapixels")*megapixel) / (float64(w) * float64(h)))
		w, h = round(float64(w)*by), round(float64(h)*by)
	case "match size":
		other, _, err := imageOrMask(call, "resize_type.match")
		if err != nil {
			return 0, 0, err
		}
		w, h = other.Width(), other.Height()
	default:
		return 0, 0, fault.New(fault.Invalid, fault.CodeInputType, "unknown resize type %.64q", kind)
	}
	return w, h, nil
}

// fitted replaces a side of 0 by the length that keeps the aspect ratio. Two sides of 0 keep the size.
func fitted(im sized, w, h int) (int, int) {
	switch {
	case w == 0 && h == 0:
		return im.Width(), im.Height()
	case w == 0:
		w = max(1, round(float64(im.Width()*h)/float64(im.Height())))
	case h == 0:
		h = max(1, round(float64(im.Height()*w)/float64(im.Width())))
	}
	return w, h
}

// scaleEdge sets the height to the length if tall, otherwise the width, and keeps the aspect ratio.
func scaleEdge(w, h, length int, tall bool) (int, int) {
	switch {
	case w == h:
		return length, length
	case tall:
		return round(float64(w) / float64(h) * float64(length)), length
	}
	return length, round(float64(h) / float64(w) * float64(length))
}

// toMultiple resizes the picture so that it covers the next smaller multiples, and cuts off the rest.
func toMultiple(ctx context.Context, call *node.Call, im *raster.Image, method raster.Method) (*raster.Image, error) {
	multiple := call.Int("resize_type.multiple")
	if multiple <= 1 {
		return im, nil
	}
	w, h := im.Width()/multiple*multiple, im.Height()/multiple*multiple
	if w == 0 || h == 0 || w == im.Width() && h == im.Height() {
		return im, nil
	}
	across, down := float64(w)/float64(im.Width()), float64(h)/float64(im.Height())
	scaledW, scaledH := w, h
	if across >= down {
		scaledH = max(h, int(math.Ceil(float64(im.Height())*across)))
	} else {
		scaledW = max(w, int(math.Ceil(float64(im.Width())*down)))
	}
	e := declare.Engine(call)
	im, err := e.Resize(ctx, im, scaledW, scaledH, method)
	if err != nil {
		return nil, err
	}
	return e.Crop(ctx, im, (scaledW-w)/2, (scaledH-h)/2, w, h)
}

// BatchMasksNode puts up to maxBatched masks into one batch.
func BatchMasksNode() *node.Class {
	return &node.Class{
		Name: "BatchMasksNode", DisplayName: "Batch Masks", Category: "image/mask", Module: modulePostProcessing,
		Description:   "Puts masks into one batch; all are brought to the size of the first.",
		SearchAliases: []string{"combine masks", "stack masks"},
		Inputs: []node.Input{{
			Name: "masks", Type: node.AutogrowType, Tooltip: "The masks to batch.",
			Extra: map[string]any{"template": node.Autogrow{
				Each: node.Input{Name: "mask", Type: node.Mask}, Prefix: "mask", Min: 1,
				Max: maxBatched,
			}},
		}},
		Outputs: []node.Output{{Type: node.Mask}},
		Cost:    declare.PerPixel(scaleNanos),
		Pixels:  func(_ node.Args, upstream int64) int64 { return upstream * maxBatched },
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			var parts []*raster.Image
			for i := range maxBatched {
				if name := fmt.Sprintf("masks.mask%d", i); i == 0 || call.Has(name) {
					if m := call.Mask(name); m != nil {
						parts = append(parts, m.Grey())
					}
				}
			}
			for i, im := range parts {
				var err error
				if first := parts[0]; im.Width() != first.Width() || im.Height() != first.Height() {
					if parts[i], err = declare.Engine(call).Cover(ctx, im, first.Width(), first.Height(), raster.Bilinear); err != nil {
						return node.Result{}, err
					}
				}
			}
			im, err := declare.Engine(call).Join(ctx, parts...)
			if err != nil {
				return node.Result{}, err
			}
			return declare.One(im.AsMask(), nil)
		},
	}
}
