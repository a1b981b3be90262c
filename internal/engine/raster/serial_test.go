package raster_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func serialized(t testing.TB, v io.WriterTo) []byte {
	t.Helper()
	var buf bytes.Buffer
	n, err := v.WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, buf.Len(), n)
	require.EqualValues(t, buf.Len(), v.(interface{ EncodedSize() int64 }).EncodedSize())
	return buf.Bytes()
}

func TestValuesSurviveSerialisation(t *testing.T) {
	t.Parallel()
	mask, err := raster.NewMask(2, 3, 5, make([]float32, 30))
	require.NoError(t, err)
	for name, v := range map[string]io.WriterTo{
		"8-bit": source(t, "source3"), "float over several chunks": counting(t, 2, 70, 90, 4), "mask": mask,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := serialized(t, v)
			rest := bytes.NewReader(append(data, "next"...))
			back, err := raster.Engine{}.Read(iotest.OneByteReader(rest))
			require.NoError(t, err)
			require.Equal(t, v, back)
		})
	}
}

func TestReadRefusesMalformedInput(t *testing.T) {
	t.Parallel()
	good := serialized(t, counting(t, 1, 4, 4, 3))
	damage := func(at int, v byte) []byte {
		out := bytes.Clone(good)
		out[at] = v
		return out
	}
	for name, data := range map[string][]byte{
		"empty": {}, "short header": good[:10], "short samples": good[:len(good)-1], "magic": damage(0, 'X'),
		"kind": damage(4, 'Z'), "depth": damage(5, 16), "channels": damage(6, 2), "reserved": damage(7, 1),
		"tail": damage(20, 1), "three-channel mask": damage(4, 'M'), "no rows": damage(12, 0),
	} {
		_, err := raster.Engine{}.Read(bytes.NewReader(data))
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
	}
	huge := bytes.Clone(good)
	binary.LittleEndian.PutUint32(huge[12:], 1<<31)
	_, err := raster.Engine{}.Read(bytes.NewReader(huge))
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

var errDisk = errors.New("disk gone")

func TestReadReturnsTheReadersError(t *testing.T) {
	t.Parallel()
	good := serialized(t, counting(t, 1, 4, 4, 3))
	_, err := raster.Engine{}.Read(io.MultiReader(bytes.NewReader(good[:50]), iotest.ErrReader(errDisk)))
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

func FuzzRead(f *testing.F) {
	f.Add(serialized(f, source(f, "source3")))
	f.Add(serialized(f, counting(f, 2, 3, 4, 4)))
	e := raster.Engine{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := e.Read(bytes.NewReader(data))
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.KindOf(err))
			return
		}
		again := serialized(t, v.(io.WriterTo))
		require.Equal(t, data[:len(again)], again)
	})
}
