package driving

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// save copies the files that a node put out, and returns what it shows with our names for them.
func (d *Driver) save(ctx context.Context, r *Run, c *compiled, id string, out comfyui.Output) (map[string][]any, []job.OutputFile, error) {
	files := r.Files(id)
	byName := map[string]node.File{}
	for i, f := range out.Files {
		saved, err := d.copy(ctx, r, c, files, f, i)
		if err != nil {
			return nil, nil, fmt.Errorf("copy %s of node %s: %w", f.Name, id, err)
		}
		byName[fileKey(f.Name, f.Subfolder, string(f.Type))] = saved
	}
	ui, err := renamed(out.Raw, byName)
	return ui, files.Saved(), err
}

func fileKey(name, subfolder, folder string) string {
	return folder + "/" + strings.Trim(strings.ReplaceAll(subfolder, `\`, "/"), "/") + "/" + name
}

// numbered splits the name of a saved file as servers write it: prefix, counter, rest.
var numbered = regexp.MustCompile(`^(.*)_(\d{3,})(_?(?:\.[^.]*)?)$`)

// copy streams a file of the server to the account's files.
func (d *Driver) copy(ctx context.Context, r *Run, c *compiled, files NodeFiles, f comfyui.File, index int) (node.File, error) {
	content, err := r.Server.Fetch(ctx, f, d.opts.MaxOutput)
	if err != nil {
		return node.File{}, tooLarge(err, f, d.opts.MaxOutput)
	}
	defer content.Close()
	stem, suffix := strings.TrimSuffix(f.Name, path.Ext(f.Name)), path.Ext(f.Name)
	if m := numbered.FindStringSubmatch(f.Name); m != nil {
		stem, suffix = m[1], m[3]
	}
	body := bufio.NewReaderSize(content, 64<<10)
	save := node.Save{
		Folder: node.FolderOutput, Prefix: path.Join(c.stripRoot(f), stem), Suffix: suffix, ContentType: content.MediaType, Index: index,
	}
	if f.Type == comfyui.FolderTemp {
		save.Folder = node.FolderTemp
	}
	if save.ContentType == "" {
		save.ContentType = "application/octet-stream"
	}
	save.Width, save.Height = pngSize(body)
	saved, err := files.Save(ctx, save, func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
	return saved, tooLarge(err, f, d.opts.MaxOutput)
}

// CodeOutputTooLarge marks a file that is larger than the operator allows. Exhausted.
const CodeOutputTooLarge = "output_too_large"

func tooLarge(err error, f comfyui.File, most int64) error {
	if fault.CodeOf(err) == comfyui.CodeTooLarge {
		return fault.Wrap(err, fault.Exhausted, CodeOutputTooLarge, "%s is larger than %d bytes, which is the most that is taken from a server", f.Name, most)
	}
	return err
}

// pngSize returns the size of a picture whose file begins as a PNG does; 0 for others.
func pngSize(r *bufio.Reader) (width, height int) {
	head, err := r.Peek(24)
	if err != nil || string(head[:8]) != "\x89PNG\r\n\x1a\n" {
		return 0, 0
	}
	return int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
}

// renamed is what a node shows, with our names of the files. What is no list stays out of it.
func renamed(raw json.RawMessage, files map[string]node.File) (map[string][]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(raw, &shown); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, comfyui.CodeGarbage, "what the node shows is not an object")
	}
	ui := make(map[string][]any, len(shown))
	for key, value := range shown {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			continue
		}
		ui[key] = make([]any, 0, len(list))
		for _, element := range list {
			ui[key] = append(ui[key], renamedFile(element, files))
		}
	}
	return ui, nil
}

func renamedFile(element json.RawMessage, files map[string]node.File) any {
	var f struct {
		Filename  string `json:"filename"`
		Subfolder string `json:"subfolder"`
		Type      string `json:"type"`
	}
	if json.Unmarshal(element, &f) == nil && f.Filename != "" {
		if saved, ok := files[fileKey(f.Filename, f.Subfolder, f.Type)]; ok {
			return saved
		}
	}
	return element
}

// outputs moves out the values that are read outside the segment.
func (d *Driver) outputs(ctx context.Context, r *Run, c *compiled, outcome *comfyui.Outcome) ([]node.Value, error) {
	values := make([]node.Value, len(c.outputs))
	for i, id := range c.outputs {
		out := r.Segment.Outputs[i]
		shown, ok := outcome.Outputs[id]
		if !ok {
			return nil, fault.New(fault.Unavailable, comfyui.CodeGarbage, "the server did not put out output %d of node %s", out.Slot, r.Segment.Nodes[out.Node].ID)
		}
		var err error
		if values[i], err = d.value(ctx, r, out, shown); err != nil {
			return nil, fmt.Errorf("output %d of node %s: %w", out.Slot, r.Segment.Nodes[out.Node].ID, err)
		}
	}
	return values, nil
}

func (d *Driver) value(ctx context.Context, r *Run, out graph.SegmentOut, shown comfyui.Output) (node.Value, error) {
	list := false
	if class, ok := r.Classes.Lookup(r.Segment.Nodes[out.Node].Class); ok && out.Slot < len(class.Outputs) {
		list = class.Outputs[out.Slot].IsList
	}
	switch out.Type {
	case node.Image, node.Mask:
		return d.pictures(ctx, r, shown.Files, out.Type == node.Mask, list)
	case segment.Latent:
		if len(shown.Files) != 1 {
			return nil, fault.New(fault.Invalid, "value_cannot_cross", "%d latents cannot be moved between servers at once", len(shown.Files))
		}
		data, err := d.read(ctx, r, shown.Files[0])
		return node.Opaque{Type: out.Type, Data: data}, err
	default:
		return texts(out.Type, shown.Texts, list)
	}
}

// read returns a whole file; only values are read so, which have to fit into memory anyway.
func (d *Driver) read(ctx context.Context, r *Run, f comfyui.File) ([]byte, error) {
	content, err := r.Server.Fetch(ctx, f, d.opts.MaxOutput)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// pictures reads the frames of an image, or of a mask. Frames of one size are one batch.
func (d *Driver) pictures(ctx context.Context, r *Run, files []comfyui.File, mask, list bool) (node.Value, error) {
	engine := raster.Engine{MaxPixels: d.opts.MaxPixels}
	var frames []*codec.Picture
	for _, f := range files {
		content, err := r.Server.Fetch(ctx, f, d.opts.MaxOutput)
		if err != nil {
			return nil, err
		}
		p, err := codec.Decode(ctx, engine, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return nil, err
		}
		frames = append(frames, p)
	}
	var batches node.List
	for len(frames) > 0 {
		n := 1
		for !list && n < len(frames) && alike(frames[0], frames[n]) {
			n++
		}
		value, err := joinFrames(engine, frames[:n], mask)
		if err != nil {
			return nil, err
		}
		batches, frames = append(batches, value), frames[n:]
	}
	if list || len(batches) != 1 {
		return batches, nil
	}
	return batches[0], nil
}

func alike(a, b *codec.Picture) bool {
	return a.Image.Width() == b.Image.Width() && a.Image.Height() == b.Image.Height() && (a.Mask == nil) == (b.Mask == nil)
}

// joinFrames makes one value of pictures of one size. Alpha becomes the fourth channel again.
func joinFrames(engine raster.Engine, frames []*codec.Picture, mask bool) (node.Value, error) {
	first := frames[0].Image
	if err := engine.Fit(len(frames), first.Height(), first.Width()); err != nil {
		return nil, err
	}
	width, channels := first.Width(), 3
	if frames[0].Mask != nil {
		channels = 4
	}
	if mask {
		pix := make([]float32, 0, len(frames)*first.Height()*width)
		row := make([]float32, width*3)
		for _, p := range frames {
			for y := range first.Height() {
				for x, samples := 0, p.Image.Row(row, 0, y); x < width; x++ {
					pix = append(pix, samples[3*x])
				}
			}
		}
		return raster.NewMask(len(frames), first.Height(), width, pix)
	}
	pix := make([]uint8, 0, len(frames)*first.Height()*width*channels)
	colors, alpha := make([]uint8, width*3), make([]float32, width)
	for _, p := range frames {
		for y := range first.Height() {
			row := p.Image.Row8(colors, 0, y)
			if channels == 3 {
				pix = append(pix, row[:3*width]...)
				continue
			}
			clear := p.Mask.Row(alpha, 0, y)
			for x := range width {
				pix = append(pix, row[3*x], row[3*x+1], row[3*x+2], uint8((1-clear[x])*255+0.5))
			}
		}
	}
	return raster.NewImage8(len(frames), first.Height(), width, channels, pix)
}

// texts reads values that the server wrote as texts.
func texts(kind node.Type, shown []string, list bool) (node.Value, error) {
	values := make(node.List, 0, len(shown))
	for _, text := range shown {
		value, err := parse(kind, text)
		if err != nil {
			return nil, fault.Wrap(err, fault.Unavailable, comfyui.CodeGarbage, "the server wrote %q for a value of type %s", text, kind)
		}
		values = append(values, value)
	}
	if list || len(values) != 1 {
		return values, nil
	}
	return values[0], nil
}

func parse(kind node.Type, text string) (node.Value, error) {
	switch kind {
	case node.Int:
		return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	case node.Float:
		return strconv.ParseFloat(python.Digits(text), 64)
	case node.Boolean:
		return text == "True" || text == "true", nil
	default:
		return text, nil
	}
}
