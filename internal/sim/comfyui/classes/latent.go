// Package classes holds the node classes of a simulated ComfyUI that need nothing of the server itself: latents, lists, the
// node pack for lossless values, and a class that expands. Their files are those of the originals. It promises that the
// same arguments always give the same values; queueing, caching and models are the simulator's business.
package classes

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/comfyui/tensors"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// Types of values that stay on a server.
const (
	Model        node.Type = "MODEL"
	Clip         node.Type = "CLIP"
	VAE          node.Type = "VAE"
	Conditioning node.Type = "CONDITIONING"
	Latent       node.Type = "LATENT"
)

// Exception is an error as Python raises it.
type Exception struct {
	Kind string // "RuntimeError"
	Text string
}

// Error implements error.
func (e *Exception) Error() string { return e.Kind + ": " + e.Text }

// A sample of a latent stands for latentScale pixels of a picture in each direction; a latent has latentChannels channels.
const (
	latentScale    = 8
	latentChannels = 4
)

// Samples is a latent: a batch of samples, channels first, then row by row.
type Samples struct {
	Frames, Height, Width int
	Values                []float32
	More                  map[string]tensors.Tensor // further members, such as noise_mask
}

// NewSamples returns a latent of zeros.
func NewSamples(frames, height, width int) *Samples {
	return &Samples{Frames: frames, Height: height, Width: width, Values: make([]float32, frames*latentChannels*height*width)}
}

// Noise fills a latent with numbers that depend on the seed alone.
func (l *Samples) Noise(seed []byte) {
	hash := blake3.New()
	hash.Write(seed) //nolint:errcheck // a hash cannot fail
	stream := hash.Digest()
	raw := make([]byte, 4)
	for i := range l.Values {
		stream.Read(raw) //nolint:errcheck // it never ends
		l.Values[i] = float32(binary.LittleEndian.Uint32(raw)) / math.MaxUint32
	}
}

// at returns a pixel of the picture of one frame: every sample is a square.
func (l *Samples) at(n, y, x, channel int) float32 {
	return l.Values[((n*latentChannels+channel)*l.Height+y/latentScale)*l.Width+x/latentScale]
}

// Required is an input that must be linked or given.
func Required(name string, of node.Type) node.Input { return node.Input{Name: name, Type: of} }

// Integer is an input of whole numbers.
func Integer(name string, standard, least, most int) node.Input {
	return node.Input{Name: name, Type: node.Int, Default: standard, Min: least, Max: most}
}

// Latents are the classes of latents that need no model.
func Latents() []*node.Class {
	return []*node.Class{emptyLatent(), decoder(), encoder(), repeat(), setNoiseMask(), saveLatent(), loadLatent()}
}

