package image_test

import (
	"bytes"
	"encoding/binary"
	stdimage "image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

// pictureWatcher keeps the pictures that it receives.
type pictureWatcher struct{ pictures [][]byte }

func (w *pictureWatcher) Progress(int, int)                {}
func (w *pictureWatcher) Preview(string, []byte)           {}
func (w *pictureWatcher) Text(string)                      {}
func (w *pictureWatcher) Picture(_ string, content []byte) { w.pictures = append(w.pictures, content) }

func golden(t *testing.T, name string) *raster.Image {
	t.Helper()
	a := rastertest.Load(t, "testdata/"+name+".npy")
	im, err := raster.NewImage(a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3], a.Floats)
	require.NoError(t, err)
	return im
}

func invoke(t *testing.T, c *node.Class, call node.Call, args node.Args) (node.Result, error) {
	t.Helper()
	return node.Invocation{Class: c, Inputs: args}.Run(t.Context(), call)
}

func outputs(t *testing.T, c *node.Class, args node.Args) []node.Value {
	t.Helper()
	res, err := invoke(t, c, node.Call{NodeID: "1"}, args)
	require.NoError(t, err, "%v", args)
	return res.Outputs
}

// requireNear compares every value of an image with that of another one.
func requireNear(t *testing.T, want, got *raster.Image, most float64) {
	t.Helper()
	require.Equal(t, [4]int{want.Frames(), want.Height(), want.Width(), want.Channels()},
		[4]int{got.Frames(), got.Height(), got.Width(), got.Channels()})
	for f := range want.Frames() {
		for y := range want.Height() {
			require.InDeltaSlice(t, want.Row(nil, f, y), got.Row(nil, f, y), most)
		}
	}
}

func firstImage(t *testing.T, values []node.Value) *raster.Image {
	t.Helper()
	im, ok := values[0].(*raster.Image)
	require.True(t, ok, "%T", values[0])
	return im
}

