package codec

import (
	"context"
	"image"
)

// chroma converts subsampled YCbCr to RGB exactly as libjpeg or libwebp does.
type chroma struct {
	// line returns the chroma of an output row, one sample for each pixel, from the nearer and the farther chroma row.
	line func(dst, near, far []uint8, odd bool, o chromaOrder)
	rgb  func(dst []uint8, y, cb, cr uint8)
}

// chromaOrder holds the axes on which the chroma has half the resolution.
type chromaOrder struct{ across, down bool }

// chromaJPEG is libjpeg's triangle filter and full-range matrix.
var chromaJPEG = chroma{line: jpegLine, rgb: jpegRGB}

// chromaWebP is libwebp's diamond filter and studio-range matrix.
var chromaWebP = chroma{line: webpLine, rgb: webpRGB}

// convert fills rgb from im. Ratios other than 4:4:4, 4:2:2, 4:2:0 and 4:4:0 repeat the nearest sample.
func (c chroma) convert(ctx context.Context, im *image.YCbCr, rgb []uint8) error {
	w, h := im.Rect.Dx(), im.Rect.Dy()
	o, smooth := order(im.SubsampleRatio)
	cw, ch := w, h
	if o.across {
		cw = (w + 1) / 2
	}
	if o.down {
		ch = (h + 1) / 2
	}
	cb, cr := make([]uint8, w+1), make([]uint8, w+1)
	for y := range h {
		if y%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if smooth {
			near, far := chromaRows(y, ch, o.down)
			c.line(cb[:w], im.Cb[near*im.CStride:][:cw], im.Cb[far*im.CStride:][:cw], y%2 == 1, o)
			c.line(cr[:w], im.Cr[near*im.CStride:][:cw], im.Cr[far*im.CStride:][:cw], y%2 == 1, o)
		} else {
			for x := range w {
				i := im.COffset(im.Rect.Min.X+x, im.Rect.Min.Y+y)
				cb[x], cr[x] = im.Cb[i], im.Cr[i]
			}
		}
		luma, dst := im.Y[y*im.YStride:][:w], rgb[3*y*w:][:3*w]
		for x, v := range luma {
			c.rgb(dst[3*x:3*x+3], v, cb[x], cr[x])
		}
	}
	return nil
}

func order(r image.YCbCrSubsampleRatio) (o chromaOrder, smooth bool) {
	switch r {
	case image.YCbCrSubsampleRatio444:
		return chromaOrder{}, true
	case image.YCbCrSubsampleRatio422:
		return chromaOrder{across: true}, true
	case image.YCbCrSubsampleRatio420:
		return chromaOrder{across: true, down: true}, true
	case image.YCbCrSubsampleRatio440:
		return chromaOrder{down: true}, true
	default:
		return chromaOrder{}, false
	}
}

// chromaRows returns the two chroma rows around output row y.
func chromaRows(y, rows int, down bool) (near, far int) {
	if !down {
		return y, y
	}
	near = y / 2
	far = near + 1
	if y%2 == 0 {
		far = near - 1
	}
	return near, min(max(far, 0), rows-1)
}

// jpegLine weighs near and far chroma 3:1 on each halved axis, with libjpeg's
// alternating rounding.
func jpegLine(dst, near, far []uint8, odd bool, o chromaOrder) {
	switch {
	case o.across && o.down:
		jpegBoth(dst, near, far)
	case o.across:
		jpegAcross(dst, near)
	case o.down:
		bias := 1
		if odd {
			bias = 2
		}
		for x := range dst {
			dst[x] = uint8((3*int(near[x]) + int(far[x]) + bias) >> 2)
		}
	default:
		copy(dst, near)
	}
}

func jpegBoth(dst, near, far []uint8) {
	sum := func(i int) int { return 3*int(near[i]) + int(far[i]) }
	last := len(near) - 1
	for x := range dst {
		i := x / 2
		switch {
		case x%2 == 0 && i == 0:
			dst[x] = uint8((4*sum(i) + 8) >> 4)
		case x%2 == 0:
			dst[x] = uint8((3*sum(i) + sum(i-1) + 8) >> 4)
		case i == last:
			dst[x] = uint8((4*sum(i) + 7) >> 4)
		default:
			dst[x] = uint8((3*sum(i) + sum(i+1) + 7) >> 4)
		}
	}
}

func jpegAcross(dst, near []uint8) {
	last := len(near) - 1
	for x := range dst {
		i := x / 2
		switch {
		case x%2 == 0 && i == 0, x%2 == 1 && i == last:
			dst[x] = near[i]
		case x%2 == 0:
			dst[x] = uint8((3*int(near[i]) + int(near[i-1]) + 1) >> 2)
		default:
			dst[x] = uint8((3*int(near[i]) + int(near[i+1]) + 2) >> 2)
		}
	}
}

// jpegRGB is the JFIF matrix in 16-bit fixed point.
func jpegRGB(dst []uint8, y, cb, cr uint8) {
	l, b, r := int32(y), int32(cb)-128, int32(cr)-128
	const half = 1 << 15
	dst[0] = clip(l + (91881*r+half)>>16)
	dst[1] = clip(l + (-22554*b-46802*r+half)>>16)
	dst[2] = clip(l + (116130*b+half)>>16)
}

func clip(v int32) uint8 {
	return uint8(min(max(v, 0), 255))
}

// webpLine weighs the four chroma samples around a pixel 9:3:3:1 in two rounded steps.
func webpLine(dst, near, far []uint8, _ bool, _ chromaOrder) {
	edge := func(i int) uint8 { return uint8((3*int(near[i]) + int(far[i]) + 2) >> 2) }
	dst[0] = edge(0)
	for x := 1; x < len(dst); x++ {
		i := (x + 1) / 2
		if i == len(near) {
			dst[x] = edge(i - 1)
			continue
		}
		a, b := int(near[i-1]), int(near[i])
		c, d := int(far[i-1]), int(far[i])
		if x%2 == 0 { // right of the pair: nearest is b
			a, b, c, d = b, a, d, c
		}
		sum := a + b + c + d + 8
		dst[x] = uint8(((sum+2*(b+c))>>3 + a) >> 1)
	}
}

// webpRGB is libwebp's BT.601 matrix.
func webpRGB(dst []uint8, y, cb, cr uint8) {
	high := func(v uint8, k int32) int32 { return int32(v) * k >> 8 }
	fix := func(v int32) uint8 { return clip(v >> 6) }
	l := high(y, 19077)
	dst[0] = fix(l + high(cr, 26149) - 14234)
	dst[1] = fix(l - high(cb, 6419) - high(cr, 13320) + 8708)
	dst[2] = fix(l + high(cb, 33050) - 17685)
}
