package image_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// first calls a class, which must succeed, and returns its first output.
func first(t *testing.T, c *node.Class, args node.Args) *raster.Image {
	t.Helper()
	return imageOf(t, must(t, c, newMemory(t), args).Outputs[0])
}

func TestScaleToTotalPixels(t *testing.T) {
	t.Parallel()
	im := picture(t, 1, 100, 200, 3)
	args := node.Args{"image": im, "upscale_method": "area", "megapixels": 0.01, "resolution_steps": int64(1)}
	require.Equal(t, [4]int{1, 72, 145, 3}, size(first(t, image.ImageScaleToTotalPixels(), args)))
	args["resolution_steps"] = int64(16)
	require.Equal(t, [4]int{1, 80, 144, 3}, size(first(t, image.ImageScaleToTotalPixels(), args)), "4.53 and 9.05 steps")
}

func TestScaleToMaxDimension(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ h, w, wantH, wantW int }{{100, 200, 32, 64}, {200, 100, 64, 32}, {50, 50, 64, 64}} {
		args := node.Args{"image": picture(t, 1, c.h, c.w, 3), "upscale_method": "lanczos", "largest_size": int64(64)}
		require.Equal(t, [4]int{1, c.wantH, c.wantW, 3}, size(first(t, image.ImageScaleToMaxDimension(), args)))
	}
}

func TestResizeAndPadCentres(t *testing.T) {
	t.Parallel()
	for _, c := range []int{3, 4} {
		im := first(t, image.ResizeAndPadImage(), node.Args{
			"image": picture(t, 2, 10, 20, c), "target_width": int64(40), "target_height": int64(31),
			"padding_color": "white", "interpolation": "nearest-exact",
		})
		require.Equal(t, [4]int{2, 31, 40, c}, size(im))
		src := picture(t, 2, 10, 20, c)
		for k := range c {
			require.Equal(t, float32(1), im.At(1, 4, 0, k), "five rows above")
			require.Equal(t, src.At(1, 0, 0, k), im.At(1, 5, 0, k))
			require.Equal(t, src.At(1, 9, 19, k), im.At(1, 24, 39, k))
			require.Equal(t, float32(1), im.At(1, 25, 39, k))
		}
	}
}

// A picture that shrinks to a width of zero is filled by the mean of no pixels (NaN) for area, and has no pixels for
// the other methods.
func TestResizeAndPadOfAPictureThatShrinksToNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"area", "bilinear"} {
		res, _, err := run(t, image.ResizeAndPadImage(), newMemory(t), node.Args{
			"image": picture(t, 1, 9, 1, 3), "target_width": int64(26), "target_height": int64(6),
			"padding_color": "white", "interpolation": method,
		})
		if method == "area" {
			require.NoError(t, err)
			require.Equal(t, float32(1), imageOf(t, res.Outputs[0]).At(0, 3, 13, 0))
		} else {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		}
	}
}

