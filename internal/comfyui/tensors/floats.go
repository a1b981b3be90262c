package tensors

import (
	"encoding/binary"
	"math"
)

// FromFloats returns a tensor of 32-bit floats.
func FromFloats(values []float32, shape ...int) Tensor {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Tensor{Type: "F32", Shape: shape, Data: data}
}

// Floats returns the numbers of a tensor of floats. Half precision is widened without loss; double precision is
// rounded.
func (t Tensor) Floats() ([]float32, error) {
	var size int
	var read func([]byte) float32
	switch t.Type {
	case "F32":
		size, read = 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case "F64":
		size, read = 8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	case "BF16":
		size, read = 2, func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }
	case "F16":
		size, read = 2, func(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) }
	default:
		return nil, errDamaged("a tensor has numbers of type %.20q; only floats can be read", t.Type)
	}
	out := make([]float32, len(t.Data)/size)
	for i := range out {
		out[i] = read(t.Data[i*size:])
	}
	return out, nil
}

// half widens a 16-bit float: one bit of sign, five of exponent, ten of fraction.
func half(b uint16) float32 {
	sign, exponent, fraction := uint32(b>>15)<<31, uint32(b>>10)&0x1f, uint32(b)&0x3ff
	switch {
	case exponent == 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	case exponent != 0:
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	default: // subnormal
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(v))
	}
}
