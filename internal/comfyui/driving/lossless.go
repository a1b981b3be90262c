package driving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/tensors"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The classes of the node pack in integrations/comfyui.
const (
	loadImage  = "LosslessLoadImage"
	loadMask   = "LosslessLoadMask"
	loadLatent = "LosslessLoadLatent"
	loadSound  = "LosslessLoadAudio"
)

// lossless maps a type to the class of the node pack that saves its values, with the name of the class's input.
var lossless = map[node.Type]struct{ save, input string }{
	node.Image:     {"LosslessSaveImage", "image"},
	node.Mask:      {"LosslessSaveMask", "mask"},
	segment.Latent: {"LosslessSaveLatent", "latent"},
	node.Audio:     {"LosslessSaveAudio", "audio"},
}

// losslessKind is the key under which the node pack lists the files that it saves.
const losslessKind = "tensors"

// Files of the node pack describe their value as JSON under describedKey. A value that is one tensor is stored as
// wholeTensor.
const (
	describedKey  = "comfyui"
	wholeTensor   = "tensor"
	packFormat    = 1
	latentSamples = "samples"
	soundWaveform = "waveform"
)

// lossless reports whether the server has a class of the node pack.
func (c *compiled) lossless(class string) bool { return c.r.Offers != nil && c.r.Offers(class) }

// described is the description of a value in a file of the node pack, besides its tensors.
type described struct {
	Format int             `json:"format"`
	Type   node.Type       `json:"type"`
	Value  json.RawMessage `json:"value"` // the members that are not tensors; null if the value is one tensor
}

// packed returns the file of a value.
func packed(kind node.Type, value string, parts map[string]tensors.Tensor) (*tensors.File, error) {
	raw, err := json.Marshal(described{packFormat, kind, json.RawMessage(value)})
	if err != nil {
		return nil, fmt.Errorf("describe a value: %w", err)
	}
	return &tensors.File{Tensors: parts, Metadata: map[string]string{describedKey: string(raw)}}, nil
}

// moveTensors uploads a file of the node pack and loads it with a class of the pack.
func (c *compiled) moveTensors(ctx context.Context, class string, make func() (*tensors.File, error)) (any, error) {
	file, err := make()
	if err != nil {
		return nil, err
	}
	name, err := c.uploadStream(ctx, ".safetensors", file.Reader)
	if err != nil {
		return nil, err
	}
	return linkTo(c.add(class, map[string]any{"file": name}), 0), nil
}

func losslessImage(im *raster.Image) func() (*tensors.File, error) {
	return func() (*tensors.File, error) {
		shape := []int{im.Frames(), im.Height(), im.Width(), im.Channels()}
		return packed(node.Image, "null", map[string]tensors.Tensor{wholeTensor: rows(im, im.Width()*im.Channels(), shape...)})
	}
}

func losslessMask(m *raster.Mask) func() (*tensors.File, error) {
	return func() (*tensors.File, error) {
		shape := []int{m.Frames(), m.Height(), m.Width()}
		return packed(node.Mask, "null", map[string]tensors.Tensor{wholeTensor: rows(m, m.Width(), shape...)})
	}
}

// rower is an image or a mask.
type rower interface {
	Row(buf []float32, frame, y int) []float32
}

// rows returns the samples of an image or a mask as a tensor.
func rows(from rower, width int, shape ...int) tensors.Tensor {
	pix := make([]float32, 0, shape[0]*shape[1]*width)
	row := make([]float32, width)
	for frame := range shape[0] {
		for y := range shape[1] {
			pix = append(pix, from.Row(row, frame, y)...)
		}
	}
	return tensors.FromFloats(pix, shape...)
}

func losslessSound(s *media.Sound) func() (*tensors.File, error) {
	return func() (*tensors.File, error) {
		samples := make([]float32, 0, s.Channels()*s.Samples())
		for i := range s.Channels() {
			samples = append(samples, s.Channel(i)...)
		}
		waveform := tensors.FromFloats(samples, 1, s.Channels(), s.Samples())
		return packed(node.Audio, fmt.Sprintf(`{"sample_rate":%d}`, s.Rate()), map[string]tensors.Tensor{soundWaveform: waveform})
	}
}

// moveOpaque moves a value that another server saved as a file.
func (c *compiled) moveOpaque(ctx context.Context, v node.Opaque) (any, error) {
	switch v.Type {
	case segment.Latent:
		return c.moveLatent(ctx, v.Data)
	case node.Audio:
		return c.loadFile(ctx, ".flac", v.Data, "LoadAudio", "audio")
	default:
		return nil, cannotCross("a value of type %s cannot be moved to a server", v.Type)
	}
}

// loadFile uploads a file and loads it with a class.
func (c *compiled) loadFile(ctx context.Context, suffix string, data []byte, class, input string) (any, error) {
	name, err := c.uploadBytes(ctx, suffix, data)
	if err != nil {
		return nil, err
	}
	return linkTo(c.add(class, map[string]any{input: name}), 0), nil
}

