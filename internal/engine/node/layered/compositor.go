package layered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// layerCost is the cost of a pixel of a layer in nanoseconds: the layer is resized, rotated, mixed and written to a
// file.
const layerCost = 800

// assumedSide is the largest side of a canvas that estimates assume; larger ones are rare.
const assumedSide = 4096

// ImageCompositor composes layers to one picture.
func ImageCompositor() *node.Class {
	return &node.Class{
		Name: "ImageCompositor", DisplayName: "Create Layered Image", Category: "image", Module: module,
		Experimental: true, OutputNode: true, Intermediate: true,
		Description:   "Composes layers to one picture: as they are stacked, or as the editor saved it for the same layers.",
		SearchAliases: []string{"compositor", "composite", "layer", "layers", "layer editor", "psd"},
		Inputs: append([]node.Input{
			{Name: "layers", Type: node.Layers, Tooltip: "The layers. Without a canvas of their own the picture is as large as they reach."},
			{Name: "compositor", Type: "COMPOSITOR", Default: map[string]any{}, Socketless: true, Tooltip: "The composition that the editor saved."},
		}, image.HiddenMetadata()...),
		Outputs: []node.Output{
			{Type: node.Image, Tooltip: "The picture, with alpha where something is seen through it."},
			{Type: node.Mask, Tooltip: "Where the picture is transparent."},
		},
		Cost:   declare.PerPixel(layerCost * layers.MaxLayers),
		Pixels: func(_ node.Args, upstream int64) int64 { return max(upstream, assumedSide*assumedSide) },
		Run:    runCompositor,
	}
}

// picture is a frame of a layer, ready to be placed.
type picture struct {
	layers.Layer // its width and height are set
	rounded      *raster.Image
	fingerprint  string
}

func runCompositor(ctx context.Context, call *node.Call) (node.Result, error) {
	stack := call.Layers("layers")
	kept, err := parseSaved(call.Args["compositor"])
	if err != nil {
		return node.Result{}, err
	}
	if n := stack.Frames(); n > layers.MaxLayers {
		return node.Result{}, fault.New(fault.Exhausted, fault.CodeListTooLong, "a picture has %d layers; at most %d are allowed", n,
			layers.MaxLayers)
	}
	e := declare.Engine(call)
	pictures, files, err := picturesOf(ctx, call, e, stack)
	if err != nil {
		return node.Result{}, err
	}
	fingerprints := make([]string, len(pictures))
	for i, p := range pictures {
		fingerprints[i] = p.fingerprint
	}
	usable := len(pictures) > 0 && kept.isFor(fingerprints)
	if !usable {
		kept = stackedUp(stack.Canvas, pictures)
	}
	im, mask, err := composed(ctx, e, kept, pictures)
	if err != nil {
		return node.Result{}, err
	}
	shown, err := image.ShowAs(ctx, call, im, "ComfyUI", len(files))
	if err != nil {
		return node.Result{}, err
	}
	ui := map[string][]any{
		"images": shown, "animated": {false}, "compositor_layers": files, "compositor_inputs": asAny(fingerprints),
		"compositor_bboxes": shownPositions(pictures),
	}
	if !usable && provided(call.Args["compositor"]) {
		ui["compositor_state_stale"] = []any{true}
	}
	return node.Result{Outputs: []node.Value{im, mask}, UI: ui}, nil
}

