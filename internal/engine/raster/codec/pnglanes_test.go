package codec

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The functions on words do what the ones on bytes do.
func TestLanes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	extremes := []byte{0, 1, 127, 128, 129, 254, 255}
	for range 100_000 {
		var a, b, c, difference, mean, predicted [8]byte
		sum := 0
		for i := range a {
			for _, v := range []*[8]byte{&a, &b, &c} {
				if v[i] = byte(r.IntN(256)); r.IntN(3) == 0 {
					v[i] = extremes[r.IntN(len(extremes))]
				}
			}
			difference[i], mean[i], predicted[i] = a[i]-b[i], uint8((int(a[i])+int(b[i]))/2), predict(a[i], b[i], c[i])
			sum += magnitude(a[i])
		}
		word := func(v [8]byte) uint64 { return binary.LittleEndian.Uint64(v[:]) }
		require.Equal(t, word(difference), subtract8(word(a), word(b)))
		require.Equal(t, word(mean), mean8(word(a), word(b)))
		require.Equal(t, word(predicted), predict8(word(a), word(b), word(c)))
		require.Equal(t, sum, magnitudes(word(a)))
	}
}