func emptyLatent() *node.Class {
	return &node.Class{
		Name: "EmptyLatentImage", DisplayName: "Empty Latent Image", Category: "latent", Module: "nodes",
		Inputs:  []node.Input{Integer("width", 512, 16, 16384), Integer("height", 512, 16, 16384), Integer("batch_size", 1, 1, 4096)},
		Outputs: []node.Output{{Type: Latent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			w, h, n := call.Int("width"), call.Int("height"), call.Int("batch_size")
			return node.Result{Outputs: []node.Value{NewSamples(n, h/latentScale, w/latentScale)}}, nil
		},
	}
}

// Preview encodes the first frame as a preview.
func (l *Samples) Preview() ([]byte, error) {
	im := image.NewRGBA(image.Rect(0, 0, l.Width, l.Height))
	for y := range l.Height {
		for x := range l.Width {
			channel := func(c int) uint8 { return uint8(255 * l.at(0, y*latentScale, x*latentScale, c)) }
			im.SetRGBA(x, y, color.RGBA{channel(0), channel(1), channel(2), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, nil); err != nil {
		return nil, fmt.Errorf("encode a preview: %w", err)
	}
	return b.Bytes(), nil
}

func decoder() *node.Class {
	return &node.Class{
		Name: "VAEDecode", DisplayName: "VAE Decode", Category: "latent", Module: "nodes",
		Inputs:  []node.Input{Required("samples", Latent), Required("vae", VAE)},
		Outputs: []node.Output{{Type: node.Image}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			l, ok := call.Args["samples"].(*Samples)
			if !ok {
				return node.Result{}, &Exception{"TypeError", "'NoneType' object is not subscriptable"}
			}
			height, width := l.Height*latentScale, l.Width*latentScale
			pix := make([]float32, 0, l.Frames*height*width*3)
			for n := range l.Frames {
				for y := range height {
					for x := range width {
						pix = append(pix, l.at(n, y, x, 0), l.at(n, y, x, 1), l.at(n, y, x, 2))
					}
				}
			}
			im, err := raster.NewImage(l.Frames, height, width, 3, pix)
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
}

func encoder() *node.Class {
	return &node.Class{
		Name: "VAEEncode", DisplayName: "VAE Encode", Category: "latent", Module: "nodes",
		Inputs:  []node.Input{Required("pixels", node.Image), Required("vae", VAE)},
		Outputs: []node.Output{{Type: Latent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("pixels")
			l := NewSamples(im.Frames(), im.Height()/latentScale, im.Width()/latentScale)
			for i := range l.Values {
				x, y := i%l.Width, i/l.Width%l.Height
				channel, n := i/l.Width/l.Height%latentChannels, i/l.Width/l.Height/latentChannels
				l.Values[i] = im.At(n, y*latentScale, x*latentScale, min(channel, im.Channels()-1))
			}
			return node.Result{Outputs: []node.Value{l}}, nil
		},
	}
}

func saveLatent() *node.Class {
	return &node.Class{
		Name: "SaveLatent", DisplayName: "Save Latent", Category: "experimental", Module: "nodes",
		Inputs:     []node.Input{Required("samples", Latent), {Name: "filename_prefix", Type: node.String, Default: "latents/ComfyUI"}},
		OutputNode: true,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			l, ok := call.Args["samples"].(*Samples)
			prefix, _ := call.Args["filename_prefix"].(string)
			if !ok {
				return node.Result{}, &Exception{"TypeError", "'NoneType' object is not subscriptable"}
			}
			file, err := call.Files.Save(ctx, node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: "_.latent"}, l.write)
			return node.Result{UI: map[string][]any{"latents": {file}}}, err
		},
	}
}

func loadLatent() *node.Class {
	return &node.Class{
		Name: "LoadLatent", DisplayName: "Load Latent", Category: "experimental", Module: "nodes",
		Inputs:  []node.Input{{Name: "latent", Type: node.Combo, Options: []string{}}},
		Outputs: []node.Output{{Type: Latent}},
		Checked: []string{"latent"},
		Check: func(ctx context.Context, files node.Files, constants node.Args) error {
			name, _ := constants["latent"].(string)
			_, err := files.Stat(ctx, name)
			return err
		},
		Fingerprint: func(ctx context.Context, files node.Files, constants node.Args) (string, error) {
			name, _ := constants["latent"].(string)
			info, err := files.Stat(ctx, name)
			return info.Hash, err
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			name, _ := call.Args["latent"].(string)
			file, err := open(ctx, call.Files, name)
			if err != nil {
				return node.Result{}, err
			}
			l, err := fromTensor(file.Tensors["latent_tensor"])
			return node.Result{Outputs: []node.Value{l}}, err
		},
	}
}

// write writes a latent as SaveLatent does: the samples and nothing else.
func (l *Samples) write(w io.Writer) error {
	_, err := (&tensors.File{Tensors: map[string]tensors.Tensor{
		"latent_tensor": l.tensor(), "latent_format_version_0": tensors.FromFloats(nil, 0),
	}}).WriteTo(w)
	return err
}

func (l *Samples) tensor() tensors.Tensor {
	return tensors.FromFloats(l.Values, l.Frames, latentChannels, l.Height, l.Width)
}

func fromTensor(t tensors.Tensor) (*Samples, error) {
	values, err := t.Floats()
	if err != nil || len(t.Shape) != 4 || t.Shape[1] != latentChannels {
		return nil, &Exception{"RuntimeError", "The shape of the latent is not that of the model"}
	}
	return &Samples{Frames: t.Shape[0], Height: t.Shape[2], Width: t.Shape[3], Values: values}, nil
}

// maxFile bounds the tensors of a file.
const maxFile = 1 << 30

// open reads a file of tensors.
func open(ctx context.Context, files node.Files, name string) (*tensors.File, error) {
	content, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	file, err := tensors.Read(content, maxFile)
	if err != nil {
		return nil, &Exception{"safetensors_rust.SafetensorError", "Error while deserializing header"}
	}
	return file, nil
}

// setNoiseMask returns a latent with a mask, which SaveLatent leaves out.
func setNoiseMask() *node.Class {
	return &node.Class{
		Name: "SetLatentNoiseMask", DisplayName: "Set Latent Noise Mask", Category: "latent/inpaint", Module: "nodes",
		Inputs:  []node.Input{Required("samples", Latent), Required("mask", node.Mask)},
		Outputs: []node.Output{{Type: Latent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			mask, given := call.Args["mask"].(*raster.Mask)
			l, ok := call.Args["samples"].(*Samples)
			if !ok || !given || mask.Empty() {
				return node.Result{}, &Exception{"TypeError", "'NoneType' object is not subscriptable"}
			}
			masked := *l
			masked.More = map[string]tensors.Tensor{"noise_mask": rows(mask, mask.Width(), mask.Frames(), 1, mask.Height(), mask.Width())}
			return node.Result{Outputs: []node.Value{&masked}}, nil
		},
	}
}

// repeat repeats the frames of a latent.
func repeat() *node.Class {
	return &node.Class{
		Name: "RepeatLatentBatch", DisplayName: "Repeat Latent Batch", Category: "latent/batch", Module: "nodes",
		Inputs:  []node.Input{Required("samples", Latent), Integer("amount", 1, 1, 64)},
		Outputs: []node.Output{{Type: Latent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			amount, given := call.Args["amount"].(int64)
			l, ok := call.Args["samples"].(*Samples)
			if !ok || !given {
				return node.Result{}, &Exception{"TypeError", "'NoneType' object is not subscriptable"}
			}
			repeated := *l
			repeated.Frames, repeated.Values = l.Frames*int(amount), slices.Repeat(l.Values, int(amount))
			return node.Result{Outputs: []node.Value{&repeated}}, nil
		},
	}
}
