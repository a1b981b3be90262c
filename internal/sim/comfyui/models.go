package comfyui

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"time"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// Types of values that stay on a server.
const (
	typeModel        node.Type = "MODEL"
	typeClip         node.Type = "CLIP"
	typeVAE          node.Type = "VAE"
	typeConditioning node.Type = "CONDITIONING"
	typeLatent       node.Type = "LATENT"
)

// classSampler is the class that takes steps.
const classSampler = "KSampler"

// latentScale is how many pixels of a picture a sample of a latent stands for, in each direction;
// a latent has latentChannels channels.
const (
	latentScale    = 8
	latentChannels = 4
)

// checkpoint stands for a model with its text encoder and VAE.
type checkpoint struct{ name string }

// latent is a batch of samples, row by row, channels first.
type latent struct {
	frames, height, width int
	samples               []float32
}

func newLatent(frames, height, width int) *latent {
	return &latent{frames, height, width, make([]float32, frames*latentChannels*height*width)}
}

// noise fills a latent with numbers that depend on the seed alone.
func (l *latent) noise(seed []byte) {
	hash := blake3.New()
	hash.Write(seed) //nolint:errcheck // a hash cannot fail
	stream := hash.Digest()
	raw := make([]byte, 4)
	for i := range l.samples {
		stream.Read(raw) //nolint:errcheck // it never ends
		l.samples[i] = float32(binary.LittleEndian.Uint32(raw)) / math.MaxUint32
	}
}

// frame returns a picture of one frame: every sample a square.
func (l *latent) frame(n, y, x, channel int) float32 {
	return l.samples[((n*latentChannels+channel)*l.height+y/latentScale)*l.width+x/latentScale]
}

func required(name string, of node.Type) node.Input { return node.Input{Name: name, Type: of} }

func whole(name string, standard, least, most int) node.Input {
	return node.Input{Name: name, Type: node.Int, Default: standard, Min: least, Max: most}
}

// modelClasses are the stand-ins for classes that need a model.
func (s *Server) modelClasses() []*node.Class {
	return []*node.Class{
		s.loader(), textEncoder(), emptyLatent(), s.sampler(), decoder(), encoder(), saveLatent(), loadLatent(),
	}
}

func (s *Server) loader() *node.Class {
	return &node.Class{
		Name: "CheckpointLoaderSimple", DisplayName: "Load Checkpoint", Category: "loaders", Module: "nodes",
		Inputs:  []node.Input{{Name: "ckpt_name", Type: node.Combo, Options: s.opts.Checkpoints}},
		Outputs: []node.Output{{Type: typeModel}, {Type: typeClip}, {Type: typeVAE}},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			name, _ := call.Args["ckpt_name"].(string)
			model, fresh := s.cache.load(name)
			if fresh {
				s.ledger.load(name)
				if err := s.pause(ctx, s.opts.Load); err != nil {
					return node.Result{}, err
				}
			}
			return node.Result{Outputs: []node.Value{model, model, model}}, nil
		},
	}
}

func textEncoder() *node.Class {
	return &node.Class{
		Name: "CLIPTextEncode", DisplayName: "CLIP Text Encode (Prompt)", Category: "conditioning", Module: "nodes",
		Inputs:  []node.Input{{Name: "text", Type: node.String, Multiline: true, DynamicPrompts: true}, required("clip", typeClip)},
		Outputs: []node.Output{{Type: typeConditioning}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			model, ok := call.Args["clip"].(*checkpoint)
			if !ok {
				return node.Result{}, &exception{"RuntimeError", "ERROR: clip input is invalid: None"}
			}
			return node.Result{Outputs: []node.Value{fmt.Sprintf("%s: %v", model.name, call.Args["text"])}}, nil
		},
	}
}

