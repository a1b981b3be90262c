package logic

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ratio is an aspect ratio that ResolutionSelector offers.
type ratio struct {
	label         string
	width, height float64
}

func ratios() []ratio {
	return []ratio{
		{"1:1 (Square)", 1, 1},
		{"2:3 (Portrait Photo)", 2, 3},
		{"3:2 (Photo)", 3, 2},
		{"3:4 (Portrait Standard)", 3, 4},
		{"4:3 (Standard)", 4, 3},
		{"9:16 (Portrait Widescreen)", 9, 16},
		{"16:9 (Widescreen)", 16, 9},
		{"21:9 (Ultrawide)", 21, 9},
	}
}

// megapixel is the unit in which sizes are chosen.
const megapixel = 1024 * 1024

// ResolutionSelector computes a width and height from a ratio and a size.
func ResolutionSelector() *node.Class {
	labels := []string{}
	for _, r := range ratios() {
		labels = append(labels, r.label)
	}
	return &node.Class{
		Name: "ResolutionSelector", DisplayName: "Resolution Selector", Category: "utilities", Module: "comfy_extras.nodes_resolution",
		Description:   "Computes the width and height of a picture from its ratio and its size in megapixels of 1024 × 1024.",
		SearchAliases: []string{"aspect ratio", "dimensions", "megapixels", "size"},
		Inputs: []node.Input{
			{Name: "aspect_ratio", Type: node.Combo, Options: labels, Default: labels[0], Tooltip: "Width to height."},
			{Name: "megapixels", Type: node.Float, Default: 1.0, Min: 0.1, Max: 16.0, Step: 0.1, Tooltip: "How many pixels, in 1024 × 1024."},
			{Name: "multiple", Type: node.Int, Default: 8, Min: 8, Max: 128, Step: 4, Advanced: true, Tooltip: "What both sides are a multiple of."},
		},
		Outputs: []node.Output{{Type: node.Int, Name: "width"}, {Type: node.Int, Name: "height"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			label, size, multiple := call.String("aspect_ratio"), call.Float("megapixels"), call.Int("multiple")
			if !(size > 0 && size <= 1<<20) || multiple < 1 || multiple > 1<<20 { // linked values are not checked against the input's range
				return node.Result{}, fault.New(fault.Invalid, fault.CodeNumber, "megapixels %g or multiple %d is out of range", size, multiple)
			}
			for _, r := range ratios() {
				if r.label == label {
					scale := math.Sqrt(size * megapixel / (r.width * r.height))
					return node.Result{Outputs: []node.Value{stepped(r.width*scale, multiple), stepped(r.height*scale, multiple)}}, nil
				}
			}
			return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "unknown aspect ratio %.64q", label)
		},
	}
}

// stepped rounds a length to a multiple, half to even.
func stepped(length float64, multiple int) int64 {
	return int64(math.RoundToEven(length/float64(multiple))) * int64(multiple)
}