func TestCropV2ShowsItsResult(t *testing.T) {
	t.Parallel()
	im := picture(t, 1, 10, 20, 3)
	for name, region := range map[string]node.Value{
		"integers": map[string]any{"x": int64(2), "y": int64(5), "width": int64(4), "height": int64(3)},
		"decoded":  map[string]any{"x": 2.0, "y": 5.0, "width": 4.0, "height": 3.0},
	} {
		res := must(t, image.ImageCropV2(), newMemory(t), node.Args{"image": im, "crop_region": region})
		require.Equal(t, []any{false}, res.UI["animated"])
		require.Equal(t, [4]int{1, 3, 4, 3}, size(imageOf(t, res.Outputs[0])), name)
		require.Equal(t, im.At(0, 5, 2, 1), imageOf(t, res.Outputs[0]).At(0, 0, 0, 1))
		require.Equal(t, node.FolderTemp, res.UI["images"][0].(node.File).Folder)
	}
	for _, c := range []struct {
		region map[string]any
		want   [4]int
	}{
		{map[string]any{"x": int64(5)}, [4]int{1, 10, 15, 3}}, // the other members have their defaults
		{map[string]any{}, [4]int{1, 10, 20, 3}},
		// x counts from the right edge
		{map[string]any{"x": int64(-3), "y": int64(0), "width": int64(2), "height": int64(2)}, [4]int{1, 2, 2, 3}},
	} {
		res := must(t, image.ImageCropV2(), newMemory(t), node.Args{"image": im, "crop_region": c.region})
		require.Equal(t, c.want, size(imageOf(t, res.Outputs[0])), "%v", c.region)
	}
	for _, bad := range []node.Value{"x", map[string]any{"x": "left"}, map[string]any{"x": 1.5}} {
		_, _, err := run(t, image.ImageCropV2(), newMemory(t), node.Args{"image": im, "crop_region": bad})
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

func TestRotateAndFlip(t *testing.T) {
	t.Parallel()
	im := picture(t, 1, 2, 3, 3)
	turned := first(t, image.ImageRotate(), node.Args{"image": im, "rotation": "90 degrees"})
	require.Equal(t, [4]int{1, 3, 2, 3}, size(turned))
	require.Equal(t, im.At(0, 1, 0, 0), turned.At(0, 0, 0, 0), "the lower left comes to the upper left")
	rows := first(t, image.ImageFlip(), node.Args{"image": im, "flip_method": "x-axis: vertically"})
	require.Equal(t, im.At(0, 1, 0, 2), rows.At(0, 0, 0, 2))
	columns := first(t, image.ImageFlip(), node.Args{"image": im, "flip_method": "y-axis: horizontally"})
	require.Equal(t, im.At(0, 0, 2, 1), columns.At(0, 0, 0, 1))
}

func TestStitchPlacesTheSecondImage(t *testing.T) {
	t.Parallel()
	a, b := picture(t, 1, 10, 20, 3), picture(t, 2, 20, 20, 4)
	for _, c := range []struct {
		name, direction string
		match           bool
		gap             int64
		want            [4]int
	}{
		{"right, resized to 10 by 10", "right", true, 0, [4]int{2, 10, 30, 4}},
		{"left with a gap", "left", true, 4, [4]int{2, 10, 34, 4}},
		{"below, resized to 20 by 20", "down", true, 0, [4]int{2, 30, 20, 4}},
		{"an odd gap grows", "up", true, 3, [4]int{2, 34, 20, 4}},
		{"right, padded", "right", false, 0, [4]int{2, 20, 40, 4}},
	} {
		im := first(t, image.ImageStitch(), node.Args{
			"image1": a, "direction": c.direction, "match_image_size": c.match, "spacing_width": c.gap,
			"spacing_color": "red", "image2": b,
		})
		require.Equal(t, c.want, size(im), c.name)
	}
	alone := first(t, image.ImageStitch(), node.Args{
		"image1": a, "direction": "right", "match_image_size": true, "spacing_width": int64(0), "spacing_color": "white",
	})
	require.Equal(t, size(a), size(alone))
}

func TestStitchColoursGapAndPadding(t *testing.T) {
	t.Parallel()
	args := node.Args{
		"image1": picture(t, 1, 4, 6, 3), "direction": "right", "match_image_size": false, "spacing_width": int64(2),
		"spacing_color": "red", "image2": picture(t, 1, 8, 6, 3),
	}
	im := first(t, image.ImageStitch(), args)
	require.Equal(t, []float32{1, 0, 0}, im.Row(nil, 0, 7)[18:21], "the gap")
	require.Equal(t, []float32{0, 0, 0}, im.Row(nil, 0, 0)[:3], "a colour pads black")
	require.Equal(t, picture(t, 1, 4, 6, 3).At(0, 0, 0, 1), im.At(0, 2, 0, 1), "centred")
	args["spacing_color"] = "white"
	im = first(t, image.ImageStitch(), args)
	require.Equal(t, []float32{1, 1, 1}, im.Row(nil, 0, 0)[:3], "white pads white")
}

func TestOutpaintReturnsImageAndMask(t *testing.T) {
	t.Parallel()
	res := must(t, image.ImagePadForOutpaint(), nil, node.Args{
		"image": picture(t, 1, 10, 20, 3), "left": int64(8), "top": int64(0), "right": int64(0), "bottom": int64(16), "feathering": int64(40),
	})
	require.Equal(t, [4]int{1, 26, 28, 3}, size(imageOf(t, res.Outputs[0])))
	mask := res.Outputs[1].(*raster.Mask)
	require.Equal(t, float32(1), mask.At(0, 0, 7, 0))
	require.Equal(t, float32(0), mask.At(0, 0, 8, 0), "too small to fade")
}

func TestFramesFromBatch(t *testing.T) {
	t.Parallel()
	im := picture(t, 5, 2, 2, 3)
	for _, c := range []struct {
		index, length int64
		wantFirst, n  int
	}{{0, 1, 0, 1}, {3, 9, 3, 2}, {-2, 1, 3, 1}, {-9, 2, 0, 2}, {99, 1, 4, 1}} {
		got := first(t, image.ImageFromBatch(), node.Args{"image": im, "batch_index": c.index, "length": c.length})
		require.Equal(t, c.n, got.Frames())
		require.Equal(t, im.At(c.wantFirst, 1, 1, 1), got.At(0, 1, 1, 1))
	}
}

func TestRepeatBatch(t *testing.T) {
	t.Parallel()
	im := picture(t, 2, 2, 3, 3)
	got := first(t, image.RepeatImageBatch(), node.Args{"image": im, "amount": int64(3)})
	require.Equal(t, [4]int{6, 2, 3, 3}, size(got))
	require.Equal(t, im.At(1, 1, 2, 2), got.At(5, 1, 2, 2))
}

func TestBatchImagesTakesTheFirstSizeAndMostChannels(t *testing.T) {
	t.Parallel()
	got := first(t, image.BatchImagesNode(), node.Args{
		"images.image0": picture(t, 1, 4, 6, 3), "images.image2": picture(t, 2, 8, 8, 4), "images.image10": picture(t, 1, 4, 6, 3),
	})
	require.Equal(t, [4]int{4, 4, 6, 4}, size(got))
	require.Equal(t, float32(1), got.At(0, 0, 0, 3))
}

func TestRebatchCutsEqualLengths(t *testing.T) {
	t.Parallel()
	call := &node.Call{Lists: map[string]node.List{
		"images":     {picture(t, 3, 2, 2, 3), picture(t, 2, 2, 2, 3)},
		"batch_size": {int64(2)},
	}}
	res, err := image.RebatchImages().Run(t.Context(), call)
	require.NoError(t, err)
	var lengths []int
	for _, v := range res.Outputs[0].(node.List) {
		lengths = append(lengths, imageOf(t, v).Frames())
	}
	require.Equal(t, []int{2, 2, 1}, lengths)
	call.Lists["images"] = node.List{picture(t, 1, 2, 2, 3), picture(t, 1, 3, 2, 3)}
	_, err = image.RebatchImages().Run(t.Context(), call)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "different sizes do not batch")
}

func TestSplitAndJoinAlphaAreInverse(t *testing.T) {
	t.Parallel()
	im := picture(t, 2, 5, 6, 4)
	parts := must(t, image.SplitImageWithAlpha(), nil, node.Args{"image": im})
	require.Equal(t, 3, imageOf(t, parts.Outputs[0]).Channels())
	back := first(t, image.JoinImageWithAlpha(), node.Args{"image": parts.Outputs[0], "alpha": parts.Outputs[1]})
	for y := range 5 {
		require.InDeltaSlice(t, toFloat64(im.Row(nil, 1, y)), toFloat64(back.Row(nil, 1, y)), 1e-6)
	}
	opaque := must(t, image.SplitImageWithAlpha(), nil, node.Args{"image": picture(t, 1, 2, 2, 3)})
	require.Equal(t, float32(0), opaque.Outputs[1].(*raster.Mask).At(0, 1, 1, 0))
}

func toFloat64(in []float32) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

func TestPorterDuffResizesAllToTheDestination(t *testing.T) {
	t.Parallel()
	mask, err := raster.Engine{}.SolidMask(t.Context(), 3, 7, 7, 0)
	require.NoError(t, err)
	args := node.Args{
		"source": picture(t, 3, 9, 9, 3), "source_alpha": mask,
		"destination": picture(t, 2, 4, 6, 3), "destination_alpha": mask, "mode": "DST",
	}
	res := must(t, image.PorterDuffImageComposite(), nil, args)
	im, alpha := imageOf(t, res.Outputs[0]), res.Outputs[1].(*raster.Mask)
	require.Equal(t, [4]int{2, 4, 6, 3}, size(im))
	require.Equal(t, [3]int{2, 4, 6}, [3]int{alpha.Frames(), alpha.Height(), alpha.Width()})
	require.InDelta(t, picture(t, 2, 4, 6, 3).At(1, 2, 2, 2), im.At(1, 2, 2, 2), 1e-6)
}

func TestMorphologyWidens(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 3, 3, 1, []float32{0, 0, 0, 0, 1, 0, 0, 0, 0})
	require.NoError(t, err)
	out := first(t, image.Morphology(), node.Args{"image": im, "operation": "dilate", "kernel_size": int64(3)})
	require.Equal(t, float32(1), out.At(0, 0, 0, 0))
}

