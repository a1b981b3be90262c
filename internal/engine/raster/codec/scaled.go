package codec

import (
	"context"
	"image"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// pixels is the form in which ComfyUI's library holds the pixels of a file before they become floats.
type pixels uint8

const (
	byteColors   pixels = iota // RGB, which is divided by 255
	packedColors               // RGB in another order, which is scaled as if it were YUV
	greyLevels                 // brightness
	planarColors               // YUV with chroma of half the size
)

// Load is Decode as LoadImage of ComfyUI does it. The scaler of its library converts most kinds of pixels to floats through YUV
// with fewer bits than a float has, so that white is 255 of 256 and colours differ by up to 1 of 255.
func Load(ctx context.Context, e raster.Engine, r io.Reader) (*Picture, error) {
	return decode(ctx, e, r, (*frames).scale)
}

// scale converts bytes to floats as the scaler does.
func (f *frames) scale(ctx context.Context, l layout) error {
	n := f.width * f.height
	if l.pixels == planarColors && f.planes == nil { // a frame that is smaller than its picture was drawn as RGB
		l.pixels = byteColors
	}
	if l.pixels == byteColors || f.deepRGB != nil || n == 0 {
		return nil
	}
	if f.alpha != nil || l.clear {
		f.deepAlpha = make([]float32, len(f.rgb)/3)
		for i := range f.deepAlpha {
			f.deepAlpha[i] = scaledAlpha(255)
			if f.alpha != nil {
				f.deepAlpha[i] = scaledAlpha(f.alpha[i])
			}
		}
	}
	f.deepRGB = make([]float32, len(f.rgb))
	if l.pixels == planarColors {
		return scalePlanes(ctx, f.deepRGB, f.planes)
	}
	for i := 0; i < len(f.rgb); i += 3 {
		if i%(3<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from, to := f.rgb[i:i+3], f.deepRGB[i:i+3]
		if l.pixels == greyLevels {
			to[0] = scaledGrey(from[0])
			to[1], to[2] = to[0], to[0]
		} else {
			scaleColor(to, int(from[0]), int(from[1]), int(from[2]))
		}
	}
	return nil
}

// Fixed points of the scaler: samples of 19 bits, and sums of them whose weights have 12 bits.
const (
	sampleMost  = 1<<19 - 1
	byteToWide  = 11
	wideOne     = 1 << downShift
	wideDrop    = 14
	lumaOffset  = 1 << 30
	chromaZero  = middle << 23
	outputMost  = 1<<16 - 1
	outputHalf  = 1 << 15
	outputRound = 1<<13 - 1<<29
)

// The matrix of BT.601 from 15 bits of bytes to studio YUV, and from sums of that to 16 bits.
const (
	lumaByRed, lumaByGreen, lumaByBlue = 8414, 16519, 3208
	cbByRed, cbByGreen, cbByBlue       = -4865, -9528, 14392
	crByRed, crByGreen, crByBlue       = 14392, -12061, -2332
	matrixShift                        = 9
	lumaBase, chromaBase               = 32<<14 + 1<<8, 256<<14 + 1<<8
	matrixToWide                       = 5

	studioBlack, studioLuma      = 8192, 9539
	fullLuma                     = 8192
	redByCrWide, blueByCbWide    = 13075, 16525
	greenByCrWide, greenByCbWide = -6660, -3209
)

// scaleColor converts a pixel through YUV.
func scaleColor(dst []float32, r, g, b int) {
	wide := func(v int) int { return min(v>>matrixShift<<matrixToWide, sampleMost) * wideOne }
	wideToFloat(dst,
		wide(lumaByRed*r+lumaByGreen*g+lumaByBlue*b+lumaBase),
		wide(cbByRed*r+cbByGreen*g+cbByBlue*b+chromaBase),
		wide(crByRed*r+crByGreen*g+crByBlue*b+chromaBase))
}

// wideToFloat converts sums of studio YUV.
func wideToFloat(dst []float32, luma, cb, cr int) {
	y := ((luma-lumaOffset)>>wideDrop+1<<16-studioBlack)*studioLuma + outputRound
	u, v := (cb-chromaZero)>>wideDrop, (cr-chromaZero)>>wideDrop
	dst[0] = outputFloat(y + v*redByCrWide)
	dst[1] = outputFloat(y + v*greenByCrWide + u*greenByCbWide)
	dst[2] = outputFloat(y + u*blueByCbWide)
}

func outputFloat(v int) float32 {
	const unit = float32(1) / outputMost
	return float32(min(max(v>>wideDrop+outputHalf, 0), outputMost)) * unit
}

// scaledGrey converts brightness of the full range.
func scaledGrey(v uint8) float32 {
	luma := min(int(v)<<byteToWide, sampleMost) * wideOne
	return outputFloat(((luma-lumaOffset)>>wideDrop+1<<16)*fullLuma + outputRound)
}

func scaledAlpha(v uint8) float32 {
	const unit, half = float32(1) / outputMost, 0x20002000
	a := (min(int(v)<<byteToWide, sampleMost)*wideOne-lumaOffset)>>1 + half
	return float32(min(max(a, 0), 1<<30-1)>>wideDrop) * unit
}

// widthStep is the multiple of the width to which ComfyUI pads pictures, by repeating their edges, before they are scaled.
const widthStep = 32

// scalePlanes converts YUV whose chroma is mixed from two columns and two rows.
func scalePlanes(ctx context.Context, dst []float32, im *image.YCbCr) error {
	w, h := im.Rect.Dx(), im.Rect.Dy()
	fullWidth, fullHeight := w, h
	if w%widthStep != 0 {
		fullWidth, fullHeight = w+widthStep-w%widthStep, (h+widthStep-1)/widthStep*widthStep
	}
	columns, rows := tapsOf((fullWidth+1)/2, fullWidth, acrossOne), tapsOf((fullHeight+1)/2, fullHeight, downOne)
	const wideShift = 3
	mix := func(plane []uint8, x, y int) (sum int) {
		for i, row := range rows[y].at {
			line, across := plane[min(row, (h-1)/2)*im.CStride:], 0
			for j, column := range columns[x].at {
				across += int(line[min(column, (w-1)/2)]) * columns[x].weight[j]
			}
			sum += min(across>>wideShift, sampleMost) * rows[y].weight[i]
		}
		return sum
	}
	for y := range h {
		if y%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for x := range w {
			luma := min(int(im.Y[y*im.YStride+x])<<byteToWide, sampleMost) * wideOne
			wideToFloat(dst[3*(y*w+x):][:3], luma, mix(im.Cb, x, y), mix(im.Cr, x, y))
		}
	}
	return nil
}
