package media_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/fault"
)

func sound(t *testing.T, rate int, channels ...[]float32) *media.Sound {
	t.Helper()
	s, err := media.NewSound(rate, channels)
	require.NoError(t, err)
	return s
}

// enough is a bound in bytes that no test reaches.
const enough = 1 << 20

// tone is a sine of one second.
func tone(t *testing.T, rate int, hertz float64) *media.Sound {
	t.Helper()
	c := make([]float32, rate)
	for i := range c {
		c[i] = float32(math.Sin(2 * math.Pi * hertz * float64(i) / float64(rate)))
	}
	return sound(t, rate, c)
}

// A tone survives resampling, also to rates with more phases than the table holds. A tone above half of the new rate is
// removed.
func TestResampling(t *testing.T) {
	t.Parallel()
	for _, rates := range [][2]int{{44100, 48000}, {48000, 44100}, {8000, 44100}, {44100, 16000}, {44101, 48000}} {
		got, err := tone(t, rates[0], 440).Resample(t.Context(), rates[1])
		require.NoError(t, err)
		require.Equal(t, rates[1], got.Samples(), "the length stays one second")
		want := tone(t, rates[1], 440)
		for i := rates[1] / 10; i < rates[1]*9/10; i++ { // the ends have no neighbours
			require.InDelta(t, want.Channel(0)[i], got.Channel(0)[i], 0.01, "%v at %d", rates, i)
		}
	}
	high, err := tone(t, 48000, 10_000).Resample(t.Context(), 8000)
	require.NoError(t, err)
	for _, v := range high.Channel(0)[1000:7000] {
		require.InDelta(t, 0, v, 0.01)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tone(t, 44100, 440).Resample(ctx, 48000)
	require.ErrorIs(t, err, context.Canceled)
}

func TestCutChannelAndGainOfSounds(t *testing.T) {
	t.Parallel()
	s := sound(t, 10, []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8})
	part, err := s.Cut(1, 99)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 3, 4}, part.Channel(0))
	require.Equal(t, []float32{6, 7, 8}, part.Channel(1))
	require.Equal(t, []float32{5, 6, 7, 8}, s.Only(1).Channel(0))
	for _, empty := range [][2]int{{4, 9}, {2, 2}, {3, 1}} {
		_, err = s.Cut(empty[0], empty[1])
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	require.InDelta(t, 10, s.Gain(20).Channel(0)[0], 1e-5)
}

func TestJoiningAndMixingSounds(t *testing.T) {
	t.Parallel()
	mono, stereo := sound(t, 10, []float32{0.5, 0.25}), sound(t, 10, []float32{1}, []float32{-1})
	both, err := media.Concat(t.Context(), mono, stereo, enough)
	require.NoError(t, err)
	require.Equal(t, []float32{0.5, 0.25, 1}, both.Channel(0))
	require.Equal(t, []float32{0.5, 0.25, -1}, both.Channel(1))

	sum := func(x, y float32) float32 { return x + y }
	mixed, err := media.Mix(t.Context(), mono, stereo, enough, sum)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{1, 0.25 / 1.5}, mixed.Channel(0), 1e-6, "1.5 is the peak")
	require.InDeltaSlice(t, []float32{-0.5 / 1.5, 0.25 / 1.5}, mixed.Channel(1), 1e-6)

	joined, err := media.Join(t.Context(), mono, stereo, enough)
	require.NoError(t, err)
	require.Equal(t, [][]float32{{0.5}, {1}}, [][]float32{joined.Channel(0), joined.Channel(1)})

	_, err = media.Concat(t.Context(), stereo, sound(t, 10, []float32{0}, []float32{0}, []float32{0}), enough)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// Resampled from 1 Hz to 192 kHz, a sound is 192,000 times as long.
func TestJoinedSoundsStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	slow, fast := sound(t, 1, make([]float32, 1000)), sound(t, 192_000, make([]float32, 1000))
	first := func(x, _ float32) float32 { return x }
	for name, try := range map[string]func(a, b *media.Sound, most int64) error{
		"concat": func(a, b *media.Sound, most int64) error { _, err := media.Concat(t.Context(), a, b, most); return err },
		"join":   func(a, b *media.Sound, most int64) error { _, err := media.Join(t.Context(), a, b, most); return err },
		"mix": func(a, b *media.Sound, most int64) error {
			_, err := media.Mix(t.Context(), a, b, most, first)
			return err
		},
	} {
		require.Equal(t, fault.Exhausted, fault.KindOf(try(slow, fast, enough)), name)
		require.Equal(t, fault.Exhausted, fault.KindOf(try(fast, slow, enough)), name)
	}
	const most = 2 * 2000 * 4 // bytes of the result, which has two channels
	_, err := media.Concat(t.Context(), fast, fast, most)
	require.NoError(t, err)
	_, err = media.Concat(t.Context(), fast, fast, most-1)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
	stereo := sound(t, 192_000, make([]float32, 3), make([]float32, 3))
	_, err = media.Mix(t.Context(), fast, stereo, 1000*4*2-1, first)
	require.Equal(t, fault.Exhausted, fault.KindOf(err), "mono becomes stereo")
}

func TestSoundsAreStored(t *testing.T) {
	t.Parallel()
	s := sound(t, 44100, []float32{0, 0.5, -1}, []float32{1, float32(math.Inf(1)), 0})
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	raw := bytes.Clone(b.Bytes())
	got, err := media.ReadSound(&b)
	require.NoError(t, err)
	require.Equal(t, s, got)
	for cut := range raw {
		_, err := media.ReadSound(bytes.NewReader(raw[:cut]))
		require.Error(t, err)
	}
}

func FuzzReadSound(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := media.ReadSound(bytes.NewReader(raw))
		if err == nil {
			require.LessOrEqual(t, s.Bytes(), int64(len(raw)))
		}
	})
}
