package node

import (
	"math"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Reader reads typed arguments of a call and keeps the first failure, so that a class reads all its inputs and checks
// Err once. A missing or mistyped argument is fault.Invalid with code input_type.
type Reader struct {
	args Args
	err  error
}

// Reader returns a reader of the arguments.
func (a Args) Reader() *Reader { return &Reader{args: a} }

// Err returns the first failure, or nil.
func (r *Reader) Err() error { return r.err }

// Has reports whether the argument is present; absent optional inputs are not.
func (r *Reader) Has(name string) bool {
	v, ok := r.args[name]
	return ok && v != nil
}

// Image returns an image argument.
func (r *Reader) Image(name string) *raster.Image { return argument[*raster.Image](r, name) }

// Mask returns a mask argument. A mask without pixels is fault.Invalid with code empty_image.
func (r *Reader) Mask(name string) *raster.Mask {
	m := r.AnyMask(name)
	if m != nil && m.Empty() && r.err == nil {
		r.err = fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask %s of %d × %d × %d pixels is empty", name, m.Frames(), m.Width(),
			m.Height())
	}
	return m
}

// AnyMask returns a mask argument, which may have no pixels.
func (r *Reader) AnyMask(name string) *raster.Mask { return argument[*raster.Mask](r, name) }

// Sound returns an audio argument.
func (r *Reader) Sound(name string) *media.Sound { return argument[*media.Sound](r, name) }

// Video returns a video argument.
func (r *Reader) Video(name string) *media.Video { return argument[*media.Video](r, name) }

// Layers returns a layers argument.
func (r *Reader) Layers(name string) *layers.Stack { return argument[*layers.Stack](r, name) }

// String returns a string argument.
func (r *Reader) String(name string) string { return argument[string](r, name) }

// Bool returns a boolean argument.
func (r *Reader) Bool(name string) bool { return argument[bool](r, name) }

// Int returns an integer argument; a whole float is accepted.
func (r *Reader) Int(name string) int {
	if f, ok := r.args[name].(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	return int(argument[int64](r, name))
}

// Float returns a float argument; an integer is accepted.
func (r *Reader) Float(name string) float64 {
	if i, ok := r.args[name].(int64); ok {
		return float64(i)
	}
	return argument[float64](r, name)
}

func argument[T any](r *Reader, name string) T {
	v, ok := r.args[name].(T)
	if !ok && r.err == nil {
		r.err = fault.New(fault.Invalid, fault.CodeInputType, "input %s is missing or has the wrong type", name)
	}
	return v
}
