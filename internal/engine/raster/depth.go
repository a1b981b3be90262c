package raster

// unit maps an 8-bit sample to its float, computed as a float32 division.
var unit = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(i) / 255
	}
	return t
}()

// expand converts 8-bit samples to floats.
func expand(dst []float32, src []uint8) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = unit[v]
	}
}

// quantize converts floats to 8-bit samples: 255·x in float32, clipped and truncated. NaN becomes 0. It inverts expand
// exactly.
func quantize(dst []uint8, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		v *= 255
		switch {
		case v >= 255:
			dst[i] = 255
		case v > 0:
			dst[i] = uint8(int32(v))
		default:
			dst[i] = 0
		}
	}
}

// to8 returns the grid in 8-bit form: itself, or a quantised copy.
func (g *grid) to8() grid {
	if g.u8 != nil {
		return *g
	}
	out := byteGrid(g.n, g.h, g.w, g.c)
	quantize(out.u8, g.f32)
	return out
}

// toFloat returns the grid in float form: itself, or an expanded copy.
func (g *grid) toFloat() grid {
	if g.f32 != nil {
		return *g
	}
	out := g.like()
	expand(out.f32, g.u8)
	return out
}

// EightBit returns the image with 8-bit samples, clipped and truncated as when saving: itself, or a copy.
func (im *Image) EightBit() *Image {
	if im.u8 != nil {
		return im
	}
	return &Image{im.to8()}
}

// Grey returns the mask as a view with one channel.
func (m *Mask) Grey() *Image { return &Image{m.grid} }

// AsMask returns an image of one channel as a mask.
func (im *Image) AsMask() *Mask { return &Mask{im.toFloat()} }
