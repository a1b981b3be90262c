package nodeclass

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// sounds reports whether a class has a sound as an input or output.
func sounds(c *node.Class) bool {
	return slices.ContainsFunc(c.Outputs, func(o node.Output) bool { return o.Type == node.Audio }) ||
		slices.ContainsFunc(c.Inputs, func(in node.Input) bool { return in.Type == node.Audio && in.Section == node.Required })
}

// written returns an argument as expressions see it: a picture is the list of its frames, a mask the list of its frames as
// pictures, and a sound or a video one file.
func (x *exchange) written(ctx context.Context, name string, value node.Value, args node.Args) (any, error) {
	switch v := value.(type) {
	case *raster.Image:
		return x.frames(ctx, name, v)
	case *raster.Mask:
		of := "image"
		if before, found := strings.CutSuffix(name, "_mask"); found {
			of = before + "_image"
		}
		if slices.Contains(x.Invert, name) {
			inverted, err := raster.Engine{}.InvertMask(ctx, v)
			if err != nil {
				return nil, err
			}
			v = inverted
		}
		im, err := maskPicture(ctx, v, args[of])
		if err != nil {
			return nil, err
		}
		return x.frames(ctx, name, im)
	case *media.Sound:
		return x.file(ctx, name, "audio/mpeg", func(w io.Writer) error {
			return x.tool.WriteSound(ctx, w, v, ffmpeg.Format{Muxer: []string{"-f", "mp3"}, Audio: []string{"-c:a", "libmp3lame"}}, nil)
		})
	case *media.Video:
		return x.clip(ctx, name, v)
	}
	return value, nil
}

// clip returns a video as a file: its own where it is a whole file, otherwise one that is made of its frames.
func (x *exchange) clip(ctx context.Context, name string, v *media.Video) (any, error) {
	if v.File == "" {
		return x.file(ctx, name, "video/mp4", func(w io.Writer) error {
			return x.tool.WriteVideo(ctx, w, v, ffmpeg.Format{
				Muxer: []string{"-f", "mp4", "-movflags", "faststart"}, Video: []string{"-c:v", "libx264", "-pix_fmt", "yuv420p"},
				Audio: []string{"-c:a", "aac"},
			}, nil, nil)
		})
	}
	if v.Start != 0 || v.Length != 0 {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s is a part of a file: take it apart and put it together before", name)
	}
	content, err := x.call.Files.Open(ctx, v.File)
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	raw, err := io.ReadAll(io.LimitReader(content, maxPicture+1))
	if err != nil {
		return nil, err
	}
	contentType := content.Info().ContentType
	if contentType == "" {
		contentType = sniffed(raw)
	}
	return x.data(name, contentType, raw)
}

func (x *exchange) file(_ context.Context, name, contentType string, write func(io.Writer) error) (any, error) {
	if x.tool == nil {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input %s cannot be encoded: this server has no ffmpeg", name)
	}
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return nil, err
	}
	return x.data(name, contentType, out.Bytes())
}

