package image_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

// memory holds an account's files in memory and numbers saved names as accounts do.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	saves []node.Save
}

type content struct {
	*bytes.Reader
	info node.Info
}

func (c content) Close() error    { return nil }
func (c content) Info() node.Info { return c.info }

func (m *memory) Open(_ context.Context, name string) (node.Content, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "", "no file %s", name)
	}
	return content{bytes.NewReader(data), node.Info{Name: name, Size: int64(len(data)), Hash: fmt.Sprintf("test:%x", len(data))}}, nil
}

func (m *memory) Stat(ctx context.Context, name string) (node.Info, error) {
	c, err := m.Open(ctx, name)
	if err != nil {
		return node.Info{}, err
	}
	return c.Info(), nil
}

func (m *memory) List(context.Context, node.Folder, int) ([]string, error) { return nil, nil }

func (m *memory) Save(_ context.Context, s node.Save, write func(io.Writer) error) (node.File, error) {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return node.File{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, stem := "", s.Prefix
	if i := strings.LastIndexByte(s.Prefix, '/'); i >= 0 {
		dir, stem = s.Prefix[:i], s.Prefix[i+1:]
	}
	name := fmt.Sprintf("%s_%05d%s", stem, 1+s.Index, s.Suffix)
	m.files[string(s.Folder)+"/"+dir+"/"+name] = buf.Bytes()
	m.saves = append(m.saves, s)
	return node.File{Filename: name, Subfolder: dir, Folder: s.Folder}, nil
}

// watcher records the live frames of a node.
type watcher struct {
	texts    []string
	progress [][2]int
}

func (w *watcher) Progress(value, max int) { w.progress = append(w.progress, [2]int{value, max}) }
func (w *watcher) Preview(string, []byte)  {}
func (w *watcher) Picture(string, []byte)  {}
func (w *watcher) Text(text string)        { w.texts = append(w.texts, text) }
func newMemory(t *testing.T, names ...string) *memory {
	t.Helper()
	m := &memory{files: map[string][]byte{}}
	for _, name := range names {
		data, err := os.ReadFile("../../raster/testdata/" + name)
		require.NoError(t, err)
		m.files[name] = data
	}
	return m
}

// run runs a class with arguments over the files.
func run(t *testing.T, c *node.Class, m *memory, args node.Args) (node.Result, *watcher, error) {
	t.Helper()
	w := &watcher{}
	call := node.Call{
		NodeID: "7", Files: m, Live: w,
		Prompt:       json.RawMessage(`{"7":{"class_type":"SaveImage","inputs":{"n":1.50,"t":"é\n\"<𝄞"}}}`),
		ExtraPNGInfo: map[string]json.RawMessage{"workflow": json.RawMessage(`{"nodes":[],"v":null}`)},
		SubmittedAt:  time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	}
	res, err := node.Invocation{Class: c, Inputs: args}.Run(t.Context(), call)
	return res, w, err
}

// must is run for calls that succeed.
func must(t *testing.T, c *node.Class, m *memory, args node.Args) node.Result {
	t.Helper()
	res, _, err := run(t, c, m, args)
	require.NoError(t, err)
	require.Len(t, res.Outputs, len(c.Outputs))
	return res
}

func imageOf(t *testing.T, v node.Value) *raster.Image {
	t.Helper()
	im, ok := v.(*raster.Image)
	require.True(t, ok, "%T", v)
	return im
}

func size(im *raster.Image) [4]int {
	return [4]int{im.Frames(), im.Height(), im.Width(), im.Channels()}
}

// picture returns a small RGB image of several frames.
func picture(t *testing.T, frames, h, w, c int) *raster.Image {
	t.Helper()
	pix := make([]uint8, frames*h*w*c)
	for i := range pix {
		pix[i] = uint8(i * 7)
	}
	im, err := raster.NewImage8(frames, h, w, c, pix)
	require.NoError(t, err)
	return im
}

func TestClassesAreWellFormed(t *testing.T) {
	t.Parallel()
	r, err := node.NewRegistry(image.Classes(nil)...)
	require.NoError(t, err)
	for _, c := range r.Classes() {
		require.NotEmpty(t, c.Description, c.Name)
		require.NotEmpty(t, c.Category, c.Name)
		for _, in := range c.Inputs {
			require.True(t, in.Section == node.Hidden || in.Tooltip != "", "%s.%s", c.Name, in.Name)
		}
	}
}

func TestLoadImageYieldsColoursAndTransparency(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "rgba.png", "rgb.png", "moving.gif", "oriented_6.png")
	for name, want := range map[string]struct{ image, mask [3]int }{
		"rgba.png":       {[3]int{1, 37, 53}, [3]int{1, 37, 53}},
		"rgb.png":        {[3]int{1, 37, 53}, [3]int{1, 64, 64}},
		"moving.gif":     {[3]int{4, 37, 53}, [3]int{4, 37, 53}},
		"oriented_6.png": {[3]int{1, 7, 5}, [3]int{1, 64, 64}},
	} {
		res := must(t, image.LoadImage(), m, node.Args{"image": name})
		im, mask := imageOf(t, res.Outputs[0]), res.Outputs[1].(*raster.Mask)
		require.Equal(t, want.image, [3]int{im.Frames(), im.Height(), im.Width()}, name)
		require.Equal(t, want.mask, [3]int{mask.Frames(), mask.Height(), mask.Width()}, name)
	}
}

