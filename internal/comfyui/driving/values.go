package driving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// outputs downloads the values that nodes outside the segment read.
func (f *follower) outputs(ctx context.Context, outcome *comfyui.Outcome) ([]node.Value, error) {
	values := make([]node.Value, len(f.c.outputs))
	for i, p := range f.c.outputs {
		out := f.r.Segment.Outputs[i]
		f.current = f.r.Segment.Nodes[out.Node].ID
		shown, ok := outcome.Outputs[p.id]
		switch {
		case shown.Err != nil:
			return nil, shown.Err
		case ok:
			var err error
			if values[i], err = f.value(ctx, i, out, p, shown, outcome); err != nil {
				return nil, fmt.Errorf("output %d of node %s: %w", out.Slot, f.current, err)
			}
		case f.sent > 0: // on a server, too, a blocked value keeps its readers from running
			values[i] = node.Blocker{}
		default:
			return nil, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server did not return output %d of node %s", out.Slot, f.current)
		}
	}
	return values, nil
}

// value downloads one value.
func (f *follower) value(ctx context.Context, i int, out graph.SegmentOut, p exportedValue, shown comfyui.Output,
	outcome *comfyui.Outcome,
) (node.Value, error) {
	if len(shown.Files) > 0 && shown.Files[0].Kind == losslessKind {
		return f.eachFile(ctx, p, shown, func(file comfyui.File) (node.Value, error) { return f.readTensors(ctx, out.Type, file) })
	}
	switch out.Type {
	case node.Image, node.Mask:
		sizes, err := frameCounts(outcome.Outputs[p.sizes].Texts)
		if err != nil {
			return nil, err
		}
		return f.d.pictures(ctx, f.r, shown.Files, out.Type == node.Mask, p.list, sizes)
	case segment.Latent:
		return f.eachFile(ctx, p, shown, func(file comfyui.File) (node.Value, error) {
			data, err := f.d.read(ctx, f.r, file)
			return node.Opaque{Type: out.Type, Data: data}, err
		})
	case node.Audio:
		return f.eachFile(ctx, p, shown, func(file comfyui.File) (node.Value, error) { return f.readSound(ctx, file) })
	case node.Video:
		return f.eachFile(ctx, p, shown, func(file comfyui.File) (node.Value, error) { return f.storeVideo(ctx, i, out, file) })
	default:
		return texts(out.Type, shown.Texts, p.list)
	}
}

// eachFile makes a value of each file: a list if the value may be one.
func (f *follower) eachFile(ctx context.Context, p exportedValue, shown comfyui.Output,
	read func(comfyui.File) (node.Value, error),
) (node.Value, error) {
	if !p.list && len(shown.Files) != 1 {
		return nil, cannotCross("the server returned a batch of %d values in place of one", len(shown.Files))
	}
	list := make(node.List, 0, len(shown.Files))
	for _, file := range shown.Files {
		value, err := read(file)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	if !p.list {
		return list[0], nil
	}
	return list, nil
}

// frameCounts reads the number of frames of each picture of a list. It returns nil if the texts are empty.
func frameCounts(shown []string) ([]int, error) {
	var counts []int
	for _, text := range shown {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server wrote %q for a number of frames", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// read returns the content of a file of a value, up to the number of bytes that a value may take in memory.
func (d *Driver) read(ctx context.Context, r *Run, f comfyui.File) ([]byte, error) {
	content, err := d.fetch(ctx, r.Server, f, d.maxValueBytes())
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	data, err := io.ReadAll(content)
	return data, tooLarge(err, f, min(d.maxValueBytes(), d.opts.MaxOutput))
}

// pictures reads the frames of an image or of a mask. For a list, sizes holds the number of frames of each picture;
// without sizes, each frame is one picture. Otherwise frames of one size form one batch.
func (d *Driver) pictures(ctx context.Context, r *Run, files []comfyui.File, mask, list bool, sizes []int) (node.Value, error) {
	engine := raster.Engine{MaxPixels: d.opts.MaxPixels}
	frames, err := d.frames(ctx, r, engine, files)
	if err != nil {
		return nil, err
	}
	var batches node.List
	for len(frames) > 0 {
		n := 1
		switch {
		case list && len(sizes) > len(batches):
			n = min(sizes[len(batches)], len(frames))
		case !list:
			for n < len(frames) && sameShape(frames[0], frames[n]) {
				n++
			}
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

// frames reads picture files. All of them together may have as many pixels as one value.
func (d *Driver) frames(ctx context.Context, r *Run, engine raster.Engine, files []comfyui.File) ([]*codec.Picture, error) {
	frames := make([]*codec.Picture, 0, len(files))
	var pixels int64
	for _, f := range files {
		content, err := d.fetch(ctx, r.Server, f, d.opts.MaxOutput)
		if err != nil {
			return nil, err
		}
		p, err := codec.Decode(ctx, engine, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return nil, err
		}
		if pixels += p.Image.Pixels(); pixels > d.opts.MaxPixels {
			return nil, fault.New(fault.Exhausted, fault.CodeValueTooLarge,
				"the pictures together have more than %d pixels, the limit for one value", d.opts.MaxPixels)
		}
		frames = append(frames, p)
	}
	return frames, nil
}

func sameShape(a, b *codec.Picture) bool {
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
			return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the server wrote %q for a value of type %s", text, kind)
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
