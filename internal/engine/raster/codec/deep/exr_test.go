package deep_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster/codec/deep"
)

// header is the beginning of an EXR file of that width and of 16 lines, compressed with ZIP, with so many channels of floats.
func header(width, channels int) []byte {
	le := binary.LittleEndian
	file := le.AppendUint32(le.AppendUint32(nil, 20000630), 2)
	attribute := func(name, kind string, value []byte) {
		file = append(file, name+"\x00"+kind+"\x00"...)
		file = append(le.AppendUint32(file, uint32(len(value))), value...)
	}
	var list []byte
	for i := range channels {
		list = append(list, fmt.Sprintf("layer.%02d\x00", i)...)
		for _, v := range []uint32{2, 0, 1, 1} {
			list = le.AppendUint32(list, v)
		}
	}
	attribute("channels", "chlist", append(list, 0))
	attribute("compression", "compression", []byte{3})
	var window []byte
	for _, v := range []uint32{0, 0, uint32(width - 1), 15} {
		window = le.AppendUint32(window, v)
	}
	attribute("dataWindow", "box2i", window)
	return append(file, 0)
}

// A file of a few bytes may claim lines of gigabytes: nothing is allocated for them.
func TestLinesOfAnEXRFileAreBounded(t *testing.T) {
	t.Parallel()
	width, height, err := deep.SizeEXR(header(1<<20, 64))
	require.NoError(t, err)
	require.Equal(t, []int{1 << 20, 16}, []int{width, height})
	_, _, err = deep.DecodeEXR(t.Context(), header(1<<20, 64))
	require.ErrorContains(t, err, "64 MiB in 16 lines")
	_, _, err = deep.DecodeEXR(t.Context(), header(1<<10, 64))
	require.ErrorContains(t, err, "ends early", "a smaller one is read as far as it goes")
}
