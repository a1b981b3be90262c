package dataset

import (
	"context"
	"math"
	"math/bits"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/random"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// group is a class that takes all images of a list at once and returns some of them.
func group(
	c node.Class, choose func(ctx context.Context, call *node.Call, frames []*raster.Image) ([]*raster.Image, error),
) *node.Class {
	c.Module, c.Experimental, c.InputIsList = module, true, true
	c.Inputs = append([]node.Input{declare.Image("images", "The images.")}, c.Inputs...)
	c.Outputs = []node.Output{{Type: node.Image, Name: "images", IsList: true}}
	c.Cost = declare.PerPixel(10)
	c.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		chosen, err := choose(ctx, call, call.Frames("images"))
		if err != nil {
			return node.Result{}, err
		}
		list := node.List{}
		for _, im := range chosen {
			list = append(list, im)
		}
		return node.Result{Outputs: []node.Value{list}}, nil
	}
	return &c
}

// MergeImageLists makes one list of single images.
func MergeImageLists() *node.Class {
	return group(node.Class{
		Name: "MergeImageLists", DisplayName: "Merge Image Lists (DEPRECATED)", Category: "image/batch", Deprecated: true,
		Description: "Makes one list of single images.", SearchAliases: []string{"list", "merge list"},
	}, func(_ context.Context, _ *node.Call, frames []*raster.Image) ([]*raster.Image, error) {
		return frames, nil
	})
}

// ShuffleDataset changes the order of images; the seed determines the order.
func ShuffleDataset() *node.Class {
	return group(node.Class{
		Name: "ShuffleDataset", DisplayName: "Shuffle Images List", Category: "image/batch",
		Description: "Puts the images of a list into another order, which the seed chooses.", SearchAliases: []string{"shuffle", "randomize"},
		Inputs: []node.Input{seed()},
	}, func(_ context.Context, call *node.Call, frames []*raster.Image) ([]*raster.Image, error) {
		seed := call.Int("seed")
		shuffled := make([]*raster.Image, len(frames))
		for i, from := range random.ForNumPy(uint64(seed)).Permutation(len(frames)) {
			shuffled[i] = frames[from]
		}
		return shuffled, nil
	})
}

// ImageDeduplication leaves out images that look like an earlier one.
func ImageDeduplication() *node.Class {
	return group(node.Class{
		Name: "ImageDeduplication", DisplayName: "Deduplicate Images", Category: "image/batch",
		Description:   "Leaves out images that look like an earlier one: an 8 × 8 picture says of each which parts are brighter than its mean.",
		SearchAliases: []string{"deduplicate", "remove duplicates"},
		Inputs: []node.Input{declare.Advanced(declare.Number("similarity_threshold", 0.95, 0, 1,
			"The share of equal parts from which on two images are the same."))},
	}, func(ctx context.Context, call *node.Call, frames []*raster.Image) ([]*raster.Image, error) {
		threshold := call.Float("similarity_threshold")
		var kept []*raster.Image
		var hashes []uint64
	images:
		for _, im := range frames {
			hash, err := brightParts(ctx, declare.Engine(call), im)
			if err != nil {
				return nil, err
			}
			for _, other := range hashes {
				if 1-float64(bits.OnesCount64(hash^other))/64 >= threshold {
					continue images
				}
			}
			kept, hashes = append(kept, im), append(hashes, hash)
		}
		return kept, nil
	})
}

// hashSide is the side of the reduced picture by which images are compared.
const hashSide = 8

// brightParts returns, for each of 64 parts of an image, whether the part is brighter than the image's mean.
func brightParts(ctx context.Context, e raster.Engine, im *raster.Image) (hash uint64, err error) {
	small, err := e.Resize(ctx, im.EightBit(), hashSide, hashSide, raster.Lanczos)
	if err != nil {
		return 0, err
	}
	var grey [hashSide * hashSide]int
	sum := 0
	for i := range grey {
		grey[i] = luma(small.Row8(nil, 0, i/hashSide)[i%hashSide*small.Channels():][:small.Channels()])
		sum += grey[i]
	}
	for i, v := range grey {
		if v*len(grey) > sum {
			hash |= 1 << i
		}
	}
	return hash, nil
}

