package raster

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Method is a way to resize.
type Method uint8

// The resize methods that graphs name.
const (
	NearestExact Method = iota
	Bilinear
	Area
	Bicubic
	Lanczos // 8-bit, byte-equal with Pillow
)

var methodNames = [...]string{"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}

// String returns the method's name in graphs.
func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return fmt.Sprintf("method(%d)", uint8(m))
}

// ParseMethod returns the method of that name, or fault.Invalid.
func ParseMethod(name string) (Method, error) {
	for i, n := range methodNames {
		if n == name {
			return Method(i), nil
		}
	}
	return 0, fault.New(fault.Invalid, fault.CodeUnknownMethod, "unknown resize method %q", name)
}

// Resize returns the image at exactly width × height.
func (e Engine) Resize(ctx context.Context, im *Image, width, height int, m Method) (*Image, error) {
	return asImage(e.resize(ctx, &im.grid, height, width, m))
}

// ResizeMask returns the mask at exactly width × height.
func (e Engine) ResizeMask(ctx context.Context, mask *Mask, width, height int, m Method) (*Mask, error) {
	g, err := e.resize(ctx, &mask.grid, height, width, m)
	if err != nil {
		return nil, err
	}
	return &Mask{g.toFloat()}, nil
}

// Cover crops the image at its centre to the aspect ratio of width × height and resizes it to exactly that size.
func (e Engine) Cover(ctx context.Context, im *Image, width, height int, m Method) (*Image, error) {
	if err := e.fitScaled(&im.grid, height, width, m); err != nil {
		return nil, err
	}
	x, y := coverMargins(im.w, im.h, width, height)
	if 2*x >= im.w || 2*y >= im.h {
		return nil, fault.New(fault.Invalid, fault.CodeNothingLeft,
			"nothing is left of %d × %d pixels when they are cropped to the shape of %d × %d", im.w, im.h, width, height)
	}
	cut := im
	if x != 0 || y != 0 {
		var err error
		if cut, err = e.Crop(ctx, im, x, y, im.w-2*x, im.h-2*y); err != nil {
			return nil, err
		}
	}
	return e.Resize(ctx, cut, width, height, m)
}

// coverMargins returns the pixels to crop at the left and right, or at the top and bottom.
func coverMargins(oldW, oldH, newW, newH int) (x, y int) {
	from, to := float64(oldW)/float64(oldH), float64(newW)/float64(newH)
	w, h := float64(oldW), float64(oldH)
	switch {
	case from > to:
		x = int(math.RoundToEven((w - w*(to/from)) / 2))
	case from < to:
		y = int(math.RoundToEven((h - h*(from/to)) / 2))
	}
	return x, y
}

// fitScaled is Fit for the result of a method, which for a result without pixels has an exception of its own.
func (e Engine) fitScaled(g *grid, h, w int, m Method) error {
	err := e.Fit(g.n, h, w)
	var refusal *fault.Error
	if !errors.As(err, &refusal) || h > 0 && w > 0 {
		return err
	}
	switch m {
	case Lanczos:
		return refusal.Raising("ValueError", "height and width must be > 0")
	case NearestExact, Bilinear, Bicubic:
		return refusal.Raising("RuntimeError", "Input and output sizes should be greater than 0, but got input (H: %d, W: %d) "+
			"output (H: %d, W: %d)", g.h, g.w, h, w)
	case Area:
	}
	return err
}

func (e Engine) resize(ctx context.Context, g *grid, h, w int, m Method) (grid, error) {
	if err := e.fitScaled(g, h, w, m); err != nil {
		return grid{}, err
	}
	switch {
	case m == Lanczos:
		return e.lanczos(ctx, g, h, w)
	case m > Lanczos:
		return grid{}, fault.New(fault.Invalid, fault.CodeUnknownMethod, "unknown resize method %s", m)
	case w == g.w && h == g.h:
		return *g, ctx.Err()
	case m == NearestExact:
		return e.nearest(ctx, g, h, w)
	default:
		return e.resample(ctx, g, h, w, m)
	}
}