func TestLoadImageChecksItsFile(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "rgb.png")
	c := image.LoadImage()
	require.NoError(t, c.Check(t.Context(), m, node.Args{"image": "rgb.png"}))
	require.NoError(t, c.Check(t.Context(), m, node.Args{}), "a linked name is not checked")
	err := c.Check(t.Context(), m, node.Args{"image": "gone.png"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	var public *fault.Error
	require.ErrorAs(t, err, &public)
	require.Equal(t, "Invalid image file: gone.png", public.Message)
	for _, nameless := range []any{map[string]any{"__type": "core/x"}, []any{"a"}, true, nil} {
		err := c.Check(t.Context(), m, node.Args{"image": nameless})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%v names no file", nameless)
	}
	print, err := c.Fingerprint(t.Context(), m, node.Args{"image": "rgb.png"})
	require.NoError(t, err)
	require.NotEmpty(t, print)
}

func TestLoadImageMaskTakesAChannel(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "rgba.png", "rgb.png")
	want := rastertest.Load(t, "../../raster/testdata/pillow_rgba_png_mask.npy")
	res := must(t, image.LoadImageMask(), m, node.Args{"image": "rgba.png", "channel": "alpha"})
	require.Equal(t, want.Floats[53:106], res.Outputs[0].(*raster.Mask).Row(nil, 0, 1))
	rgb := rastertest.Load(t, "../../raster/testdata/pillow_rgb_png_rgb.npy")
	res = must(t, image.LoadImageMask(), m, node.Args{"image": "rgb.png", "channel": "green"})
	require.InDelta(t, float64(rgb.Bytes[3*5+1])/255, float64(res.Outputs[0].(*raster.Mask).At(0, 0, 5, 0)), 1e-7)
	res = must(t, image.LoadImageMask(), m, node.Args{"image": "rgb.png", "channel": "alpha"})
	require.Equal(t, 64, res.Outputs[0].(*raster.Mask).Width())
}

func TestSaveImageNamesAndMetadata(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	res := must(t, image.SaveImage(), m, node.Args{
		"images": picture(t, 2, 20, 30, 3), "filename_prefix": "day/%year%-%month%-%day%_%hour%%minute%%second%_%width%x%height%_%batch_num%",
	})
	require.Equal(t, map[string][]any{"images": {
		node.File{Filename: "2026-03-04_050607_30x20_0_00001_.png", Subfolder: "day", Folder: node.FolderOutput},
		node.File{Filename: "2026-03-04_050607_30x20_1_00002_.png", Subfolder: "day", Folder: node.FolderOutput},
	}}, res.UI)
	data := m.files["output/day/2026-03-04_050607_30x20_0_00001_.png"]
	require.Contains(t, string(data), "tEXtprompt\x00"+`{"7": {"class_type": "SaveImage", "inputs": {"n": 1.5, "t": `+
		`"\u00e9\n\"<\ud834\udd1e"}}}`)
	require.Contains(t, string(data), "tEXtworkflow\x00"+`{"nodes": [], "v": null}`)
	_, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{m.saves[0].Index, m.saves[1].Index})
}

func TestPreviewImageIsTemporaryAndRepeatable(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	first := must(t, image.PreviewImage(), m, node.Args{"images": picture(t, 1, 4, 4, 3)})
	again := must(t, image.PreviewImage(), m, node.Args{"images": picture(t, 1, 4, 4, 3)})
	require.Equal(t, first.UI, again.UI, "another attempt of the same call names the same file")
	file := first.UI["images"][0].(node.File)
	require.Regexp(t, `^ComfyUI_temp_[a-z]{5}_00001_\.png$`, file.Filename)
	require.Equal(t, node.FolderTemp, file.Folder)
}

func TestSaveReportsProgressPerFrame(t *testing.T) {
	t.Parallel()
	_, w, err := run(t, image.SaveImage(), newMemory(t), node.Args{"images": picture(t, 3, 4, 4, 3), "filename_prefix": "x"})
	require.NoError(t, err)
	require.Equal(t, [][2]int{{1, 3}, {2, 3}, {3, 3}}, w.progress)
}