func TestEdgesAreThoseOfKornia(t *testing.T) {
	t.Parallel()
	// Where two rows have equal gradients, the last bit of a sum decides between them.
	for name, most := range map[string]int{"noise": 0, "shape": 2} {
		got := firstImage(t, outputs(t, image.Canny(), node.Args{"image": golden(t, name), "low_threshold": 0.4, "high_threshold": 0.8}))
		want, different := golden(t, "canny_"+name), 0
		for y := range want.Height() {
			for x := range want.Width() {
				if got.At(0, y, x, 0) != want.At(0, y, x, 0) {
					different++
				}
			}
		}
		require.LessOrEqual(t, different, most, name)
	}
	_, err := invoke(t, image.Canny(), node.Call{}, node.Args{"image": golden(t, "noise"), "low_threshold": 0.9, "high_threshold": 0.1})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// Refusals begin with the sentence of the exception that ComfyUI raises.
func TestRefusalsNameTheExceptionOfComfyUI(t *testing.T) {
	t.Parallel()
	solid := func(frames, height, width int) *raster.Image {
		im, err := raster.Engine{}.Solid(t.Context(), frames, height, width, []uint8{1, 2, 3})
		require.NoError(t, err)
		return im
	}
	const padding = "Padding size should be less than the corresponding input dimension, but got: padding "
	for _, c := range []struct {
		class           *node.Class
		args            node.Args
		exception, says string
	}{
		{
			image.Canny(),
			node.Args{"image": solid(1, 5, 5), "low_threshold": 0.79, "high_threshold": 0.22},
			"kornia.core.exceptions.BaseError",
			"Invalid input thresholds. low_threshold should be smaller than or equal to the high_threshold. Got: 0.79>0.22\n",
		},
		{
			image.ImageBlur(),
			node.Args{"image": solid(2, 2, 25), "blur_radius": int64(30), "sigma": 1.0},
			"RuntimeError",
			"Argument #4: " + padding + "(30, 30) at dimension 3 of input [2, 3, 2, 25]\n",
		},
		{
			image.ImageBlur(),
			node.Args{"image": solid(1, 23, 40), "blur_radius": int64(30), "sigma": 1.0},
			"RuntimeError",
			"Argument #6: " + padding + "(30, 30) at dimension 2 of input [1, 3, 23, 40]\n",
		},
		{
			image.ImageYUVToRGB(),
			node.Args{"Y": solid(1, 23, 4), "U": solid(1, 23, 4), "V": solid(1, 17, 4)},
			"RuntimeError",
			"Sizes of tensors must match except in dimension 3. Expected size 23 but got size 17 for tensor number 2 in the list.\n",
		},
	} {
		_, err := invoke(t, c.class, node.Call{}, c.args)
		var f *fault.Error
		require.ErrorAs(t, err, &f, c.class.Name)
		require.Equal(t, c.exception, f.Exception)
		require.True(t, strings.HasPrefix(f.Message, c.says), f.Message)
	}
}

func TestColoursAreThoseOfKornia(t *testing.T) {
	t.Parallel()
	parts := outputs(t, image.ImageRGBToYUV(), node.Args{"image": golden(t, "noise")})
	yuv := golden(t, "yuv")
	for c, part := range parts {
		im := part.(*raster.Image)
		for x := range im.Width() {
			for i := range 3 {
				require.InDelta(t, yuv.At(0, 5, x, c), im.At(0, 5, x, i), 1e-6)
			}
		}
	}
	back := outputs(t, image.ImageYUVToRGB(), node.Args{"Y": parts[0], "U": parts[1], "V": parts[2]})
	requireNear(t, golden(t, "rgb"), firstImage(t, back), 1e-6)
}

func TestNoiseIsThatOfPyTorch(t *testing.T) {
	t.Parallel()
	got := outputs(t, image.ImageAddNoise(), node.Args{"image": golden(t, "noise"), "seed": int64(11), "strength": 0.3})
	requireNear(t, golden(t, "grain"), firstImage(t, got), 2e-6)
}

func TestValuesAreCounted(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(1, 1, 3, 3, []uint8{255, 0, 0, 255, 255, 255, 0, 7, 0})
	require.NoError(t, err)
	counts := outputs(t, image.ImageHistogram(), node.Args{"image": im})
	at := func(output, value int) any { return counts[output].([]any)[value] }
	require.Equal(t, []any{int64(1), int64(2), int64(1), int64(1)}, []any{at(0, 0), at(2, 255), at(3, 7), at(0, 255)})
	require.Equal(t, []any{int64(1), int64(1), int64(1)}, []any{at(1, 54), at(1, 255), at(1, 5)}, "luminance")
}

func TestResizeModes(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(2, 20, 30, 3, make([]float32, 2*20*30*3))
	require.NoError(t, err)
	mask, err := raster.NewMask(2, 20, 30, make([]float32, 2*20*30))
	require.NoError(t, err)
	for _, c := range []struct {
		kind string
		args node.Args
		want [2]int
	}{
		{"scale dimensions", node.Args{"width": int64(10), "height": int64(11), "crop": "center"}, [2]int{10, 11}},
		{"scale dimensions", node.Args{"width": int64(0), "height": int64(11), "crop": "disabled"}, [2]int{16, 11}},
		{"scale dimensions", node.Args{"width": int64(0), "height": int64(0), "crop": "center"}, [2]int{30, 20}},
		{"scale by multiplier", node.Args{"multiplier": 0.25}, [2]int{8, 5}},
		{"scale longer dimension", node.Args{"longer_size": int64(15)}, [2]int{15, 10}},
		{"scale shorter dimension", node.Args{"shorter_size": int64(15)}, [2]int{22, 15}},
		{"scale width", node.Args{"width": int64(60)}, [2]int{60, 40}},
		{"scale height", node.Args{"height": int64(60)}, [2]int{90, 60}},
		{"scale total pixels", node.Args{"megapixels": 0.01}, [2]int{125, 84}},
		{"match size", node.Args{"match": mask, "crop": "disabled"}, [2]int{30, 20}},
		{"scale to multiple", node.Args{"multiple": int64(8)}, [2]int{24, 16}},
	} {
		for _, input := range []node.Value{im, mask} {
			args := node.Args{"input": input, "resize_type": c.kind, "scale_method": "bilinear"}
			for name, value := range c.args {
				args["resize_type."+name] = value
			}
			got := outputs(t, image.ResizeImageMaskNode(), args)[0]
			require.IsType(t, input, got)
			size := got.(interface {
				Width() int
				Height() int
			})
			require.Equal(t, c.want, [2]int{size.Width(), size.Height()}, "%s %v", c.kind, c.args)
		}
	}
	small, err := raster.NewMask(1, 10, 15, make([]float32, 150))
	require.NoError(t, err)
	batch := outputs(t, image.BatchMasksNode(), node.Args{"masks.mask0": small, "masks.mask1": mask})[0].(*raster.Mask)
	require.Equal(t, [3]int{3, 10, 15}, [3]int{batch.Frames(), batch.Height(), batch.Width()})
}

func TestTilesComeTogetherAgain(t *testing.T) {
	t.Parallel()
	im, err := declareRamp(150, 100)
	require.NoError(t, err)
	tiles := outputs(t, image.SplitImageToTileList(),
		node.Args{"image": im, "tile_width": int64(64), "tile_height": int64(64), "overlap": int64(16)})[0].(node.List)
	require.Len(t, tiles, 3*2)
	last := tiles[5].(*raster.Image)
	require.Equal(t, im.At(0, 99, 149, 0), last.At(0, 63, 63, 0), "the last tile ends with the picture")
	for _, overlap := range []int64{16, 0} {
		args := node.Args{"image_list": tiles, "final_width": int64(150), "final_height": int64(100), "overlap": overlap}
		if overlap == 0 {
			args["image_list"] = outputs(t, image.SplitImageToTileList(),
				node.Args{"image": im, "tile_width": int64(64), "tile_height": int64(64), "overlap": overlap})[0]
		}
		requireNear(t, im, firstImage(t, outputs(t, image.ImageMergeTileList(), args)), 1e-4)
	}
}

func declareRamp(w, h int) (*raster.Image, error) {
	pix := make([]float32, w*h*3)
	for i := range pix {
		pix[i] = float32(i%251) / 250
	}
	return raster.NewImage(1, h, w, 3, pix)
}

func TestTheMaskedPartIsCutOut(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 200, 300, 3, filled(200*300*3, 0.5))
	require.NoError(t, err)
	selected := make([]float32, 200*300)
	for y := 50; y < 150; y++ {
		for x := 100; x < 200; x++ {
			selected[y*300+x] = 1
		}
	}
	mask, err := raster.NewMask(1, 200, 300, selected)
	require.NoError(t, err)
	args := node.Args{
		"images": im, "masks": mask, "width": int64(96), "height": int64(64), "pad_factor": 1.0, "grow_mask": int64(0), "background": "#ff0000",
	}
	got := firstImage(t, outputs(t, image.ImageCropToMask(), args))
	require.Equal(t, [2]int{96, 64}, [2]int{got.Width(), got.Height()})
	require.InDelta(t, 0.5, got.At(0, 32, 48, 1), 0.01, "the part")
	require.InDelta(t, 1, got.At(0, 32, 2, 0), 0.01, "the ground beside it")
	require.InDelta(t, 0, got.At(0, 32, 2, 1), 0.01)
}

