package raster

import (
	"math/bits"
	"sync"
)

// scratch recycles working buffers by power-of-two size. It is the only shared state of the package. The garbage
// collector may free the buffers.
type scratch[T any] struct{ classes [48]sync.Pool }

var (
	floatScratch scratch[float32]
	byteScratch  scratch[uint8]
	intScratch   scratch[int32]
)

// get returns a buffer of n samples with arbitrary content.
func (s *scratch[T]) get(n int) []T {
	class := bits.Len(uint(max(n, 1) - 1))
	if b, ok := s.classes[class].Get().(*[]T); ok {
		return (*b)[:n]
	}
	return make([]T, n, 1<<class)
}

// put returns a buffer to the pool. The caller must not use it again.
func (s *scratch[T]) put(b []T) {
	class := bits.Len(uint(max(cap(b), 1) - 1))
	if cap(b) != 1<<class {
		return
	}
	b = b[:0]
	s.classes[class].Put(&b)
}
