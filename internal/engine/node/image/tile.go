package image

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// maxOverlap is the largest overlap that an input may ask for.
	maxOverlap = 4096
	// maxTiles bounds the tiles of one image.
	maxTiles = 10_000
)

// SplitImageToTileList cuts images into tiles.
func SplitImageToTileList() *node.Class {
	return &node.Class{
		Name: "SplitImageToTileList", DisplayName: "Split Image into List of Tiles", Category: "image/batch", Module: moduleImages,
		Description: "Cuts images into tiles of one size that overlap.", SearchAliases: []string{"split image", "tile image"},
		Inputs: []node.Input{
			declare.Image("image", "The images."),
			declare.Count("tile_width", 1024, 64, declare.MaxSide, "The width of a tile."),
			declare.Count("tile_height", 1024, 64, declare.MaxSide, "The height of a tile."),
			declare.Count("overlap", 128, 0, maxOverlap, "How far tiles reach into each other."),
		},
		Outputs: []node.Output{{Type: node.Image, IsList: true}},
		Cost:    declare.PerPixel(40),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			t := tiling{width: call.Int("tile_width"), height: call.Int("tile_height"), overlap: call.Int("overlap")}
			places, err := t.places(im.Width(), im.Height())
			if err != nil {
				return node.Result{}, err
			}
			tiles := node.List{}
			for _, at := range places {
				tile, err := declare.Engine(call).Crop(ctx, im, at.x, at.y, t.width, t.height)
				if err != nil {
					return node.Result{}, err
				}
				tiles = append(tiles, tile)
			}
			return node.Result{Outputs: []node.Value{tiles}}, nil
		},
	}
}

// tiling is how a picture is cut into tiles.
type tiling struct{ width, height, overlap int }

type position struct{ x, y int }

// places returns the corners of the tiles of a picture, row by row. The last tile of each row and column ends at the
// edge of the picture.
func (t tiling) places(width, height int) ([]position, error) {
	if t.width < 1 || t.height < 1 || t.overlap < 0 { // linked values are not checked against the input's range
		return nil, fault.New(fault.Invalid, fault.CodePixelLimit, "a picture cannot be cut into tiles of %d × %d pixels with an overlap of %d",
			t.width, t.height, t.overlap)
	}
	across, down := offsets(width, t.width, t.overlap), offsets(height, t.height, t.overlap)
	if len(across)*len(down) > maxTiles {
		return nil, fault.New(fault.Exhausted, fault.CodePixelLimit, "the picture would have %d tiles; at most %d are allowed",
			len(across)*len(down), maxTiles)
	}
	var places []position
	for _, y := range down {
		for _, x := range across {
			places = append(places, position{x, y})
		}
	}
	return places, nil
}

// offsets returns where the tiles of one direction begin.
func offsets(length, tile, overlap int) (at []int) {
	step := max(1, round(max(float64(tile)*0.25, float64(tile)-float64(overlap))))
	for from := 0; from < length && len(at) <= maxTiles; from += step {
		end := min(from+tile, length)
		at = append(at, max(0, end-tile))
		if end >= length {
			break
		}
	}
	return at
}

// ImageMergeTileList joins tiles to one image.
func ImageMergeTileList() *node.Class {
	return &node.Class{
		Name: "ImageMergeTileList", DisplayName: "Merge List of Tiles to Image", Category: "image/batch", Module: moduleImages, InputIsList: true,
		Description:   "Puts tiles together that overlap. Where several do, each counts the more the nearer its middle is.",
		SearchAliases: []string{"tile image"},
		Inputs: []node.Input{
			declare.Image("image_list", "The tiles, row by row."),
			declare.Count("final_width", 1024, 64, 2*declare.MaxSide, "The width of the picture."),
			declare.Count("final_height", 1024, 64, 2*declare.MaxSide, "The height of the picture."),
			declare.Count("overlap", 128, 0, maxOverlap, "How far tiles reach into each other."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(100),
		Pixels: func(constants node.Args, upstream int64) int64 {
			w, wide := constants["final_width"].(int64)
			h, high := constants["final_height"].(int64)
			if !wide || !high {
				w, h = 2*declare.MaxSide, 2*declare.MaxSide
			}
			return max(upstream, w*h)
		},
		Run: runMerge,
	}
}

func runMerge(ctx context.Context, call *node.Call) (node.Result, error) {
	w, h, overlap := call.Int("final_width"), call.Int("final_height"), call.Int("overlap")
	var tiles []*raster.Image
	for i := range call.Lists["image_list"] {
		im := node.Element[*raster.Image](call, "image_list", i)
		if len(tiles) > 0 && (im.Channels() != tiles[0].Channels() || im.Frames() != tiles[0].Frames()) {
			return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType,
				"the tiles must all have the same size and the same number of channels")
		}
		tiles = append(tiles, im)
	}
	if len(tiles) == 0 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeEmptyBatch, "there are no tiles")
	}
	if err := declare.Engine(call).Fit(tiles[0].Frames(), h, w); err != nil {
		return node.Result{}, err
	}
	t := tiling{tiles[0].Width(), tiles[0].Height(), overlap}
	places, err := t.places(w, h)
	if err != nil {
		return node.Result{}, err
	}
	return declare.One(t.merge(ctx, tiles, places, w, h))
}

// merge adds up weighted tiles and divides by the sum of their weights.
func (t tiling) merge(ctx context.Context, tiles []*raster.Image, places []position, w, h int) (*raster.Image, error) {
	n, c := tiles[0].Frames(), tiles[0].Channels()
	sum, weights := make([]float32, n*h*w*c), make([]float32, h*w)
	across, down := t.weights(t.width), t.weights(t.height)
	for i := range min(len(places), len(tiles)) {
		tile, at := tiles[i], places[i]
		for y := range min(t.height, tile.Height(), h-at.y) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			columns := min(t.width, tile.Width(), w-at.x)
			for x := range columns {
				weights[(at.y+y)*w+at.x+x] += down[y] * across[x]
			}
			for f := range n {
				row, to := tile.Row(nil, f, y), sum[((f*h+at.y+y)*w+at.x)*c:]
				for k := range columns * c {
					to[k] += row[k] * (down[y] * across[k/c])
				}
			}
		}
	}
	for i := range sum {
		if weight := weights[i/c%(h*w)]; weight != 0 {
			sum[i] /= weight
		}
	}
	return raster.NewImage(n, h, w, c, sum)
}

// weights returns weights that rise from the edges of a tile to its middle, unless tiles do not overlap.
func (t tiling) weights(length int) []float32 {
	out := make([]float32, length)
	for i := range out {
		out[i] = 1
		if t.overlap > 0 {
			at := 0.0
			if length > 1 {
				at = float64(i) / float64(length-1)
			}
			out[i] = max(float32(math.Sin(math.Pi*at)), 1e-5)
		}
	}
	return out
}
