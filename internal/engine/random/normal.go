package random

import "math"

const (
	// block is the number of values that PyTorch computes at a time. A shorter sequence is drawn value by value.
	block = 16
	half  = block / 2
)

// Normal fills values with numbers of the standard normal distribution, as PyTorch's randn does.
func (t *Twister) Normal(values []float32) {
	if len(values) < block {
		t.eachNormal(values)
		return
	}
	for i := range values {
		values[i] = t.uniform()
	}
	whole := len(values) / block * block
	for at := 0; at < whole; at += block {
		pair(values[at : at+block])
	}
	if whole < len(values) { // the last block is drawn again and overlaps the block before it
		last := values[len(values)-block:]
		for i := range last {
			last[i] = t.uniform()
		}
		pair(last)
	}
}

// uniform returns a uniform float of 24 bits in [0, 1).
func (t *Twister) uniform() float32 { return float32(t.Uint32()&(1<<24-1)) / (1 << 24) }

// pair turns the uniform values of a block into normal ones, in pairs.
func pair(values []float32) {
	for i := range half {
		radius := math.Sqrt(-2 * math.Log(float64(1-values[i])))
		angle := 2 * math.Pi * float64(values[i+half])
		values[i], values[i+half] = float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle))
	}
}

// eachNormal draws values in double precision. A pair of uniform values gives two normal ones.
func (t *Twister) eachNormal(values []float32) {
	for i := 0; i < len(values); i += 2 {
		angle := 2 * math.Pi * t.uniform53()
		radius := math.Sqrt(-2 * math.Log1p(-t.uniform53()))
		values[i] = float32(radius * math.Cos(angle))
		if i+1 < len(values) {
			values[i+1] = float32(radius * math.Sin(angle))
		}
	}
}

// uniform53 returns a uniform float of 53 bits in [0, 1).
func (t *Twister) uniform53() float64 {
	high := uint64(t.Uint32())
	v := high<<32 | uint64(t.Uint32())
	return float64(v&(1<<53-1)) / (1 << 53)
}
