package image

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Canny finds edges.
func Canny() *node.Class {
	return &node.Class{
		Name: "Canny", DisplayName: "Detect Edges (Canny)", Category: "image/filters", Essentials: "Image Tools",
		Module:      "comfy_extras.nodes_canny",
		Description: "Draws the edges of images white on black.", SearchAliases: []string{"edge detection", "outline"},
		Inputs: []node.Input{
			declare.Image("image", "The images."),
			declare.Stepped(declare.Number("low_threshold", 0.4, 0.01, 0.99, "How steep what goes on from an edge must be."), 0.01),
			declare.Stepped(declare.Number("high_threshold", 0.8, 0.01, 0.99, "How steep an edge must be."), 0.01),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(300),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, low, high := call.Image("image"), call.Float("low_threshold"), call.Float("high_threshold")
			if !(low > 0 && low <= high) {
				refusal := fault.New(fault.Invalid, fault.CodeInputType, "low_threshold %g must be positive and at most high_threshold %g", low, high)
				if low > high {
					refusal = refusal.Raising("kornia.core.exceptions.BaseError", "Invalid input thresholds. "+
						"low_threshold should be smaller than or equal to the high_threshold. Got: %g>%g", low, high)
				}
				return node.Result{}, refusal
			}
			if im.Channels() == 4 {
				return node.Result{}, needColors(im)
			}
			return declare.One(edges(ctx, im, low, high))
		},
	}
}

func edges(ctx context.Context, im *raster.Image, low, high float64) (*raster.Image, error) {
	w, h := im.Width(), im.Height()
	out := make([]uint8, 0, im.Pixels()*3)
	for f := range im.Frames() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		grey, err := greyPlane(im, f)
		if err != nil {
			return nil, err
		}
		steep := ridges(grey.blurred())
		for _, strong := range steep.tracked(float32(low), float32(high)) {
			v := uint8(0)
			if strong {
				v = 255
			}
			out = append(out, v, v, v)
		}
	}
	return raster.NewImage8(im.Frames(), h, w, 3, out)
}

// plane is one value for each pixel.
type plane struct {
	w, h int
	v    []float32
}

func newPlane(w, h int) plane { return plane{w, h, make([]float32, w*h)} }

// at returns a value. Beyond the edges, values repeat those of the edge.
func (p plane) at(x, y int) float32 {
	return p.v[min(max(y, 0), p.h-1)*p.w+min(max(x, 0), p.w-1)]
}

// blurReach is the reach of the blur on each side. The blur mirrors the picture at its edges, which needs more pixels
// than the reach.
const blurReach = 2

func greyPlane(im *raster.Image, frame int) (plane, error) {
	p := newPlane(im.Width(), im.Height())
	if p.w <= blurReach || p.h <= blurReach {
		return plane{}, raster.TooBlurred(im.Frames(), 1, p.h, p.w, blurReach)
	}
	for y := range p.h {
		row := im.Row(nil, frame, y)
		for x := range p.w {
			if im.Channels() == 1 {
				p.v[y*p.w+x] = row[x]
			} else {
				p.v[y*p.w+x] = luma(row[3*x:])
			}
		}
	}
	return p, nil
}

// kernel returns a Gaussian window of deviation 1.
func kernel() (k [2*blurReach + 1]float32) {
	var sum float32
	for i := range k {
		d := float64(i - blurReach)
		k[i] = float32(math.Exp(-d * d / 2))
		sum += k[i]
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

func (p plane) blurred() plane {
	across, out, k := newPlane(p.w, p.h), newPlane(p.w, p.h), kernel()
	for y := range p.h {
		for x := range p.w {
			var sum float32
			for i, weight := range k {
				sum += weight * p.v[y*p.w+raster.Mirror(x+i-blurReach, p.w)]
			}
			across.v[y*p.w+x] = sum
		}
	}
	for y := range p.h {
		for x := range p.w {
			var sum float32
			for i, weight := range k {
				sum += weight * across.v[raster.Mirror(y+i-blurReach, p.h)*p.w+x]
			}
			out.v[y*p.w+x] = sum
		}
	}
	return out
}

// directions are the offsets of the neighbours of a pixel, clockwise from the right.
var directions = [8][2]int{{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}}

// flatGradient is the gradient of a flat area: the root of a small number that is added to every square.
var flatGradient = float32(math.Sqrt(1e-6))

// ridges returns the gradient of a picture where it is larger than on both sides across the edge, and 0 elsewhere.
func ridges(p plane) plane {
	steep, toward := newPlane(p.w, p.h), make([]uint8, p.w*p.h)
	for y := range p.h {
		for x := range p.w {
			gx := p.at(x+1, y-1) - p.at(x-1, y-1) + 2*(p.at(x+1, y)-p.at(x-1, y)) + p.at(x+1, y+1) - p.at(x-1, y+1)
			gy := p.at(x-1, y+1) - p.at(x-1, y-1) + 2*(p.at(x, y+1)-p.at(x, y-1)) + p.at(x+1, y+1) - p.at(x+1, y-1)
			steep.v[y*p.w+x] = float32(math.Sqrt(float64(gx*gx + gy*gy + 1e-6)))
			toward[y*p.w+x] = uint8(int(math.RoundToEven(math.Atan2(float64(gy), float64(gx))*4/math.Pi))+8) % 8
		}
	}
	out := newPlane(p.w, p.h)
	for y := range p.h {
		for x := range p.w {
			i := y*p.w + x
			d := toward[i]
			if v := steep.v[i]; v > flatGradient && steep.isRidge(x, y, d) && steep.isRidge(x, y, (d+4)%8) {
				out.v[i] = v
			}
		}
	}
	return out
}

// isRidge reports whether the gradient of a pixel is larger than that of its neighbour in a direction. To the right and
// down it may be equal.
func (p plane) isRidge(x, y int, direction uint8) bool {
	nx, ny := x+directions[direction][0], y+directions[direction][1]
	other := flatGradient
	if nx >= 0 && nx < p.w && ny >= 0 && ny < p.h {
		other = p.v[ny*p.w+nx]
	}
	v := p.v[y*p.w+x]
	return v > other || v == other && (direction == 0 || direction == 2)
}

// tracked follows the edges: a gradient above low counts if it is connected to a gradient above high.
func (p plane) tracked(low, high float32) []bool {
	strong := make([]bool, len(p.v))
	var open []int
	for i, v := range p.v {
		if v > high {
			strong[i], open = true, append(open, i)
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, d := range directions {
			x, y := i%p.w+d[0], i/p.w+d[1]
			if x < 0 || x >= p.w || y < 0 || y >= p.h {
				continue
			}
			if j := y*p.w + x; !strong[j] && p.v[j] > low {
				strong[j], open = true, append(open, j)
			}
		}
	}
	return strong
}
