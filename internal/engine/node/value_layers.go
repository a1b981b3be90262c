package node

import (
	"encoding/binary"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func encodeLayers(w io.Writer, s *layers.Stack) error {
	if err := put(w, kindLayers, binary.AppendUvarint(nil, uint64(len(s.Layers)))); err != nil {
		return err
	}
	values := []Value{int64(s.Canvas.Width), int64(s.Canvas.Height)}
	for _, l := range s.Layers {
		var mask Value
		if l.Mask != nil {
			mask = l.Mask
		}
		values = append(values, l.Image, mask, l.Name, l.Mode, l.Opacity, l.Rotation, l.FlipH, l.FlipV,
			int64(l.X), int64(l.Y), int64(l.Width), int64(l.Height), int64(l.Z))
	}
	for _, value := range values {
		if err := encode(w, value); err != nil {
			return err
		}
	}
	return nil
}

// layers reads a stack. Memory is allocated only as its layers arrive.
func (d *decoder) layers(level int) (Value, error) {
	if level == maxNested {
		return nil, fault.New(fault.Invalid, fault.CodeValueDamaged, "stored layers are nested too deep")
	}
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if n > maxListed {
		return nil, fault.New(fault.Exhausted, fault.CodeValueTooLarge, "a stored stack of %d layers is too long", n)
	}
	m := members{d: d}
	s := &layers.Stack{Canvas: layers.Size{Width: m.int(), Height: m.int()}}
	for range n {
		l := layers.Layer{
			Image: member[*raster.Image](&m), Mask: m.mask(), Name: member[string](&m), Mode: member[string](&m),
			Opacity: member[float64](&m), Rotation: member[float64](&m), FlipH: member[bool](&m), FlipV: member[bool](&m),
			X: m.int(), Y: m.int(), Width: m.int(), Height: m.int(), Z: m.int(),
		}
		if m.err != nil {
			return nil, m.err
		}
		s.Layers = append(s.Layers, l)
	}
	return s, m.err
}

// members reads the members of a stored value in order and keeps the first failure.
type members struct {
	d   *decoder
	err error
}

func (m *members) next() Value {
	if m.err != nil {
		return nil
	}
	var value Value
	value, m.err = m.d.value(maxNested) // members do not nest
	return value
}

func (m *members) int() int { return int(member[int64](m)) }

// mask returns a mask or nil.
func (m *members) mask() *raster.Mask {
	value := m.next()
	if value == nil {
		return nil
	}
	return typed[*raster.Mask](m, value)
}

func member[T any](m *members) T { return typed[T](m, m.next()) }

func typed[T any](m *members, value Value) T {
	v, ok := value.(T)
	if !ok && m.err == nil {
		m.err = fault.New(fault.Invalid, fault.CodeValueDamaged, "a stored layer has a %T as a member where this type is not allowed", value)
	}
	return v
}
