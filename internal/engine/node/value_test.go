package node_test

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func encode(t testing.TB, v node.Value) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, node.EncodeValue(&b, v))
	return b.Bytes()
}

func picture(t testing.TB) *raster.Image {
	t.Helper()
	im, err := raster.NewImage8(2, 3, 4, 3, bytes.Repeat([]byte{1, 2, 3, 4, 5, 6}, 12))
	require.NoError(t, err)
	return im
}

func sound(t testing.TB) *media.Sound {
	t.Helper()
	s, err := media.NewSound(44100, [][]float32{{0, 0.5}, {-1, 1}})
	require.NoError(t, err)
	return s
}

func stack(t testing.TB) *layers.Stack {
	t.Helper()
	m, err := raster.NewMask(1, 3, 4, make([]float32, 12))
	require.NoError(t, err)
	return &layers.Stack{Canvas: layers.Size{Width: 7, Height: 8}, Layers: []layers.Layer{
		{Image: picture(t), Mask: m, Name: "a", X: -1, Y: 2, Width: 3, Height: 4, Z: -5, Rotation: 0.5, Opacity: 0.25, Mode: "hue", FlipH: true},
		{Image: picture(t), Opacity: 1, Mode: "normal", FlipV: true},
	}}
}

func TestValuesComeBackEqual(t *testing.T) {
	t.Parallel()
	values := []node.Value{
		nil, true, false, int64(0), int64(math.MinInt64), int64(math.MaxInt64), 0.0, 1.0, math.Copysign(0, -1), math.Inf(1),
		math.SmallestNonzeroFloat64,
		"", "ä\x00\xff",
		map[string]any{},
		map[string]any{"a": int64(1), "b": 1.0, "c": []any{nil, true, "x", int64(1) << 60, 1e300}},
		[]any{},
		node.List{},
		node.List{"a", node.List{int64(1)}, map[string]any{"k": 2.0}},
		node.Blocker{},
		node.Blocker{Message: "no ünd"},
		node.List{node.Blocker{Message: "x"}, int64(1)},
		picture(t),
		node.List{picture(t), picture(t)},
		sound(t),
		&media.Video{File: "a.mp4", Start: 1.5, Length: 2},
		&media.Video{Frames: picture(t), FPS: 12.5, Sound: sound(t)},
		node.List{&media.Video{Frames: picture(t), FPS: 1}, int64(1)},
		&layers.Stack{},
		stack(t),
		node.List{stack(t), int64(1)},
	}
	for _, v := range values {
		raw := encode(t, v)
		require.Equal(t, raw, encode(t, v), "equal values give equal bytes")
		back, err := node.DecodeValue(bytes.NewReader(raw), 1<<20)
		require.NoError(t, err, "%v", v)
		require.Equal(t, v, back)
	}
	back, err := node.DecodeValue(bytes.NewReader(encode(t, math.NaN())), 100)
	require.NoError(t, err)
	require.True(t, math.IsNaN(back.(float64)))
}

func TestOnlyValuesAreEncoded(t *testing.T) {
	t.Parallel()
	for _, v := range []node.Value{1, struct{}{}, node.List{int32(1)}, map[string]any{"x": math.NaN()}, []any{math.Inf(-1)}} {
		require.Error(t, node.EncodeValue(io.Discard, v), "%#v", v)
	}
}

func TestDecodingIsBounded(t *testing.T) {
	t.Parallel()
	_, err := node.DecodeValue(bytes.NewReader(encode(t, string(make([]byte, 1000)))), 999)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
	exact := encode(t, "four")
	_, err = node.DecodeValue(bytes.NewReader(exact), int64(len(exact)))
	require.NoError(t, err, "the bound is inclusive")
	_, err = node.DecodeValue(bytes.NewReader(exact), int64(len(exact))-1)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
	_, err = node.DecodeValue(bytes.NewReader(encode(t, string(make([]byte, 128)))), 200)
	require.NoError(t, err, "a length of two bytes")
	_, err = node.DecodeValue(bytes.NewReader([]byte("s\xff\xff\xff\xff\x7f")), 1<<40)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "a length without bytes takes no memory")
	_, err = node.DecodeValue(bytes.NewReader(bytes.Repeat([]byte("l\x01"), 100_000)), 1<<20)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
	_, err = node.DecodeValue(bytes.NewReader(bytes.Repeat([]byte("y\x01"), 100_000)), 1<<20)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "layers within layers")
	_, err = node.DecodeValue(bytes.NewReader([]byte("y\xff\xff\xff\x7f")), 1<<40)
	require.Equal(t, fault.Exhausted, fault.KindOf(err), "layers beyond counting")
	damaged := bytes.Replace(encode(t, stack(t)), []byte("s\x01a"), []byte("b\x01a"), 1)
	_, err = node.DecodeValue(bytes.NewReader(damaged), 1<<20)
	require.Equal(t, fault.CodeValueDamaged, fault.CodeOf(err), "a name that is none")
	for _, raw := range []string{
		"", "x", "y", "y\x01", "y\x00s\x00", "i123", "l\x02t", "j\x01{", "r", "rMRv1",
		"s\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		_, err := node.DecodeValue(bytes.NewReader([]byte(raw)), 1<<20)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%q: %v", raw, err)
	}
}

func TestWriteErrorsAreReported(t *testing.T) {
	t.Parallel()
	for _, v := range []node.Value{"x", picture(t), node.List{"x"}} {
		require.ErrorIs(t, node.EncodeValue(broken{}, v), io.ErrClosedPipe)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]node.Value{
		"None": nil, "true": true, "12": int64(12), "0.5": 0.5, "text": "text", `{"a":[1]}`: map[string]any{"a": []any{int64(1)}},
		"IMAGE 2×3×4×3": picture(t), "LAYERS 2 of 48 pixels in all": stack(t), "[1, x]": node.List{int64(1), "x"},
		"[1, 1, 1, 1, 1, 1, 1, 1, … (9 in all)]": ones(9),
	} {
		require.Equal(t, want, node.Describe(v))
	}
}

func ones(n int) node.List {
	list := make(node.List, n)
	for i := range list {
		list[i] = int64(1)
	}
	return list
}

func FuzzDecodeValue(f *testing.F) {
	for _, v := range []node.Value{int64(1), "x", map[string]any{"a": 1.5}, node.List{true, nil}} {
		f.Add(encode(f, v))
	}
	f.Add(encode(f, picture(f)))
	f.Add(encode(f, stack(f)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := node.DecodeValue(bytes.NewReader(raw), 1<<16)
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
			return
		}
		back, err := node.DecodeValue(bytes.NewReader(encode(t, v)), 1<<20)
		require.NoError(t, err)
		require.Equal(t, encode(t, v), encode(t, back))
	})
}