func asAny(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// picturesOf returns the frames of all layers, the lowest first, and the files that show them.
func picturesOf(ctx context.Context, call *node.Call, e raster.Engine, stack *layers.Stack) (pictures []picture, files []any, err error) {
	files = []any{}
	inOrder := slices.SortedStableFunc(slices.Values(stack.Layers), func(a, b layers.Layer) int { return cmp.Compare(a.Z, b.Z) })
	for _, layer := range inOrder {
		if layer.Width <= 0 {
			layer.Width = layer.Image.Width()
		}
		if layer.Height <= 0 {
			layer.Height = layer.Image.Height()
		}
		for i := range layer.Image.Frames() {
			mask, err := layers.MaskFrame(ctx, layer.Mask, i)
			if err != nil {
				return nil, nil, err
			}
			shown, err := layers.Shown(ctx, e, layer.Image.Frame(i), mask)
			if err != nil {
				return nil, nil, err
			}
			file, err := image.ShowAs(ctx, call, shown, "ComfyUI", len(files))
			if err != nil {
				return nil, nil, err
			}
			p := picture{Layer: layer}
			if p.rounded, err = layers.Rounded(shown); err != nil {
				return nil, nil, err
			}
			p.fingerprint = p.identity()
			pictures, files = append(pictures, p), append(files, file...)
		}
	}
	return pictures, files, nil
}

// identity returns the id by which the editor identifies the picture: a digest of its samples and its position,
// written as Python writes them.
func (p picture) identity() string {
	h := sha256.New()
	im := p.rounded
	h.Write(fmt.Appendf(nil, "(1, %d, %d, %d)", im.Height(), im.Width(), p.Image.Channels()))
	var alphas []byte
	for y := range im.Height() {
		row := im.Row8(nil, 0, y)
		if im.Channels() == 3 {
			h.Write(row)
			continue
		}
		for x := 0; x < len(row); x += 4 {
			h.Write(row[x : x+3])
			alphas = append(alphas, row[x+3])
		}
	}
	h.Write(alphas)
	place := []any{
		int64(p.X), int64(p.Y), int64(p.Width), int64(p.Height), p.Rotation, p.Opacity, p.Mode, true, p.FlipH, p.FlipV,
	}
	texts := make([]string, len(place))
	for i, value := range place {
		texts[i] = python.Repr(value)
	}
	h.Write([]byte("(" + strings.Join(texts, ", ") + ")"))
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// stackedUp returns the composition of pictures at their own positions. Without a canvas, it is large enough for all
// of them.
func stackedUp(canvas layers.Size, pictures []picture) *saved {
	s := &saved{width: 1, height: 1}
	for _, p := range pictures {
		right, bottom := layers.Placement{
			X: float64(p.X), Y: float64(p.Y), Width: float64(p.Width), Height: float64(p.Height), Rotation: p.Rotation,
		}.Reach()
		s.width, s.height = max(s.width, right), max(s.height, bottom)
		s.entries = append(s.entries, map[string]any{
			"opacity": p.Opacity, "blend": p.Mode, "flipH": p.FlipH, "flipV": p.FlipV,
			"transform": map[string]any{"x": int64(p.X), "y": int64(p.Y), "w": int64(p.Width), "h": int64(p.Height), "rotation": p.Rotation},
		})
	}
	if canvas != (layers.Size{}) {
		s.width, s.height = float64(canvas.Width), float64(canvas.Height)
	}
	return s
}

// emptySide is the side of the black picture that results if there are no layers.
const emptySide = 64

// composed returns the picture and its transparency as a mask.
func composed(ctx context.Context, e raster.Engine, s *saved, pictures []picture) (im *raster.Image, mask *raster.Mask, err error) {
	c := layers.Composition{Width: s.width, Height: s.height, Ground: s.background}
	order := s.order
	if order == nil {
		for i := range pictures {
			order = append(order, i)
		}
	}
	for _, i := range order {
		p, visible := placement(s.entries[i], pictures[i].rounded.Width(), pictures[i].rounded.Height())
		if visible {
			c.Layers = append(c.Layers, layers.Placed{Picture: pictures[i].rounded, Placement: p})
		}
	}
	if len(pictures) == 0 {
		im, err = e.Solid(ctx, 1, emptySide, emptySide, []uint8{0, 0, 0})
	} else {
		im, err = c.Image(ctx, e)
	}
	if err != nil {
		return nil, nil, err
	}
	_, mask, err = e.SplitAlpha(ctx, im)
	return im, mask, err
}

// shownPositions returns the positions of the layers for the editor.
func shownPositions(pictures []picture) []any {
	places := make([]any, len(pictures))
	for i, p := range pictures {
		var name any
		if p.Name != "" {
			name = p.Name
		}
		places[i] = map[string]any{
			"x": p.X, "y": p.Y, "width": p.Width, "height": p.Height, "rotation": node.Number(p.Rotation), "name": name,
			"visible": true, "opacity": node.Number(p.Opacity), "blend": p.Mode, "flipH": p.FlipH, "flipV": p.FlipV,
		}
	}
	return places
}
