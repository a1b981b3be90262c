package tensors_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/tensors"
	"github.com/millrace-dev/millrace/internal/fault"
)

// written encodes a file.
func written(t testing.TB, f *tensors.File) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	return b.Bytes()
}

func TestWrittenFileIsReadBitForBit(t *testing.T) {
	t.Parallel()
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1.5, math.SmallestNonzeroFloat32, math.MaxFloat32, float32(math.Inf(1)), 1.0 / 3}
	f := &tensors.File{
		Tensors: map[string]tensors.Tensor{
			"samples": tensors.FromFloats(values, 1, 2, 4),
			"empty":   tensors.FromFloats(nil, 0),
			"ids":     {Type: "I64", Shape: []int{1}, Data: binary.LittleEndian.AppendUint64(nil, 7)},
		},
		Metadata: map[string]string{"comfyui": `{"format": 1}`},
	}
	raw := written(t, f)
	require.Equal(t, raw, written(t, f), "equal files give equal bytes")
	read, err := tensors.Read(bytes.NewReader(raw), 1<<20)
	require.NoError(t, err)
	require.Equal(t, f.Metadata, read.Metadata)
	require.Len(t, read.Tensors, 3)
	got, err := read.Tensors["samples"].Floats()
	require.NoError(t, err)
	for i, v := range values {
		require.Equal(t, math.Float32bits(v), math.Float32bits(got[i]))
	}
	require.Equal(t, []int{1, 2, 4}, read.Tensors["samples"].Shape)
	require.Equal(t, f.Tensors["ids"], read.Tensors["ids"])
}

func TestShorterFloatsAreWidenedWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		bits uint16
		want float32
	}{
		"one":               {"F16", 0x3c00, 1},
		"minus two":         {"F16", 0xc000, -2},
		"the largest":       {"F16", 0x7bff, 65504},
		"the smallest":      {"F16", 0x0001, 1.0 / (1 << 24)},
		"infinite":          {"F16", 0xfc00, float32(math.Inf(-1))},
		"a third, coarsely": {"BF16", 0x3eab, math.Float32frombits(0x3eab0000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tensors.Tensor{Type: c.kind, Shape: []int{1}, Data: binary.LittleEndian.AppendUint16(nil, c.bits)}.Floats()
			require.NoError(t, err)
			require.Equal(t, []float32{c.want}, got)
		})
	}
}

// file puts a header before a body.
func file(header, body string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + body
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"empty":                "",
		"header of terabytes":  string(binary.LittleEndian.AppendUint64(nil, 1<<40)),
		"no object":            file(`[]`, ""),
		"body cut off":         file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, "1234"),
		"shape is not in it":   file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, "12345678"),
		"negative place":       file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[-2,0]}}`, ""),
		"shape that overflows": file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, ""),
		"unknown numbers":      file(`{"a":{"dtype":"Q7","shape":[],"data_offsets":[0,0]}}`, ""),
		"metadata are numbers": file(`{"__metadata__":{"a":1}}`, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tensors.Read(strings.NewReader(raw), 1<<20)
			require.Equal(t, fault.CodeTensorsDamaged, fault.CodeOf(err), "%v", err)
		})
	}
}

func TestFileBeyondTheBoundIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	announced := file(`{"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}}`, "")
	_, err := tensors.Read(strings.NewReader(announced), 1<<20)
	require.Equal(t, fault.CodeTensorsTooLarge, fault.CodeOf(err))
}