func emptyLatent() *node.Class {
	return &node.Class{
		Name: "EmptyLatentImage", DisplayName: "Empty Latent Image", Category: "latent", Module: "nodes",
		Inputs:  []node.Input{whole("width", 512, 16, 16384), whole("height", 512, 16, 16384), whole("batch_size", 1, 1, 4096)},
		Outputs: []node.Output{{Type: typeLatent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			in := call.Args.Reader()
			w, h, n := in.Int("width"), in.Int("height"), in.Int("batch_size")
			if err := in.Err(); err != nil {
				return node.Result{}, err
			}
			return node.Result{Outputs: []node.Value{newLatent(n, h/latentScale, w/latentScale)}}, nil
		},
	}
}

func (s *Server) sampler() *node.Class {
	return &node.Class{
		Name: classSampler, DisplayName: "KSampler", Category: "sampling", Module: "nodes",
		Inputs: []node.Input{
			required("model", typeModel),
			{Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: math.MaxInt, Control: true},
			whole("steps", 20, 1, 10000),
			{Name: "cfg", Type: node.Float, Default: 8.0, Min: 0.0, Max: 100.0, Step: 0.1, Round: 0.01},
			{Name: "sampler_name", Type: node.Combo, Options: []string{"euler", "euler_ancestral", "dpmpp_2m"}},
			{Name: "scheduler", Type: node.Combo, Options: []string{"simple", "normal", "karras"}},
			required("positive", typeConditioning), required("negative", typeConditioning), required("latent_image", typeLatent),
			{Name: "denoise", Type: node.Float, Default: 1.0, Min: 0.0, Max: 1.0, Step: 0.01},
		},
		Outputs: []node.Output{{Type: typeLatent}},
		Run:     s.sample,
	}
}

// sample fills a latent with noise that depends on all arguments, in as many steps as asked for.
func (s *Server) sample(ctx context.Context, call *node.Call) (node.Result, error) {
	in := call.Args.Reader()
	steps := in.Int("steps")
	if err := in.Err(); err != nil {
		return node.Result{}, err
	}
	model, isModel := call.Args["model"].(*checkpoint)
	from, isLatent := call.Args["latent_image"].(*latent)
	if !isModel || !isLatent {
		return node.Result{}, &exception{"AttributeError", "'NoneType' object has no attribute 'model'"}
	}
	if err := s.misbehave(ctx); err != nil {
		return node.Result{}, err
	}
	seed, err := json.Marshal([]any{model.name, pairs(node.Args{
		"seed": call.Args["seed"], "steps": steps, "cfg": call.Args["cfg"], "sampler": call.Args["sampler_name"], "scheduler": call.Args["scheduler"],
		"positive": call.Args["positive"], "negative": call.Args["negative"], "denoise": call.Args["denoise"], "from": from.samples,
	})})
	if err != nil {
		return node.Result{}, fmt.Errorf("seed of a sampler: %w", err)
	}
	to := newLatent(from.frames, from.height, from.width)
	to.noise(seed)
	for step := 1; step <= steps; step++ {
		if err := s.pause(ctx, s.opts.Step); err != nil {
			return node.Result{}, err
		}
		picture, err := to.picture()
		if err != nil {
			return node.Result{}, err
		}
		call.Live.Progress(step, steps)
		call.Live.Preview("image/jpeg", picture)
	}
	return node.Result{Outputs: []node.Value{to}}, nil
}

// misbehave is what goes wrong in a sampler.
func (s *Server) misbehave(ctx context.Context) error {
	switch {
	case s.faults.take(OutOfMemory):
		s.cache.free(true, false)
		return &exception{"torch.OutOfMemoryError", "Allocation on device 0 would exceed allowed memory. (out of memory)"}
	case s.faults.take(Raise):
		return &exception{"RuntimeError", "cannot read /home/somebody/ComfyUI/models/checkpoints/broken.safetensors"}
	case s.faults.take(Hang):
		select {
		case <-ctx.Done():
		case <-s.faults.freed():
		}
	}
	return nil
}

// pause takes the time of a step. It ends early with the prompt.
func (s *Server) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if s.queue.isInterrupted() {
		return errInterrupted
	}
	return nil
}

