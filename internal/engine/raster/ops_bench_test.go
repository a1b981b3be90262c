package raster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

func BenchmarkLayersAndMasks(b *testing.B) {
	pix := make([]uint8, 1024*1024*4)
	for i := range pix {
		pix[i] = uint8(i * i >> 7)
	}
	im, err := raster.NewImage8(1, 1024, 1024, 4, pix)
	require.NoError(b, err)
	e := raster.Engine{}
	mask, err := e.Channel(b.Context(), im, 3)
	require.NoError(b, err)
	l := raster.Layer{Image: im, Mask: mask}
	for name, op := range map[string]func() error{
		"morph 3":    func() error { _, err := e.Morph(b.Context(), im, "top_hat", 3); return err },
		"morph 999":  func() error { _, err := e.Morph(b.Context(), im, "gradient", 999); return err },
		"grow 10":    func() error { _, err := e.Grow(b.Context(), mask, 10, true); return err },
		"grow 10 sq": func() error { _, err := e.Grow(b.Context(), mask, 10, false); return err },
		"duff":       func() error { _, _, err := e.PorterDuff(b.Context(), l, l, "OVERLAY"); return err },
		"outpaint":   func() error { _, _, err := e.Outpaint(b.Context(), im, raster.Margins{Left: 64}, 40); return err },
		"color":      func() error { _, err := e.MatchColor(b.Context(), im, 77); return err },
		"join":       func() error { _, err := e.JoinAlpha(b.Context(), im, mask); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, op())
			}
		})
	}
}
