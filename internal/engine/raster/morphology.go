package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// morphologies are the operations of Morph in the order of ComfyUI's list.
var morphologies = []string{"erode", "dilate", "open", "close", "gradient", "bottom_hat", "top_hat"}

// Morphologies returns the names that Morph knows.
func Morphologies() []string { return append([]string(nil), morphologies...) }

// Morph applies a morphological operation with a square of size × size pixels, as kornia 0.9 does. Pixels outside the
// image do not count. An even square reaches one pixel further up and left when it erodes, and further down and right
// when it dilates.
func (e Engine) Morph(ctx context.Context, im *Image, operation string, size int) (*Image, error) {
	if size < 1 {
		return nil, fault.New(fault.Invalid, fault.CodeKernelSize, "a square of side %d is empty", size)
	}
	src := im.toFloat()
	far, near := size/2, size-1-size/2
	erode := func(g grid) (grid, error) { return e.extreme(ctx, g, far, near, lower) }
	dilate := func(g grid) (grid, error) { return e.extreme(ctx, g, near, far, upper) }
	var g grid
	var err error
	switch operation {
	case "erode":
		g, err = erode(src)
	case "dilate":
		g, err = dilate(src)
	case "open":
		g, err = chain(src, erode, dilate)
	case "close":
		g, err = chain(src, dilate, erode)
	case "gradient":
		g, err = e.minus(ctx, src, dilate, erode)
	case "bottom_hat":
		g, err = e.minus(ctx, src, func(g grid) (grid, error) { return chain(g, dilate, erode) }, unchanged)
	case "top_hat":
		g, err = e.minus(ctx, src, unchanged, func(g grid) (grid, error) { return chain(g, erode, dilate) })
	default:
		err = fault.New(fault.Invalid, fault.CodeUnknownOperation, "unknown operation %q", operation)
	}
	return asImage(g, err)
}

func unchanged(g grid) (grid, error) { return g, nil }

func chain(g grid, first, second func(grid) (grid, error)) (grid, error) {
	g, err := first(g)
	if err != nil {
		return grid{}, err
	}
	return second(g)
}

// minus returns a(g) − b(g).
func (e Engine) minus(ctx context.Context, g grid, a, b func(grid) (grid, error)) (grid, error) {
	left, err := a(g)
	if err != nil {
		return grid{}, err
	}
	right, err := b(g)
	if err != nil {
		return grid{}, err
	}
	return e.zipRows(ctx, &left, &right, func(dst, a, b []float32) {
		for i, v := range a {
			dst[i] = v - b[i]
		}
	})
}

func lower(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = min(a[i], b[i])
	}
}

func upper(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

// pick2 writes the lower or upper of two rows.
type pick2 func(dst, a, b []float32)

// extreme takes the lowest or highest sample of the square around each sample, one axis after the other. The square
// reaches before pixels up and left, and after pixels down and right.
func (e Engine) extreme(ctx context.Context, g grid, before, after int, pick pick2) (grid, error) {
	wide := floatGrid(g.n, g.h, g.w, g.c)
	err := e.start(g.rows()).rows(ctx, g.rows(), 8*g.stride(), func(lo, hi int) {
		s := newSlider(g.w, g.c, before, after)
		defer s.release()
		for i := lo; i < hi; i++ {
			s.slide(wide.row(nil, i), g.row(nil, i), pick)
		}
	})
	if err != nil {
		return grid{}, err
	}
	out := floatGrid(g.n, g.h, g.w, g.c)
	// Along y, a column strip is the unit of work, as a row is along x.
	strip := max(1, grainSamples/(8*max(1, g.h)))
	columns := (g.stride() + strip - 1) / strip
	err = e.start(g.n*columns).spans(ctx, g.n*columns, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := i % columns * strip
			column(&out, &wide, i/columns, x, min(strip, g.stride()-x), before, after, pick)
		}
	})
	return out, err
}

// column slides along y over n adjacent samples of one frame.
func column(out, src *grid, frame, x, n, before, after int, pick pick2) {
	s := newSlider(src.h, n, before, after)
	defer s.release()
	in, done := floatScratch.get(src.h*n), floatScratch.get(src.h*n)
	defer floatScratch.put(in)
	defer floatScratch.put(done)
	for y := range src.h {
		copy(in[y*n:(y+1)*n], src.row(nil, frame*src.h+y)[x:])
	}
	s.slide(done, in, pick)
	for y := range src.h {
		copy(out.row(nil, frame*src.h+y)[x:x+n], done[y*n:(y+1)*n])
	}
}

// slider takes extremes over a window along a line of elements of c samples each. It doubles the window (1, 2, 4, …
// elements) and finally combines two overlapping windows.
type slider struct {
	n, c, before, after int
	a                   []float32
}

func newSlider(n, c, before, after int) *slider {
	before, after = min(before, n-1), min(after, n-1)
	return &slider{n, c, before, after, floatScratch.get((n + before + after) * c)}
}

func (s *slider) release() { floatScratch.put(s.a) }

// slide repeats the edge elements beyond the ends, which does not change an extreme.
func (s *slider) slide(dst, src []float32, pick pick2) {
	c := s.c
	for i := range s.before {
		copy(s.a[i*c:(i+1)*c], src[:c])
	}
	copy(s.a[s.before*c:], src)
	for i := range s.after {
		at := (s.before + s.n + i) * c
		copy(s.a[at:at+c], src[(s.n-1)*c:])
	}
	size, have := s.before+1+s.after, 1
	length := len(s.a)
	for 2*have <= size {
		length -= have * c
		pick(s.a[:length], s.a[:length], s.a[have*c:have*c+length])
		have *= 2
	}
	n := s.n * c
	pick(dst[:n], s.a[:n], s.a[(size-have)*c:(size-have)*c+n])
}