// picture encodes the first frame as a preview.
func (l *latent) picture() ([]byte, error) {
	im := image.NewRGBA(image.Rect(0, 0, l.width, l.height))
	for y := range l.height {
		for x := range l.width {
			at := func(c int) uint8 { return uint8(255 * l.frame(0, y*latentScale, x*latentScale, c)) }
			im.SetRGBA(x, y, color.RGBA{at(0), at(1), at(2), 255})
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
		Inputs:  []node.Input{required("samples", typeLatent), required("vae", typeVAE)},
		Outputs: []node.Output{{Type: node.Image}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			l, ok := call.Args["samples"].(*latent)
			if !ok {
				return node.Result{}, &exception{"TypeError", "'NoneType' object is not subscriptable"}
			}
			height, width := l.height*latentScale, l.width*latentScale
			pix := make([]float32, 0, l.frames*height*width*3)
			for n := range l.frames {
				for y := range height {
					for x := range width {
						pix = append(pix, l.frame(n, y, x, 0), l.frame(n, y, x, 1), l.frame(n, y, x, 2))
					}
				}
			}
			im, err := raster.NewImage(l.frames, height, width, 3, pix)
			return node.Result{Outputs: []node.Value{im}}, err
		},
	}
}

func encoder() *node.Class {
	return &node.Class{
		Name: "VAEEncode", DisplayName: "VAE Encode", Category: "latent", Module: "nodes",
		Inputs:  []node.Input{required("pixels", node.Image), required("vae", typeVAE)},
		Outputs: []node.Output{{Type: typeLatent}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			in := call.Args.Reader()
			im := in.Image("pixels")
			if err := in.Err(); err != nil {
				return node.Result{}, err
			}
			l := newLatent(im.Frames(), im.Height()/latentScale, im.Width()/latentScale)
			for i := range l.samples {
				x, y := i%l.width, i/l.width%l.height
				channel, n := i/l.width/l.height%latentChannels, i/l.width/l.height/latentChannels
				l.samples[i] = im.At(n, y*latentScale, x*latentScale, min(channel, im.Channels()-1))
			}
			return node.Result{Outputs: []node.Value{l}}, nil
		},
	}
}

func saveLatent() *node.Class {
	return &node.Class{
		Name: "SaveLatent", DisplayName: "Save Latent", Category: "experimental", Module: "nodes",
		Inputs:     []node.Input{required("samples", typeLatent), {Name: "filename_prefix", Type: node.String, Default: "latents/ComfyUI"}},
		OutputNode: true,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			l, ok := call.Args["samples"].(*latent)
			prefix, _ := call.Args["filename_prefix"].(string)
			if !ok {
				return node.Result{}, &exception{"TypeError", "'NoneType' object is not subscriptable"}
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
		Outputs: []node.Output{{Type: typeLatent}},
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
			file, err := call.Files.Open(ctx, name)
			if err != nil {
				return node.Result{}, err
			}
			defer file.Close() // read only
			raw, err := io.ReadAll(file)
			if err != nil {
				return node.Result{}, err
			}
			l, err := readLatent(raw)
			return node.Result{Outputs: []node.Value{l}}, err
		},
	}
}

// latentHeader is the header of a file of a latent: tensors by name.
type latentHeader struct {
	Tensor struct {
		Type    string `json:"dtype"`
		Shape   [4]int `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	} `json:"latent_tensor"`
}

// write writes a safetensors file: the length of the header, the header, the samples.
func (l *latent) write(w io.Writer) error {
	var h latentHeader
	h.Tensor.Type, h.Tensor.Shape = "F32", [4]int{l.frames, latentChannels, l.height, l.width}
	h.Tensor.Offsets[1] = 4 * len(l.samples)
	head, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write a latent: %w", err)
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	out = append(out, head...)
	for _, sample := range l.samples {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(sample))
	}
	_, err = w.Write(out)
	return err
}

// readLatent reads what write wrote, or a real server.
func readLatent(raw []byte) (*latent, error) {
	broken := &exception{"safetensors_rust.SafetensorError", "Error while deserializing header"}
	if len(raw) < 8 {
		return nil, broken
	}
	size := binary.LittleEndian.Uint64(raw)
	if size > uint64(len(raw)-8) {
		return nil, broken
	}
	var h latentHeader
	body := raw[8+size:]
	if json.Unmarshal(bytes.TrimRight(raw[8:8+size], " "), &h) != nil || h.Tensor.Type != "F32" {
		return nil, broken
	}
	shape := h.Tensor.Shape
	if shape[1] != latentChannels || shape[0] <= 0 || shape[2] <= 0 || shape[3] <= 0 || h.Tensor.Offsets[0] < 0 ||
		h.Tensor.Offsets[1] > len(body) || h.Tensor.Offsets[1]-h.Tensor.Offsets[0] != 4*shape[0]*shape[1]*shape[2]*shape[3] {
		return nil, broken
	}
	l := newLatent(shape[0], shape[2], shape[3])
	for i := range l.samples {
		l.samples[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[h.Tensor.Offsets[0]+4*i:]))
	}
	return l, nil
}
