package dataset

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// NormalizeImages moves values by a mean and stretches them by a deviation.
func NormalizeImages() *node.Class {
	return perImage(node.Class{
		Name: "NormalizeImages", DisplayName: "Normalize Image Colors", Category: "image/color",
		Description: "Subtracts a mean from every value and divides by a deviation.", SearchAliases: []string{"normalize"},
		Inputs: []node.Input{
			declare.Advanced(declare.Number("mean", 0.5, 0, 1, "What is subtracted.")),
			declare.Advanced(declare.Number("std", 0.5, 0.001, 1, "What is divided by.")),
		},
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		mean, deviation := float32(call.Float("mean")), float32(call.Float("std"))
		return declare.Engine(call).Map(ctx, im, func(v float32) float32 { return (v - mean) / deviation })
	})
}

// AdjustBrightness multiplies values.
func AdjustBrightness() *node.Class {
	return perImage(node.Class{
		Name: "AdjustBrightness", DisplayName: "Adjust Brightness", Category: "image/adjustments",
		Description: "Multiplies every value by a factor.", SearchAliases: []string{"brightness"},
		Inputs: []node.Input{declare.Number("factor", 1, 0, 2, "Above 1 is brighter, below 1 darker.")},
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		factor := float32(call.Float("factor"))
		return declare.Engine(call).Map(ctx, im, func(v float32) float32 { return min(max(v*factor, 0), 1) })
	})
}

// AdjustContrast moves values away from the middle or towards it.
func AdjustContrast() *node.Class {
	return perImage(node.Class{
		Name: "AdjustContrast", DisplayName: "Adjust Contrast", Category: "image/adjustments",
		Description: "Multiplies the distance of every value from the middle by a factor.", SearchAliases: []string{"contrast"},
		Inputs: []node.Input{declare.Number("factor", 1, 0, 2, "Above 1 is more contrast, below 1 less.")},
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		factor := float32(call.Float("factor"))
		return declare.Engine(call).Map(ctx, im, func(v float32) float32 { return min(max((v-0.5)*factor+0.5, 0), 1) })
	})
}