func TestAnimatedPNGHoldsAllFrames(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	res := must(t, image.SaveAnimatedPNG(), m, node.Args{
		"images": picture(t, 3, 8, 9, 3), "filename_prefix": "clip", "fps": 6.0, "compress_level": int64(4),
	})
	require.Equal(t, []any{true}, res.UI["animated"])
	require.Equal(t, []any{node.File{Filename: "clip_00001_.png", Folder: node.FolderOutput}}, res.UI["images"])
	data := m.files["output//clip_00001_.png"]
	pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, [4]int{3, 8, 9, 3}, size(pic.Image))
	require.Contains(t, string(data), "comfprompt\x00{")
}

// A lossy file is never replaced by a lossless one.
func TestAnimatedWebPWithLossesNeedsAWriter(t *testing.T) {
	t.Parallel()
	args := node.Args{
		"images": picture(t, 1, 8, 9, 3), "filename_prefix": "clip", "fps": 6.0, "lossless": false, "quality": int64(10),
		"method": "fastest",
	}
	_, _, err := run(t, image.SaveAnimatedWEBP(nil), newMemory(t), args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.ErrorContains(t, err, "ffmpeg")
}

func TestAnimatedWebPHoldsAllFramesAndMetadata(t *testing.T) {
	t.Parallel()
	for frames, animated := range map[int][]any{3: {true}, 1: nil} {
		m := newMemory(t)
		im := picture(t, frames, 8, 9, 3)
		args := node.Args{"images": im, "filename_prefix": "clip", "fps": 6.0, "lossless": true, "quality": int64(10), "method": "fastest"}
		res := must(t, image.SaveAnimatedWEBP(nil), m, args)
		require.Equal(t, animated, res.UI["animated"])
		require.Equal(t, []any{node.File{Filename: "clip_00001_.webp", Folder: node.FolderOutput}}, res.UI["images"])
		data := m.files["output//clip_00001_.webp"]
		pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, [4]int{frames, 8, 9, 3}, size(pic.Image))
		for y := range 8 {
			require.Equal(t, im.Row8(nil, frames-1, y), pic.Image.Row8(nil, frames-1, y))
		}
		require.Contains(t, string(data), "prompt:{")
		args["fps"] = 0.0
		_, err = node.Invocation{Class: image.SaveAnimatedWEBP(nil), Inputs: args}.Run(t.Context(), node.Call{Files: m})
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

func TestLoadImageOutputReadsAnnotatedNames(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "rgb.png")
	m.files["ComfyUI_00001_.png [output]"] = m.files["rgb.png"]
	res := must(t, image.LoadImageOutput(), m, node.Args{"image": "ComfyUI_00001_.png [output]"})
	require.Equal(t, [4]int{1, 37, 53, 3}, size(imageOf(t, res.Outputs[0])))
}

func TestQuantizeLeavesFewColours(t *testing.T) {
	t.Parallel()
	im := first(t, image.ImageQuantize(), node.Args{"image": picture(t, 2, 20, 20, 4), "colors": int64(5), "dither": "none"})
	require.Equal(t, [4]int{2, 20, 20, 3}, size(im))
	seen := map[[3]float32]bool{}
	for y := range 20 {
		row := im.Row(nil, 1, y)
		for x := range 20 {
			seen[[3]float32(row[3*x:3*x+3])] = true
		}
	}
	require.LessOrEqual(t, len(seen), 5)
}

func TestKontextSizesAreOfTheNearestAspectRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ w, h, wantW, wantH int }{
		{10, 10, 1024, 1024},
		{16, 9, 1392, 752},
		{1, 100, 672, 1568},
		{100, 1, 1568, 672},
		{5, 4, 1104, 944},
	} {
		im := picture(t, 1, c.h, c.w, 3)
		require.Equal(t, [4]int{1, c.wantH, c.wantW, 3}, size(first(t, image.FluxKontextImageScale(), node.Args{"image": im})))
	}
}
