package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// luma returns the brightness of a pixel.
func luma(p []float32) float32 { return 0.299*p[0] + 0.587*p[1] + 0.114*p[2] }

// needColors refuses images that are not RGB, as ComfyUI's library does.
func needColors(im *raster.Image) error {
	if im.Channels() != 3 {
		return fault.New(fault.Invalid, fault.CodeInputType, "the image has %d channels; 3 are needed", im.Channels())
	}
	return nil
}

// ImageRGBToYUV splits an image into its brightness and its two colour differences.
func ImageRGBToYUV() *node.Class {
	return &node.Class{
		Name: "ImageRGBToYUV", DisplayName: "Image RGB to YUV", Category: "image/color", Module: moduleMorphology,
		Description:   "Takes images apart into brightness and two colour differences, each as a grey image.",
		SearchAliases: []string{"color space conversion"},
		Inputs:        []node.Input{declare.Image("image", "The images.")},
		Outputs:       []node.Output{{Type: node.Image, Name: "Y"}, {Type: node.Image, Name: "U"}, {Type: node.Image, Name: "V"}},
		Cost:          declare.PerPixel(60),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			if err := needColors(im); err != nil {
				return node.Result{}, err
			}
			parts := []func(p []float32) float32{
				luma,
				func(p []float32) float32 { return (p[2]-luma(p))*0.564 + 0.5 },
				func(p []float32) float32 { return (p[0]-luma(p))*0.713 + 0.5 },
			}
			outputs := make([]node.Value, len(parts))
			for i, part := range parts {
				grey, err := declare.Engine(call).MapPixels(ctx, im, 3, func(dst, src []float32) {
					v := part(src)
					dst[0], dst[1], dst[2] = v, v, v
				})
				if err != nil {
					return node.Result{}, err
				}
				outputs[i] = grey
			}
			return node.Result{Outputs: outputs}, nil
		},
	}
}

// ImageYUVToRGB combines brightness and two colour differences.
func ImageYUVToRGB() *node.Class {
	return &node.Class{
		Name: "ImageYUVToRGB", DisplayName: "Image YUV to RGB", Category: "image/color", Module: moduleMorphology,
		Description: "Makes images of brightness and two colour differences.", SearchAliases: []string{"color space conversion"},
		Inputs: []node.Input{
			declare.Image("Y", "The brightness."), declare.Image("U", "How much bluer a pixel is."),
			declare.Image("V", "How much redder a pixel is."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(60),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			y, u, v := call.Image("Y"), call.Image("U"), call.Image("V")
			for _, other := range []*raster.Image{u, v} {
				if other.Width() != y.Width() || other.Height() != y.Height() || other.Frames() != y.Frames() {
					return node.Result{}, differentSizes(y, u, v)
				}
			}
			return declare.One(fromYUV(ctx, y, u, v))
		},
	}
}

func fromYUV(ctx context.Context, y, u, v *raster.Image) (*raster.Image, error) {
	out := make([]float32, 0, y.Pixels()*3)
	for f := range y.Frames() {
		for row := range y.Height() {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			ys, us, vs := y.Row(nil, f, row), u.Row(nil, f, row), v.Row(nil, f, row)
			for x := range y.Width() {
				light, blue, red := mean(ys, x, y.Channels()), mean(us, x, u.Channels())-0.5, mean(vs, x, v.Channels())-0.5
				out = append(out, unit(light+1.4025245442*red), unit(light-0.7144034731*red-0.3443401356*blue), unit(light+1.7730496454*blue))
			}
		}
	}
	return raster.NewImage(y.Frames(), y.Height(), y.Width(), 3, out)
}

func mean(row []float32, x, channels int) float32 {
	var sum float32
	for _, v := range row[x*channels:][:channels] {
		sum += v
	}
	return sum / float32(channels)
}

func unit(v float32) float32 { return min(max(v, 0), 1) }

// histogram is the type of an output with counts of values.
const histogram node.Type = "HISTOGRAM"

// levels is the number of values of a histogram.
const levels = 256

// ImageHistogram counts the values of an image.
func ImageHistogram() *node.Class {
	return &node.Class{
		Name: "ImageHistogram", DisplayName: "Image Histogram", Category: "utilities", Module: moduleCurve,
		Description: "Counts how often each value occurs in the first image of a batch.",
		Inputs:      []node.Input{declare.Image("image", "The image.")},
		Outputs: []node.Output{
			{Type: histogram, Name: "rgb"},
			{Type: histogram, Name: "luminance"},
			{Type: histogram, Name: "red"},
			{Type: histogram, Name: "green"},
			{Type: histogram, Name: "blue"},
		},
		Cost: declare.PerPixel(20),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			if im.Channels() < 3 {
				return node.Result{}, needColors(im)
			}
			counts := countLevels(im)
			outputs := make([]node.Value, len(counts))
			for i, of := range counts {
				list := make([]any, levels)
				for v, n := range of {
					list[v] = n
				}
				outputs[i] = list
			}
			return node.Result{Outputs: outputs}, nil
		},
	}
}

// countLevels returns the histograms of the first frame: of the mean, the luminance, red, green and blue.
func countLevels(im *raster.Image) (counts [5][levels]int64) {
	for y := range im.Height() {
		row, bytes := im.Row(nil, 0, y), im.Row8(nil, 0, y)
		for x := 0; x < len(row); x += im.Channels() {
			p := row[x : x+3]
			light := 0.2126*p[0] + 0.7152*p[1] + 0.0722*p[2]
			counts[1][uint8(min(max(light*255, 0), 255))]++
			for c := range 3 {
				counts[2+c][bytes[x+c]]++
			}
		}
	}
	for v := range levels {
		counts[0][v] = (counts[2][v] + counts[3][v] + counts[4][v]) / 3
	}
	return counts
}

// differentSizes refuses images that are not of the size of the first.
func differentSizes(images ...*raster.Image) error {
	refusal := fault.New(fault.Invalid, fault.CodeSizeMismatch, "the three images have different sizes")
	sizes := func(im *raster.Image) [3]int { return [3]int{im.Frames(), im.Height(), im.Width()} }
	for i, im := range images[1:] {
		for dimension, size := range sizes(im) {
			if expected := sizes(images[0])[dimension]; size != expected {
				return refusal.Raising("RuntimeError", "Sizes of tensors must match except in dimension 3. "+
					"Expected size %d but got size %d for tensor number %d in the list.", expected, size, i+1)
			}
		}
	}
	return refusal
}