// moveLatent moves a latent as the server wrote it. For a server without the node pack, a latent of the node pack is
// rewritten with its samples alone.
func (c *compiled) moveLatent(ctx context.Context, data []byte) (any, error) {
	file, err := tensors.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	samples, ofPack := file.Tensors[latentSamples]
	switch {
	case !ofPack:
		return c.loadFile(ctx, ".latent", data, "LoadLatent", "latent")
	case c.lossless(loadLatent):
		return c.loadFile(ctx, ".safetensors", data, loadLatent, "file")
	}
	plain := &tensors.File{Tensors: map[string]tensors.Tensor{
		"latent_tensor": samples, "latent_format_version_0": tensors.FromFloats(nil, 0),
	}}
	name, err := c.uploadStream(ctx, ".latent", plain.Reader)
	if err != nil {
		return nil, err
	}
	return linkTo(c.add("LoadLatent", map[string]any{"latent": name}), 0), nil
}

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

// maxValueBytes is the memory that a value may take.
func (d *Driver) maxValueBytes() int64 {
	if d.opts.MaxPixels > math.MaxInt64/bytesPerPixel {
		return math.MaxInt64
	}
	return d.opts.MaxPixels * bytesPerPixel
}

// readTensors reads a value that the node pack wrote.
func (f *follower) readTensors(ctx context.Context, kind node.Type, from comfyui.File) (node.Value, error) {
	if kind == segment.Latent { // no native class computes with latents
		data, err := f.d.read(ctx, f.r, from)
		return node.Opaque{Type: kind, Data: data}, err
	}
	content, err := f.d.fetch(ctx, f.r.Server, from, f.d.opts.MaxOutput)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	file, err := readPacked(content, kind, f.d.maxValueBytes())
	if err != nil {
		return nil, err
	}
	switch kind {
	case node.Image:
		return file.image()
	case node.Mask:
		return file.mask()
	case node.Audio:
		return file.sound()
	default:
		return nil, cannotCross("a value of type %s cannot be read", kind)
	}
}

// packedValue is a value in a file of the node pack.
type packedValue struct {
	described
	tensors map[string]tensors.Tensor
}

func readPacked(r io.Reader, kind node.Type, limit int64) (*packedValue, error) {
	file, err := tensors.Read(r, limit)
	if err != nil {
		return nil, err
	}
	v := &packedValue{tensors: file.Tensors}
	if json.Unmarshal([]byte(file.Metadata[describedKey]), &v.described) != nil || v.Format != packFormat || v.Type != kind {
		return nil, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server wrote a file without a value of type %s", kind)
	}
	return v, nil
}

// floats returns a tensor with the given number of dimensions.
func (v *packedValue) floats(name string, dimensions int) ([]float32, []int, error) {
	t, ok := v.tensors[name]
	if !ok || len(t.Shape) != dimensions {
		return nil, nil, cannotCross("a value of type %s with a tensor of shape %v cannot be read", v.Type, t.Shape)
	}
	values, err := t.Floats()
	return values, t.Shape, err
}

func (v *packedValue) image() (node.Value, error) {
	pix, shape, err := v.floats(wholeTensor, 4)
	if err != nil {
		return nil, err
	}
	if c := shape[3]; c != 1 && c != 3 && c != 4 {
		return nil, cannotCross("a picture of %d channels cannot be read", c)
	}
	return raster.NewImage(shape[0], shape[1], shape[2], shape[3], pix)
}

func (v *packedValue) mask() (node.Value, error) {
	dimensions := len(v.tensors[wholeTensor].Shape)
	if dimensions != 2 { // one frame only
		dimensions = 3
	}
	pix, shape, err := v.floats(wholeTensor, dimensions)
	if err != nil {
		return nil, err
	}
	if len(shape) == 2 {
		shape = []int{1, shape[0], shape[1]}
	}
	return raster.NewMask(shape[0], shape[1], shape[2], pix)
}

func (v *packedValue) sound() (node.Value, error) {
	var plain struct {
		Rate float64 `json:"sample_rate"`
	}
	samples, shape, err := v.floats(soundWaveform, 3)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(v.Value, &plain) != nil || plain.Rate != math.Trunc(plain.Rate) || plain.Rate < 1 || plain.Rate > media.MaxRate {
		return nil, cannotCross("a sound of %g samples a second cannot be read", plain.Rate)
	}
	if shape[0] != 1 {
		return nil, cannotCross("a batch of %d sounds cannot be read as one value", shape[0])
	}
	channels := make([][]float32, shape[1])
	for i := range channels {
		channels[i] = samples[i*shape[2] : (i+1)*shape[2] : (i+1)*shape[2]]
	}
	return media.NewSound(int(plain.Rate), channels)
}