func TestScaleSizes(t *testing.T) {
	t.Parallel()
	im := picture(t, 2, 30, 45, 3)
	for _, c := range []struct {
		name          string
		width, height int64
		crop          string
		want          [4]int
	}{
		{"both given", 20, 10, "disabled", [4]int{2, 10, 20, 3}},
		{"centre cut", 20, 20, "center", [4]int{2, 20, 20, 3}},
		{"width follows", 0, 10, "disabled", [4]int{2, 10, 15, 3}},
		{"height follows", 15, 0, "disabled", [4]int{2, 10, 15, 3}},
		{"height rounds half to even", 3, 0, "disabled", [4]int{2, 2, 3, 3}},
		{"unchanged", 0, 0, "disabled", [4]int{2, 30, 45, 3}},
	} {
		for _, m := range []string{"nearest-exact", "bilinear", "area", "bicubic", "lanczos"} {
			res := must(t, image.ImageScale(), nil, node.Args{
				"image": im, "upscale_method": m, "width": c.width, "height": c.height, "crop": c.crop,
			})
			require.Equal(t, c.want, size(imageOf(t, res.Outputs[0])), "%s %s", c.name, m)
		}
	}
	res := must(t, image.ImageScaleBy(), nil, node.Args{"image": im, "upscale_method": "area", "scale_by": 0.5})
	require.Equal(t, [4]int{2, 15, 22, 3}, size(imageOf(t, res.Outputs[0])), "22.5 rounds to even")
}

func TestPixelLimitIsExhausted(t *testing.T) {
	t.Parallel()
	call := &node.Call{MaxPixels: 1000, Args: node.Args{
		"image": picture(t, 1, 10, 10, 3), "upscale_method": "bilinear", "scale_by": 8.0,
	}}
	_, err := image.ImageScaleBy().Run(t.Context(), call)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

func TestGetImageSizeTellsWatchers(t *testing.T) {
	t.Parallel()
	res, w, err := run(t, image.GetImageSize(), nil, node.Args{"image": picture(t, 3, 20, 30, 3)})
	require.NoError(t, err)
	require.Equal(t, []node.Value{int64(30), int64(20), int64(3)}, res.Outputs)
	require.Equal(t, []string{"width: 30, height: 20\n batch size: 3"}, w.texts)
}

func TestEmptyImageHasItsColour(t *testing.T) {
	t.Parallel()
	res := must(t, image.EmptyImage(), nil, node.Args{"width": int64(5), "height": int64(3), "batch_size": int64(2), "color": int64(0x1020FF)})
	im := imageOf(t, res.Outputs[0])
	require.Equal(t, [4]int{2, 3, 5, 3}, size(im))
	require.Equal(t, []uint8{0x10, 0x20, 0xff}, im.Row8(nil, 1, 2)[12:15])
}

func TestCropIsMovedInsideTheImage(t *testing.T) {
	t.Parallel()
	im := picture(t, 1, 10, 20, 3)
	crop := func(w, h, x, y int64) *raster.Image {
		return imageOf(t, must(t, image.ImageCrop(), nil, node.Args{"image": im, "width": w, "height": h, "x": x, "y": y}).Outputs[0])
	}
	require.Equal(t, [4]int{1, 3, 4, 3}, size(crop(4, 3, 2, 5)))
	require.Equal(t, im.At(0, 5, 2, 1), crop(4, 3, 2, 5).At(0, 0, 0, 1))
	require.Equal(t, [4]int{1, 1, 1, 3}, size(crop(4, 3, 100, 100)), "the corner is at most the last pixel")
	require.Equal(t, [4]int{1, 2, 5, 3}, size(crop(50, 50, 15, 8)), "what lies outside is cut off")
}

func TestBatchFillsAlphaAndSize(t *testing.T) {
	t.Parallel()
	res := must(t, image.ImageBatch(), nil, node.Args{"image1": picture(t, 1, 10, 20, 3), "image2": picture(t, 2, 20, 20, 4)})
	im := imageOf(t, res.Outputs[0])
	require.Equal(t, [4]int{3, 10, 20, 4}, size(im))
	require.Equal(t, float32(1), im.At(0, 4, 4, 3))
}

func TestInvertKeepsItsInput(t *testing.T) {
	t.Parallel()
	im := picture(t, 1, 4, 4, 3)
	before := append([]uint8(nil), im.Row8(nil, 0, 0)...)
	out := imageOf(t, must(t, image.ImageInvert(), nil, node.Args{"image": im}).Outputs[0])
	require.Equal(t, 1-im.At(0, 1, 1, 1), out.At(0, 1, 1, 1))
	require.Equal(t, before, im.Row8(nil, 0, 0))
}

func TestBlurTooWideIsInvalid(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, image.ImageBlur(), nil, node.Args{"image": picture(t, 1, 5, 40, 3), "blur_radius": int64(5), "sigma": 1.0})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestMissingArgumentIsInvalid(t *testing.T) {
	t.Parallel()
	for _, c := range image.Classes(nil) {
		if c.Name == "ImageCompare" { // shows what it is given, which may be nothing
			continue
		}
		_, _, err := run(t, c, newMemory(t), node.Args{})
		require.Equal(t, fault.Invalid, fault.KindOf(err), c.Name)
	}
}

func TestCanceledCallsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	im := picture(t, 1, 40, 40, 3)
	for _, c := range []*node.Class{image.ImageBlur(), image.ImageSharpen(), image.ImageInvert(), image.ImageScaleBy()} {
		_, err := c.Run(ctx, &node.Call{Args: node.Args{
			"image": im, "blur_radius": int64(3), "sharpen_radius": int64(3), "sigma": 1.0, "alpha": 1.0,
			"upscale_method": "lanczos", "scale_by": 2.0,
		}})
		require.ErrorIs(t, err, context.Canceled, c.Name)
	}
}
