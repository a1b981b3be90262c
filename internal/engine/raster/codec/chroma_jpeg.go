package codec

import (
	"context"
	"image"
	"math"
)

// convertJPEG fills rgb from the planes of a JPEG file as ffmpeg's scaler does, within 1 of 255. Samples of chroma stand
// for two pixels side by side. Of 4:2:0 they stand for two rows too if the height is even, else rows between are mixed.
func convertJPEG(ctx context.Context, im *image.YCbCr, rgb []uint8) error {
	o, known := order(im.SubsampleRatio)
	if !known || o.down && !o.across { // ratios that hardly occur
		return chromaJPEG.convert(ctx, im, rgb)
	}
	w, h := im.Rect.Dx(), im.Rect.Dy()
	cb, cr := make([]float32, w), make([]float32, w)
	pixel := exactRGB
	switch {
	case o.across && h%2 == 0:
		pixel = truncatedRGB
	case o.across:
		pixel = raisedRGB
	}
	for y := range h {
		if y%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		chromaRow(cb, im.Cb, im.CStride, y, h, o)
		chromaRow(cr, im.Cr, im.CStride, y, h, o)
		luma, dst := im.Y[y*im.YStride:][:w], rgb[3*y*w:][:3*w]
		for x, v := range luma {
			pixel(dst[3*x:3*x+3], float32(v), cb[x], cr[x])
		}
	}
	return nil
}

// chromaRow is the chroma of a row of pixels around 0.
func chromaRow(dst []float32, plane []uint8, stride, y, h int, o chromaOrder) {
	upper, lower, share := y, y, float32(0)
	if o.down {
		rows := (h + 1) / 2
		upper, lower = y/2, y/2
		if h%2 == 1 {
			at := (float64(y)+0.5)*float64(rows)/float64(h) - 0.5
			first := math.Floor(at)
			share = float32(at - first)
			upper, lower = max(int(first), 0), min(int(first)+1, rows-1)
		}
	}
	for x := range dst {
		i := x
		if o.across {
			i = x / 2
		}
		dst[x] = float32(plane[upper*stride+i])*(1-share) + float32(plane[lower*stride+i])*share - 128
	}
}

func clipped(v float32) uint8 { return uint8(min(max(v, 0), 255)) }

func floor(v float32) float32 { return float32(math.Floor(float64(v))) }

// exactRGB rounds to the nearest.
func exactRGB(dst []uint8, y, cb, cr float32) {
	dst[0] = clipped(floor(y + 1.402*cr + 0.5))
	dst[1] = clipped(floor(y - 0.344136*cb - 0.714136*cr + 0.5))
	dst[2] = clipped(floor(y + 1.772*cb + 0.5))
}

// truncatedRGB cuts off what each term has behind the point.
func truncatedRGB(dst []uint8, y, cb, cr float32) {
	dst[0] = clipped(y + floor(1.402*cr))
	dst[1] = clipped(y + floor(-0.344136*cb) + floor(-0.714136*cr))
	dst[2] = clipped(y + floor(1.772*cb))
}

// raisedRGB rounds green and blue up more often than down.
func raisedRGB(dst []uint8, y, cb, cr float32) {
	dst[0] = clipped(floor(y + 1.402*cr + 0.5))
	dst[1] = clipped(floor(y - 0.344136*cb - 0.714136*cr + 1))
	dst[2] = clipped(floor(y + 1.772*cb + 0.9))
}
