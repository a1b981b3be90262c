package node

import (
	"math"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// unreadable is the panic with which a typed read of an argument ends the run of a class; Invocation.Run returns its error.
type unreadable struct{ err error }

// Has reports whether the argument is present. If the class takes lists, the methods that read an argument return the first value
// of its list.
func (c *Call) Has(name string) bool { return c.argument(name) != nil }

func (c *Call) argument(name string) Value {
	if list := c.Lists[name]; len(list) > 0 {
		return list[0]
	}
	return c.Args[name]
}

// Given reads an optional argument with one of the methods of the call; if it is absent, Given returns or.
func Given[T any](c *Call, name string, read func(name string) T, or T) T {
	if !c.Has(name) {
		return or
	}
	return read(name)
}

// Image returns an image argument. Like all methods that read an argument, it ends the run if the argument is missing or has
// another type; the run then fails with fault.Invalid and code input_type.
func (c *Call) Image(name string) *raster.Image { return argument[*raster.Image](c, name) }

// Frames returns the single frames of all images of a list.
func (c *Call) Frames(name string) []*raster.Image {
	var frames []*raster.Image
	for i := range c.Lists[name] {
		im := Element[*raster.Image](c, name, i)
		for i := range im.Frames() {
			frames = append(frames, im.Frame(i))
		}
	}
	return frames
}

// Element returns an element of a list, under the rules of the methods that read an argument.
func Element[T any](c *Call, name string, i int) T { return asType[T](name, c.Lists[name][i]) }

// Mask returns a mask argument. A mask without pixels ends the run with code empty_image.
func (c *Call) Mask(name string) *raster.Mask {
	m := c.AnyMask(name)
	if m.Empty() {
		panic(unreadable{fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask %s of %d × %d × %d pixels is empty", name, m.Frames(),
			m.Width(), m.Height())})
	}
	return m
}

// AnyMask returns a mask argument, which may have no pixels.
func (c *Call) AnyMask(name string) *raster.Mask { return argument[*raster.Mask](c, name) }

// Sound returns an audio argument.
func (c *Call) Sound(name string) *media.Sound { return argument[*media.Sound](c, name) }

// Video returns a video argument.
func (c *Call) Video(name string) *media.Video { return argument[*media.Video](c, name) }

// Layers returns a layers argument.
func (c *Call) Layers(name string) *layers.Stack { return argument[*layers.Stack](c, name) }

// String returns a string argument.
func (c *Call) String(name string) string { return argument[string](c, name) }

// Object returns an argument that is a JSON object.
func (c *Call) Object(name string) map[string]any { return argument[map[string]any](c, name) }

// Bool returns the truth value of an argument.
func (c *Call) Bool(name string) bool {
	holds, err := Truth(c.Any(name))
	if err != nil {
		panic(unreadable{err})
	}
	return holds
}

// Any returns an argument of any type.
func (c *Call) Any(name string) Value { return argument[Value](c, name) }

// Int returns an integer argument; a whole float and a boolean are accepted.
func (c *Call) Int(name string) int {
	if c.argument(name) == true {
		return 1
	} else if c.argument(name) == false {
		return 0
	}
	if f, ok := c.argument(name).(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	return int(argument[int64](c, name))
}

// Float returns a float argument; an integer is accepted.
func (c *Call) Float(name string) float64 {
	if i, ok := c.argument(name).(int64); ok {
		return float64(i)
	}
	return argument[float64](c, name)
}

func argument[T any](c *Call, name string) T { return asType[T](name, c.argument(name)) }

func asType[T any](name string, value Value) T {
	v, ok := value.(T)
	if !ok {
		panic(unreadable{fault.New(fault.Invalid, fault.CodeInputType, "input %s is missing or has the wrong type", name)})
	}
	return v
}