// data returns a file in the form of the table: a data address, or base64 alone.
func (x *exchange) data(name, contentType string, raw []byte) (any, error) {
	if len(raw) > maxPicture {
		return nil, fault.New(fault.Exhausted, fault.CodePictureLimit, "input %s is longer than the %d bytes that are sent", name, maxPicture)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	if x.Media == catalog.MediaData {
		text = "data:" + contentType + ";base64," + text
	}
	return text, nil
}

// maskPicture returns a mask as a picture of the size of the picture to which it belongs.
func maskPicture(ctx context.Context, m *raster.Mask, of node.Value) (*raster.Image, error) {
	if m.Empty() {
		return nil, fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask has no pixels")
	}
	grey := m.Grey().WithChannels(3)
	im, ok := of.(*raster.Image)
	if !ok || im.Width() == m.Width() && im.Height() == m.Height() {
		return grey, nil
	}
	return raster.Engine{}.Resize(ctx, grey, im.Width(), im.Height(), raster.NearestExact)
}

// frames writes each frame of a picture.
func (x *exchange) frames(ctx context.Context, name string, im *raster.Image) ([]any, error) {
	f := field{input: node.Input{Name: name}, media: x.Media}
	frames := make([]any, im.Frames())
	for i := range frames {
		raw, err := f.picture(ctx, im.Frame(i))
		if err != nil {
			return nil, err
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		frames[i] = text
	}
	return frames, nil
}

// values makes the values of ComfyUI's outputs: those of the pointers of From, otherwise of the model's output of the same
// type. A video is a file until another node saves it.
func (x *exchange) values(ctx context.Context, p *model, answer node.ModelAnswer) ([]node.Value, error) {
	r := &reading{model: p, call: x.call, answer: answer, folder: node.FolderTemp, ui: map[string][]any{}}
	if p.entry.Protocol != catalog.Bytes {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	values := make([]node.Value, len(x.outputs))
	for i, out := range x.outputs {
		if slices.Contains(x.Blank, out.Name) {
			black, err := raster.Engine{}.Solid(ctx, 1, blankSide, blankSide, []uint8{0, 0, 0})
			if err != nil {
				return nil, err
			}
			values[i] = black
			continue
		}
		var err error
		if values[i], err = x.value(ctx, r, out); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// blankSide is the width and height of a picture that was not requested, as in ComfyUI.
const blankSide = 1024

// value makes the value of one output.
func (x *exchange) value(ctx context.Context, r *reading, out node.Output) (node.Value, error) {
	from := catalog.NodeOutput{Name: out.Name, From: x.From[out.Name]}
	if from.From == nil {
		var err error
		if from, err = r.model.outputOf(r, out.Type); err != nil {
			return nil, err
		}
	}
	found := r.outputValues(from)
	switch kind := out.Type; {
	case kind == node.Image:
		return r.images(ctx, from, found)
	case kind == node.Mask:
		im, err := r.images(ctx, from, found)
		if err != nil {
			return nil, err
		}
		return raster.Engine{}.Channel(ctx, im.(*raster.Image).WithChannels(4), 3)
	case kind == node.Audio:
		if len(found) == 0 {
			return nil, r.unusable("it has no %s", from.Name)
		}
		file, err := r.open(ctx, found[0])
		if err != nil {
			return nil, err
		}
		defer file.Content.Close() // read only
		return x.tool.Sound(ctx, file.Content, ffmpeg.Part{}, x.call.MaxPixels*soundBytes)
	case kind == node.Video:
		name, err := r.saveFirst(ctx, from, found)
		return &media.Video{File: name}, err
	case kind == svgType:
		return r.saveFirst(ctx, from, found)
	}
	return r.joined(found), nil
}

// svgType is ComfyUI's type of vector graphics; their value is the name of a file.
const svgType node.Type = "SVG"

// soundBytes is the memory of a sound for each pixel that a call may take.
const soundBytes = 4

// saveFirst saves the first of the values that were found.
func (r *reading) saveFirst(ctx context.Context, o catalog.NodeOutput, found []any) (string, error) {
	if len(found) == 0 {
		return "", r.unusable("it has no %s", o.Name)
	}
	return r.save(ctx, found[0])
}

// outputOf returns the model's output from which a value of a type of ComfyUI is made.
func (p *model) outputOf(r *reading, out node.Type) (catalog.NodeOutput, error) {
	want := catalog.NodeFile
	if out == node.Image || out == node.Mask {
		want = catalog.NodeImage
	} else if out == node.String {
		want = catalog.NodeText
	}
	outputs := p.entry.NodeOutputs()
	i := slices.IndexFunc(outputs, func(o catalog.NodeOutput) bool { return o.Type == want })
	if i < 0 {
		return catalog.NodeOutput{}, r.unusable("%s has no output %s", p.entry.ID, want)
	}
	return outputs[i], nil
}

// batched adds the pictures of a further answer to those before it. Values of another type are those of the first answer.
func (x *exchange) batched(ctx context.Context, before, next []node.Value) ([]node.Value, error) {
	if before == nil {
		return next, nil
	}
	engine := raster.Engine{MaxPixels: x.call.MaxPixels}
	for i, value := range before {
		var err error
		switch v := value.(type) {
		case *raster.Image:
			before[i], err = engine.Batch(ctx, v, next[i].(*raster.Image))
		case *raster.Mask:
			var joined *raster.Image
			if joined, err = engine.Batch(ctx, v.Grey(), next[i].(*raster.Mask).Grey()); err == nil {
				before[i], err = engine.Channel(ctx, joined, 0)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return before, nil
}

// joined joins the texts of an answer, one below the other. A list or an object becomes JSON with indents, as ComfyUI's nodes
// write it; null is no text.
func (r *reading) joined(found []any) string {
	var texts []string
	for _, v := range found {
		switch v := v.(type) {
		case nil:
		case string:
			texts = append(texts, v)
		default:
			if raw, err := json.MarshalIndent(v, "", "  "); err == nil { // decoded JSON always encodes
				texts = append(texts, string(raw))
			}
		}
	}
	return strings.Join(texts, "\n")
}
