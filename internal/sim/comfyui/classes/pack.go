package classes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/millrace-dev/millrace/internal/comfyui/tensors"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// Pack are the classes of the node pack in integrations/comfyui, with the same files.
func Pack() []*node.Class {
	var all []*node.Class
	for _, k := range []struct {
		kind        node.Type
		name, title string
	}{{node.Image, "image", "Image"}, {node.Mask, "mask", "Mask"}, {Latent, "latent", "Latent"}, {node.Audio, "audio", "Audio"}} {
		all = append(all, saver(k.kind, k.name, k.title), loader(k.kind, k.name, k.title))
	}
	return all
}

func saver(kind node.Type, name, title string) *node.Class {
	return &node.Class{
		Name: "LosslessSave" + title, DisplayName: "Save " + title + " (lossless)", Category: "lossless",
		Module:     "custom_nodes.millrace-lossless",
		Inputs:     []node.Input{Required(name, kind), {Name: "filename_prefix", Type: node.String, Default: "lossless/" + name}},
		OutputNode: true,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			prefix, _ := call.Args["filename_prefix"].(string)
			value, parts, err := split(call.Args[name])
			if err != nil {
				return node.Result{}, err
			}
			described, err := json.Marshal(map[string]any{"format": 1, "type": kind, "value": value})
			if err != nil {
				return node.Result{}, fmt.Errorf("describe a value: %w", err)
			}
			content := &tensors.File{Tensors: parts, Metadata: map[string]string{"comfyui": string(described)}}
			save := node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: "_.safetensors"}
			file, err := call.Files.Save(ctx, save, func(w io.Writer) error { _, err := content.WriteTo(w); return err })
			return node.Result{UI: map[string][]any{"tensors": {file}}}, err
		},
	}
}

// split returns the plain members of a value, nil where it is one tensor, and its tensors.
func split(value node.Value) (any, map[string]tensors.Tensor, error) {
	switch v := value.(type) {
	case *raster.Image:
		return nil, whole("tensor", rows(v, v.Width()*v.Channels(), v.Frames(), v.Height(), v.Width(), v.Channels())), nil
	case *raster.Mask:
		return nil, whole("tensor", rows(v, v.Width(), v.Frames(), v.Height(), v.Width())), nil
	case *Samples:
		parts := maps.Clone(v.More)
		if parts == nil {
			parts = map[string]tensors.Tensor{}
		}
		parts["samples"] = v.tensor()
		return map[string]any{}, parts, nil
	case *media.Sound:
		var samples []float32
		for i := range v.Channels() {
			samples = append(samples, v.Channel(i)...)
		}
		return map[string]any{"sample_rate": v.Rate()}, whole("waveform", tensors.FromFloats(samples, 1, v.Channels(), v.Samples())), nil
	}
	return nil, nil, &Exception{"TypeError", fmt.Sprintf("a value of type %T cannot be written", value)}
}

func whole(name string, t tensors.Tensor) map[string]tensors.Tensor {
	return map[string]tensors.Tensor{name: t}
}

// rower is an image or a mask.
type rower interface {
	Row(buf []float32, frame, y int) []float32
	Frames() int
	Height() int
}

// rows returns the samples of an image or a mask; the last dimensions of its shape are a row.
func rows(from rower, width int, shape ...int) tensors.Tensor {
	var pix []float32
	row := make([]float32, width)
	for frame := range from.Frames() {
		for y := range from.Height() {
			pix = append(pix, from.Row(row, frame, y)...)
		}
	}
	return tensors.FromFloats(pix, shape...)
}

func loader(kind node.Type, name, title string) *node.Class {
	return &node.Class{
		Name: "LosslessLoad" + title, DisplayName: "Load " + title + " (lossless)", Category: "lossless",
		Module:  "custom_nodes.millrace-lossless",
		Inputs:  []node.Input{{Name: "file", Type: node.String, Default: ""}},
		Outputs: []node.Output{{Type: kind}},
		Check: func(ctx context.Context, files node.Files, constants node.Args) error {
			file, _ := constants["file"].(string)
			_, err := files.Stat(ctx, file)
			return err
		},
		Fingerprint: func(ctx context.Context, files node.Files, constants node.Args) (string, error) {
			file, _ := constants["file"].(string)
			info, err := files.Stat(ctx, file)
			return info.Hash, err
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			from, _ := call.Args["file"].(string)
			file, err := open(ctx, call.Files, from)
			if err != nil {
				return node.Result{}, err
			}
			value, err := joined(kind, file)
			return node.Result{Outputs: []node.Value{value}}, err
		},
	}
}

// joined makes a value of a file.
func joined(kind node.Type, file *tensors.File) (node.Value, error) {
	var described struct {
		Format int            `json:"format"`
		Type   node.Type      `json:"type"`
		Value  map[string]any `json:"value"`
	}
	if json.Unmarshal([]byte(file.Metadata["comfyui"]), &described) != nil || described.Format != 1 || described.Type != kind {
		return nil, &Exception{"ValueError", "this file does not hold a value of type " + string(kind)}
	}
	values, shape, err := numbers(file, map[node.Type]string{Latent: "samples", node.Audio: "waveform"}[kind])
	if err != nil {
		return nil, err
	}
	switch kind {
	case node.Image:
		return raster.NewImage(shape[0], shape[1], shape[2], shape[3], values)
	case node.Mask:
		return raster.NewMask(shape[0], shape[1], shape[2], values)
	case node.Audio:
		rate, _ := described.Value["sample_rate"].(float64)
		channels := make([][]float32, shape[1])
		for i := range channels {
			channels[i] = values[i*shape[2] : (i+1)*shape[2]]
		}
		return media.NewSound(int(rate), channels)
	default:
		l, err := fromTensor(file.Tensors["samples"])
		if err == nil {
			l.More = maps.Clone(file.Tensors)
			delete(l.More, "samples")
		}
		return l, err
	}
}

// numbers returns a tensor of a file, by default the one that is the whole value.
func numbers(file *tensors.File, name string) ([]float32, []int, error) {
	name = cmp.Or(name, "tensor")
	t, ok := file.Tensors[name]
	if !ok || len(t.Shape) < 3 {
		return nil, nil, &Exception{"KeyError", name}
	}
	values, err := t.Floats()
	return values, t.Shape, err
}