func filled(n int, v float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestPicturesAreSent(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(2, 1, 2, 3, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	require.NoError(t, err)
	w, files := &pictureWatcher{}, nodetest.NewFiles()
	res, err := invoke(t, image.SaveImageWebsocket(), node.Call{Live: w, Files: files}, node.Args{"images": im})
	require.NoError(t, err)
	require.Len(t, w.pictures, 2, "one of each frame, in order")
	require.Len(t, res.UI["images"], 2)
	for i, data := range w.pictures {
		kept, err := files.Open(t.Context(), res.UI["images"][i].(node.File).Filename+" [output]")
		require.NoError(t, err)
		content, err := io.ReadAll(kept)
		require.NoError(t, err)
		require.Equal(t, data, content, "a client that was away fetches the same")
		got, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, color.RGBA{uint8(4 + 6*i), uint8(5 + 6*i), uint8(6 + 6*i), 255}, color.RGBAModel.Convert(got.At(1, 0)))
	}
}

func TestTwoImagesAreShown(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(2, 1, 1, 3, []uint8{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	files := nodetest.NewFiles()
	res, err := invoke(t, image.ImageCompare(), node.Call{NodeID: "1", Files: files}, node.Args{"image_a": im, "image_b": im.Frame(0)})
	require.NoError(t, err)
	require.Len(t, res.UI["a_images"], 2)
	require.Len(t, res.UI["b_images"], 1)
	require.Regexp(t, `^comfy\.compare\.b_temp_[a-z]{5}_\d{5}_\.png$`, res.UI["b_images"][0].(node.File).Filename)
	res, err = invoke(t, image.ImageCompare(), node.Call{NodeID: "1", Files: files}, node.Args{"compare_view": ""})
	require.NoError(t, err)
	require.Equal(t, map[string][]any{"a_images": {}, "b_images": {}}, res.UI)
}

func TestFilesOfMoreThanEightBits(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 1, 2, 4, []float32{0.00002, 0.5, 1, 0.25, 2, -1, 0.04, 1})
	require.NoError(t, err)
	save := func(format, depth, space string) (*nodetest.Files, string) {
		files := nodetest.NewFiles()
		res, err := invoke(t, image.SaveImageAdvanced(), node.Call{NodeID: "1", Files: files, Prompt: []byte(`{"7": {}}`)}, node.Args{
			"images": im, "filename_prefix": "deep", "format": format, "format.bit_depth": depth, "format.input_color_space": space,
		})
		require.NoError(t, err)
		name := res.UI["images"][0].(node.File).Filename
		require.Equal(t, "deep_00001."+format, name)
		require.Contains(t, string(files.Saved[name]), `{"7": {}}`)
		return files, name
	}
	files, name := save("png", "16-bit", "sRGB")
	got, err := png.Decode(bytes.NewReader(files.Saved[name]))
	require.NoError(t, err)
	require.Equal(t, color.NRGBA64{1, 32767, 65535, 16383}, got.(*stdimage.NRGBA64).NRGBA64At(0, 0))
	require.Equal(t, color.NRGBA64{65535, 0, 2621, 65535}, got.(*stdimage.NRGBA64).NRGBA64At(1, 0))
	files, name = save("png", "8-bit", "sRGB")
	got, err = png.Decode(bytes.NewReader(files.Saved[name]))
	require.NoError(t, err)
	require.IsType(t, &stdimage.NRGBA{}, got)

	files, name = save("exr", "32-bit float", "linear")
	rgb, alpha := lineOfEXR(t, files.Saved[name])
	require.Equal(t, []float32{0.00002, 0.5, 1, 2, -1, 0.04}, rgb, "bit for bit")
	require.Equal(t, []float32{0.25, 1}, alpha)
	files, name = save("exr", "32-bit float", "sRGB")
	rgb, _ = lineOfEXR(t, files.Saved[name])
	require.InDeltaSlice(t, []float32{0.0000015, 0.2140411, 1}, rgb[:3], 1e-6)
	files, name = save("exr", "32-bit float", "HDR")
	rgb, _ = lineOfEXR(t, files.Saved[name])
	require.InDeltaSlice(t, []float32{0, 0.0833333, 1}, rgb[:3], 1e-6)
}

// lineOfEXR reads an uncompressed EXR file of one line and two pixels with alpha: a header, the offset of the line, and
// the line's number, size and channels in the order of their names.
func lineOfEXR(t *testing.T, file []byte) (rgb, alpha []float32) {
	t.Helper()
	require.Equal(t, "v/1\x01\x02\x00\x00\x00", string(file[:8]), "the magic number and the version")
	line := len(file) - 8 - 4*4*2
	le := binary.LittleEndian
	require.EqualValues(t, line, le.Uint64(file[line-8:]))
	require.EqualValues(t, 0, le.Uint32(file[line:]))
	require.EqualValues(t, 4*4*2, le.Uint32(file[line+4:]))
	sample := func(channel, x int) float32 {
		return math.Float32frombits(le.Uint32(file[line+8+4*(2*channel+x):]))
	}
	for x := range 2 {
		alpha = append(alpha, sample(0, x))
		rgb = append(rgb, sample(3, x), sample(2, x), sample(1, x))
	}
	return rgb, alpha
}
