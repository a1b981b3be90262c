package raster_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestPicturesAreTurnedAsPillowDoes(t *testing.T) {
	t.Parallel()
	im := source(t, "turn_source")
	for _, degrees := range []float64{30, -77.5, 200.25, 45, 0.001, -0.4, 90, 180, 270} {
		got, err := raster.Engine{}.Turn(t.Context(), im, degrees)
		require.NoError(t, err)
		sameBytes(t, golden(t, "turn_"+strconv.FormatFloat(degrees, 'f', -1, 64)), got)
		full, err := raster.Engine{}.Turn(t.Context(), floated(t, im), degrees-720)
		require.NoError(t, err)
		require.Equal(t, []int{got.Height(), got.Width()}, []int{full.Height(), full.Width()})
	}
}

func TestRotationStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	im := source(t, "turn_source")
	_, err := raster.Engine{}.Turn(t.Context(), im, math.Inf(-1))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = raster.Engine{MaxPixels: im.Pixels() + 1}.Turn(t.Context(), im, 45)
	require.Equal(t, fault.CodePixelLimit, fault.CodeOf(err), "the corners need more pixels")
	same, err := raster.Engine{}.Turn(t.Context(), im, -360)
	require.NoError(t, err)
	require.Equal(t, im.Row8(nil, 0, 3), same.Row8(nil, 0, 3))
}
