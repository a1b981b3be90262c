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
	}, func(ctx context.Context, e raster.Engine, im *raster.Image, in *node.Reader) (*raster.Image, error) {
		mean, deviation := float32(in.Float("mean")), float32(in.Float("std"))
		return adjusted(ctx, e, im, in, func(v float32) float32 { return (v - mean) / deviation })
	})
}

// AdjustBrightness multiplies values.
func AdjustBrightness() *node.Class {
	return perImage(node.Class{
		Name: "AdjustBrightness", DisplayName: "Adjust Brightness", Category: "image/adjustments",
		Description: "Multiplies every value by a factor.", SearchAliases: []string{"brightness"},
		Inputs: []node.Input{declare.Number("factor", 1, 0, 2, "Above 1 is brighter, below 1 darker.")},
	}, func(ctx context.Context, e raster.Engine, im *raster.Image, in *node.Reader) (*raster.Image, error) {
		factor := float32(in.Float("factor"))
		return adjusted(ctx, e, im, in, func(v float32) float32 { return min(max(v*factor, 0), 1) })
	})
}

// AdjustContrast moves values away from the middle or towards it.
func AdjustContrast() *node.Class {
	return perImage(node.Class{
		Name: "AdjustContrast", DisplayName: "Adjust Contrast", Category: "image/adjustments",
		Description: "Multiplies the distance of every value from the middle by a factor.", SearchAliases: []string{"contrast"},
		Inputs: []node.Input{declare.Number("factor", 1, 0, 2, "Above 1 is more contrast, below 1 less.")},
	}, func(ctx context.Context, e raster.Engine, im *raster.Image, in *node.Reader) (*raster.Image, error) {
		factor := float32(in.Float("factor"))
		return adjusted(ctx, e, im, in, func(v float32) float32 { return min(max((v-0.5)*factor+0.5, 0), 1) })
	})
}

func adjusted(ctx context.Context, e raster.Engine, im *raster.Image, in *node.Reader,
	change func(float32) float32,
) (*raster.Image, error) {
	if err := in.Err(); err != nil {
		return nil, err
	}
	return e.Map(ctx, im, change)
}
