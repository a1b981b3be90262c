package codec

import (
	"context"
	"image"
)

// convertJPEG fills rgb from the planes of a JPEG file as ffmpeg's scaler does. Where chroma has half the width or height, the
// scaler repeats its samples if the height is even, and mixes rows if it is odd; it mixes columns too if the width is odd as well.
func convertJPEG(ctx context.Context, im *image.YCbCr, rgb []uint8) error {
	o, known := order(im.SubsampleRatio)
	w, h := im.Rect.Dx(), im.Rect.Dy()
	var row func(dst, luma []uint8, y int)
	switch {
	case !known || o.down && !o.across: // ratios that hardly occur
		return chromaJPEG.convert(ctx, im, rgb)
	case !o.across:
		row = func(dst, luma []uint8, y int) { wholeRow(dst, luma, im.Cb[y*im.CStride:], im.Cr[y*im.CStride:]) }
	case h%2 == 0:
		row = func(dst, luma []uint8, y int) {
			if o.down {
				y /= 2
			}
			pairedRow(dst, luma, im.Cb[y*im.CStride:], im.Cr[y*im.CStride:], productRGB)
		}
	case w%2 == 0:
		row = mixedPairs(im, o, w, h)
	default:
		row = mixed(im, o, w, h)
	}
	for y := range h {
		if y%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row(rgb[3*y*w:][:3*w], im.Y[y*im.YStride:][:w], y)
	}
	return nil
}

// The JFIF matrix: in 13 bits as the scaler has it for wide sums and for 16-bit products, and in 16 bits for tables.
const (
	redByCr13   = 11485
	greenByCb13 = -2819
	greenByCr13 = -5850
	blueByCb13  = 14516
	redByCr16   = 91881
	greenByCb16 = -22553
	greenByCr16 = -46801
	blueByCb16  = 116129
	tableRed    = -179 // what a table is shifted by for chroma around 128
	tableGreen  = 137
	tableBlue   = -226
	sampleShift = 9  // of chroma in wide sums
	sumShift    = 22 // of wide sums
)

// Fixed points of chroma that is mixed.
const (
	middle      = 128
	acrossOne   = 1 << 14 // weights of columns
	columnShift = 7       // leaves 15 bits of their sums
	downOne     = 1 << 12 // weights of rows
	downShift   = 12      // leaves 8 bits of sums of samples
	mixedShift  = 10      // leaves what wide sums take, of sums of mixed columns
)

// wholeRow converts a row with chroma of its own size.
func wholeRow(dst, luma, cb, cr []uint8) {
	for x, v := range luma {
		sumRGB(dst[3*x:3*x+3], v, (int(cb[x])-middle)<<sampleShift, (int(cr[x])-middle)<<sampleShift)
	}
}

// pairedRow converts a row whose pixels share chroma by two.
func pairedRow(dst, luma, cb, cr []uint8, pixel func(dst []uint8, y uint8, cb, cr int32)) {
	for x, v := range luma {
		pixel(dst[3*x:3*x+3], v, int32(cb[x/2]), int32(cr[x/2]))
	}
}

// mixedPairs converts rows whose chroma is mixed from two rows and repeated across.
func mixedPairs(im *image.YCbCr, o chromaOrder, w, h int) func(dst, luma []uint8, y int) {
	rows := rowTaps(o, h)
	cb, cr := make([]uint8, (w+1)/2), make([]uint8, (w+1)/2)
	mix := func(dst, plane []uint8, t taps) {
		for x := range dst {
			sum := 1 << (downShift - 1)
			for i, at := range t.at {
				sum += int(plane[at*im.CStride+x]) * t.weight[i]
			}
			dst[x] = clip(int32(sum >> downShift))
		}
	}
	return func(dst, luma []uint8, y int) {
		mix(cb, im.Cb, rows[y])
		mix(cr, im.Cr, rows[y])
		pairedRow(dst, luma, cb, cr, tableRGB)
	}
}

// mixed converts rows whose chroma is mixed from two columns and, if it has half the height, from two rows.
func mixed(im *image.YCbCr, o chromaOrder, w, h int) func(dst, luma []uint8, y int) {
	rows, columns := rowTaps(o, h), tapsOf((w+1)/2, w, acrossOne)
	cb, cr := widened{plane: im.Cb, stride: im.CStride, columns: columns}, widened{plane: im.Cr, stride: im.CStride, columns: columns}
	return func(dst, luma []uint8, y int) {
		for x, v := range luma {
			sumRGB(dst[3*x:3*x+3], v, cb.mix(rows[y], x), cr.mix(rows[y], x))
		}
	}
}

// widened is a plane of chroma of half the width, whose rows are made as wide as the picture when they are needed.
type widened struct {
	plane   []uint8
	stride  int
	columns []taps
	rows    [4][]int // the latest rows
	of      [4]int   // which rows these are, counted from 1
}

func (p *widened) row(y int) []int {
	k := y % len(p.rows)
	if p.of[k] == y+1 {
		return p.rows[k]
	}
	if p.rows[k] == nil {
		p.rows[k] = make([]int, len(p.columns))
	}
	for x, t := range p.columns {
		sum := 0
		for i, at := range t.at {
			sum += int(p.plane[y*p.stride+at]) * t.weight[i]
		}
		p.rows[k][x] = min(sum>>columnShift, 1<<15-1)
	}
	p.of[k] = y + 1
	return p.rows[k]
}

// mix is the chroma of a pixel around 0, in sums of rows.
func (p *widened) mix(t taps, x int) int {
	sum := -middle << (columnShift + downShift)
	for i, at := range t.at {
		sum += p.row(at)[x] * t.weight[i]
	}
	return sum >> mixedShift
}

// sumRGB adds in wide integers and rounds once; chroma is around 0 and shifted.
func sumRGB(dst []uint8, y uint8, cb, cr int) {
	l := int(y)<<sumShift + 1<<(sumShift-1)
	dst[0] = clipSum(l + cr*redByCr13)
	dst[1] = clipSum(l + cr*greenByCr13 + cb*greenByCb13)
	dst[2] = clipSum(l + cb*blueByCb13)
}

func clipSum(v int) uint8 { return uint8(min(max(v>>sumShift, 0), 255)) }

// productRGB cuts off what each product has behind the point, as vector instructions do.
func productRGB(dst []uint8, y uint8, cb, cr int32) {
	l, b, r := int32(y), cb-middle, cr-middle
	dst[0] = clip(l + r*redByCr13>>13)
	dst[1] = clip(l + b*greenByCb13>>13 + r*greenByCr13>>13)
	dst[2] = clip(l + b*blueByCb13>>13)
}

// tableRGB adds the entries of tables.
func tableRGB(dst []uint8, y uint8, cb, cr int32) {
	l := int32(y)
	dst[0] = clip(l + cr*redByCr16>>16 + tableRed)
	dst[1] = clip(l + cb*greenByCb16>>16 + cr*greenByCr16>>16 + tableGreen)
	dst[2] = clip(l + cb*blueByCb16>>16 + tableBlue)
}
