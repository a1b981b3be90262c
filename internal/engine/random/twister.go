// Package random reproduces the pseudo-random numbers that ComfyUI's classes take from NumPy and PyTorch on a CPU: the
// same seed gives the same numbers, up to the rounding of PyTorch's vector functions. It promises nothing about their quality.
package random

import (
	"math"
	"math/bits"
)

const (
	stateSize = 624
	shiftSize = 397
)

// Twister is the 32-bit Mersenne Twister. It is not safe for concurrent use.
type Twister struct {
	state [stateSize]uint32
	next  int
}

// New returns a generator seeded with one number of 32 bits, as NumPy and PyTorch seed it.
func New(seed uint32) *Twister {
	t := &Twister{next: stateSize}
	t.state[0] = seed
	for i := 1; i < stateSize; i++ {
		last := t.state[i-1]
		t.state[i] = 1812433253*(last^last>>30) + uint32(i)
	}
	return t
}

// ForNumPy returns the generator for a seed of any size, which is reduced for NumPy as ComfyUI's classes do.
func ForNumPy(seed uint64) *Twister { return New(uint32(seed % math.MaxUint32)) }

// Uint32 returns the next 32 bits.
func (t *Twister) Uint32() uint32 {
	if t.next == stateSize {
		t.twist()
	}
	v := t.state[t.next]
	t.next++
	v ^= v >> 11
	v ^= v << 7 & 0x9d2c5680
	v ^= v << 15 & 0xefc60000
	return v ^ v>>18
}

func (t *Twister) twist() {
	for i := range t.state {
		v := t.state[i]&0x80000000 | t.state[(i+1)%stateSize]&0x7fffffff
		mixed := t.state[(i+shiftSize)%stateSize] ^ v>>1
		if v&1 == 1 {
			mixed ^= 0x9908b0df
		}
		t.state[i] = mixed
	}
	t.next = 0
}

// Below returns a number from 0 to most, inclusive, as NumPy's randint does.
func (t *Twister) Below(most uint32) uint32 {
	if most == 0 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(most) - 1
	for {
		if v := t.Uint32() & mask; v <= most {
			return v
		}
	}
}

// Permutation returns the numbers from 0 to n-1 in the order that NumPy's permutation returns.
func (t *Twister) Permutation(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := t.Below(uint32(i))
		order[i], order[j] = order[j], order[i]
	}
	return order
}