// luma returns the brightness of a pixel, as Pillow rounds it.
func luma(pixel []uint8) int {
	if len(pixel) < 3 {
		return int(pixel[0])
	}
	return (int(pixel[0])*19595 + int(pixel[1])*38470 + int(pixel[2])*7471 + 1<<15) >> 16
}

// ImageGrid puts images into cells of one picture.
func ImageGrid() *node.Class {
	return &node.Class{
		Name: "ImageGrid", DisplayName: "Make Image Grid", Category: "image/batch", Module: module, Experimental: true, InputIsList: true,
		Description: "Puts images into the cells of a grid, row by row.", SearchAliases: []string{"grid", "collage"},
		Inputs: []node.Input{
			declare.Image("images", "The images."),
			declare.Count("columns", 4, 1, 20, "How many cells a row has."),
			declare.Advanced(declare.Count("cell_width", 256, 32, 2048, "The width of a cell.")),
			declare.Advanced(declare.Count("cell_height", 256, 32, 2048, "The height of a cell.")),
			declare.Advanced(declare.Count("padding", 4, 0, 50, "The black gap between cells.")),
		},
		Outputs: declare.Images("images"),
		Cost:    declare.PerPixel(resizeNanos),
		Pixels:  func(_ node.Args, upstream int64) int64 { return max(upstream, 20*2048*2048) },
		Run:     runGrid,
	}
}

func runGrid(ctx context.Context, call *node.Call) (node.Result, error) {
	frames := call.Frames("images")
	g := grid{columns: call.Int("columns"), width: call.Int("cell_width"), height: call.Int("cell_height"), gap: call.Int("padding")}
	if len(frames) == 0 || g.columns < 1 || g.width < 1 || g.height < 1 || g.gap < 0 {
		return node.Result{}, g.refusal(len(frames))
	}
	return declare.One(g.compose(ctx, declare.Engine(call), frames))
}

type grid struct{ columns, width, height, gap int }

// refusal is the reason why a grid has no pixels: linked values are not checked against the range of their input.
func (g grid) refusal(images int) error {
	empty := fault.New(fault.Invalid, fault.CodeEmptyBatch, "a grid needs at least one image, one column, and cells of at least one pixel")
	switch {
	case images == 0:
		return empty.Raising("ValueError", "Cannot create grid from empty image list")
	case g.columns == 0:
		return empty.Raising("ZeroDivisionError", "integer division or modulo by zero")
	}
	rows := int(math.Floor(float64(images+g.columns-1) / float64(g.columns)))
	if g.columns*g.width+(g.columns-1)*g.gap < 0 || rows*g.height+(rows-1)*g.gap < 0 {
		return empty.Raising("ValueError", "Width and height must be >= 0")
	}
	if g.width < 1 || g.height < 1 {
		return empty.Raising("ValueError", "height and width must be > 0")
	}
	return empty
}

func (g grid) compose(ctx context.Context, e raster.Engine, frames []*raster.Image) (*raster.Image, error) {
	const most = 1 << 20 // so that sums do not overflow
	if g.columns > most || g.width > most || g.height > most || g.gap > most {
		return nil, fault.New(fault.Exhausted, fault.CodePixelLimit, "the grid is too large")
	}
	rows := (len(frames) + g.columns - 1) / g.columns
	width, height := g.columns*g.width+(g.columns-1)*g.gap, rows*g.height+(rows-1)*g.gap
	if err := e.Fit(1, height, width); err != nil {
		return nil, err
	}
	pix := make([]uint8, width*height*3)
	for i, im := range frames {
		cell, err := e.Resize(ctx, im.EightBit(), g.width, g.height, raster.Lanczos)
		if err != nil {
			return nil, err
		}
		cell = cell.WithChannels(3)
		x, y := i%g.columns*(g.width+g.gap), i/g.columns*(g.height+g.gap)
		for row := range g.height {
			copy(pix[((y+row)*width+x)*3:], cell.Row8(nil, 0, row))
		}
	}
	return raster.NewImage8(1, height, width, 3, pix)
}
