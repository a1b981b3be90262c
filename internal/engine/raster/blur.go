package raster

import (
	"context"
	"math"
	"runtime"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Blur convolves the image with a Gaussian window of 2·radius+1 pixels, which spans −1..1; sigma is in this unit. Edges
// are mirrored without repeating the edge pixel, so the radius must be smaller than both sides.
func (e Engine) Blur(ctx context.Context, im *Image, radius int, sigma float64) (*Image, error) {
	if radius == 0 {
		return im, nil
	}
	return e.convolve(ctx, im, radius, sigma, func(dst, _ []float32) {})
}

// Sharpen adds 10·alpha times the difference between the image and its blur, and clamps to 0..1.
func (e Engine) Sharpen(ctx context.Context, im *Image, radius int, sigma, alpha float64) (*Image, error) {
	if radius == 0 {
		return im, nil
	}
	amount := float32(10 * alpha)
	return e.convolve(ctx, im, radius, sigma, func(blurred, src []float32) {
		src = src[:len(blurred)]
		for i, b := range blurred {
			blurred[i] = clamp((1+amount)*src[i] - amount*b)
		}
	})
}

func clamp(v float32) float32 {
	if v < 0 {
		return 0
	}
	if v > 1 {
		return 1
	}
	return v
}

// gaussian returns one axis of the normalised window.
func gaussian(radius int, sigma float64) []float32 {
	k := make([]float64, 2*radius+1)
	sum := 0.0
	for i := range k {
		d := float64(i-radius) / float64(radius)
		k[i] = math.Exp(-d * d / (2 * sigma * sigma))
		sum += k[i]
	}
	out := make([]float32, len(k))
	for i, v := range k {
		out[i] = float32(v / sum)
	}
	return out
}

// TooBlurred refuses a radius that reaches beyond the edges of an image by more than the image.
func TooBlurred(n, c, h, w, radius int) error {
	refusal := fault.New(fault.Invalid, fault.CodeBlurRadius, "a blur radius of %d is too large for an image of %d × %d", radius, w, h)
	argument, dimension := 4, 3
	switch {
	case radius < w && radius < h:
		return refusal
	case radius < w:
		argument, dimension = 6, 2
	}
	return refusal.Raising("RuntimeError", "Argument #%d: Padding size should be less than the corresponding input dimension, but got: "+
		"padding (%d, %d) at dimension %d of input [%d, %d, %d, %d]", argument, radius, radius, dimension, n, c, h, w)
}

// convolve blurs in stripes. Each stripe filters its rows along x once into a window of rows and sums that window
// along y, so that no second frame is needed. finish combines a blurred row with its source row in place.
func (e Engine) convolve(ctx context.Context, im *Image, radius int, sigma float64, finish func(blurred, src []float32)) (*Image, error) {
	if radius < 0 || radius >= im.w || radius >= im.h || !(sigma > 0) {
		return nil, TooBlurred(im.n, im.c, im.h, im.w, radius)
	}
	kernel := gaussian(radius, sigma)
	out := im.like()
	t := e.start(out.rows())
	for f := range im.n {
		src, dst := im.slice(f, 1), out.slice(f, 1)
		err := t.spans(ctx, im.h, stripeRows(im.h, radius), func(lo, hi int) {
			s := newStripe(&src, kernel, lo)
			defer s.release()
			buf := floatScratch.get(src.stride())
			defer floatScratch.put(buf)
			for y := lo; y < hi && ctx.Err() == nil; y++ {
				row := dst.row(nil, y)
				s.blur(row, y)
				finish(row, src.row(buf, y))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return &Image{out}, nil
}

// stripeRows is the height of a stripe. Since each stripe filters 2·radius rows of its neighbours again, it is at
// least 8 radii high; two stripes per core balance the load.
func stripeRows(h, radius int) int {
	cores := runtime.GOMAXPROCS(0)
	return max(8*radius, 32, (h+2*cores-1)/(2*cores))
}

// stripe is a sliding window of rows that are already filtered along x.
type stripe struct {
	src    *grid
	kernel []float32
	radius int
	window []float32 // 2·radius+1 rows, row y in slot y mod (2·radius+1)
	padded []float32 // one source row with mirrored edges
	next   int       // first row, in mirrored coordinates, not yet in the window
	taps   [][]float32
}

func newStripe(src *grid, kernel []float32, first int) *stripe {
	r := len(kernel) / 2
	return &stripe{
		src: src, kernel: kernel, radius: r, next: first - r,
		window: floatScratch.get(len(kernel) * src.stride()),
		padded: floatScratch.get((src.w + 2*r) * src.c),
		taps:   make([][]float32, len(kernel)),
	}
}

func (s *stripe) release() {
	floatScratch.put(s.window)
	floatScratch.put(s.padded)
}

// slot returns the window's row for mirrored coordinate y.
func (s *stripe) slot(y int) []float32 {
	n := len(s.kernel)
	i := ((y % n) + n) % n * s.src.stride()
	return s.window[i : i+s.src.stride()]
}

// blur writes row y. Rows must be requested in order.
func (s *stripe) blur(dst []float32, y int) {
	for ; s.next <= y+s.radius; s.next++ {
		s.along(s.slot(s.next), Mirror(s.next, s.src.h))
	}
	for i := range s.taps {
		s.taps[i] = s.slot(y - s.radius + i)
	}
	weigh(dst, s.taps, s.kernel)
}

// along filters one source row along x.
func (s *stripe) along(dst []float32, y int) {
	c, w, r := s.src.c, s.src.w, s.radius
	mid := s.padded[r*c : (r+w)*c]
	if row := s.src.row(mid, y); &row[0] != &mid[0] {
		copy(mid, row)
	}
	for i := 1; i <= r; i++ {
		copy(s.padded[(r-i)*c:(r-i+1)*c], mid[i*c:(i+1)*c])
		copy(s.padded[(r+w-1+i)*c:(r+w+i)*c], mid[(w-1-i)*c:(w-i)*c])
	}
	for i := range s.taps {
		s.taps[i] = s.padded[i*c : (i+w)*c]
	}
	weigh(dst, s.taps, s.kernel)
}

// Mirror reflects a coordinate at the edges of [0, n) without repeating the edge.
func Mirror(i, n int) int {
	if i < 0 {
		return -i
	}
	if i >= n {
		return 2*(n-1) - i
	}
	return i
}

// weigh sums rows under a symmetric kernel, three pairs of rows per sweep so that
// the sums stay in registers.
func weigh(dst []float32, rows [][]float32, k []float32) {
	n, r := len(dst), len(k)/2
	mid, w := rows[r][:n], k[r]
	for i, v := range mid {
		dst[i] = w * v
	}
	i := 0
	for ; i+3 <= r; i += 3 {
		weigh3(dst, rows[i:i+3], rows[len(rows)-3-i:len(rows)-i], k[i:i+3])
	}
	for ; i < r; i++ {
		a, b, w := rows[i][:n], rows[2*r-i][:n], k[i]
		for j := range dst {
			dst[j] += w * (a[j] + b[j])
		}
	}
}

// weigh3 adds three pairs of rows; the right ones run in the opposite order.
func weigh3(dst []float32, left, right [][]float32, k []float32) {
	n := len(dst)
	a0, a1, a2 := left[0][:n], left[1][:n], left[2][:n]
	b0, b1, b2 := right[2][:n], right[1][:n], right[0][:n]
	w0, w1, w2 := k[0], k[1], k[2]
	for j := range dst {
		dst[j] += w0*(a0[j]+b0[j]) + w1*(a1[j]+b1[j]) + w2*(a2[j]+b2[j])
	}
}
