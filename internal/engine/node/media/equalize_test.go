package media_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// bands returns the equalizer's inputs except for the sound.
func bands(sound *media.Sound, low, mid, high float64) node.Args {
	return node.Args{
		"audio": sound, "low_gain_dB": low, "low_freq": int64(150), "mid_gain_dB": mid, "mid_freq": int64(1200), "mid_q": 1.3,
		"high_gain_dB": high, "high_freq": int64(4000),
	}
}

func noise(t *testing.T, rate int) *media.Sound {
	t.Helper()
	r, channel := rand.New(rand.NewPCG(1, 2)), make([]float32, 4000)
	for i := range channel {
		channel[i] = 0.05 * (2*r.Float32() - 1)
	}
	s, err := media.NewSound(rate, [][]float32{channel})
	require.NoError(t, err)
	return s
}

// ffmpeg's filters follow the same formulas independently. For shelves, ffmpeg means another quality: its width w
// gives the slope sqrt(2A) sin/2w, where the cookbook has 2 sqrt(A) sin/2Q.
func TestTheEqualizerDoesWhatFFmpegsFiltersDo(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for _, rate := range []int{16000, 44100} {
		for _, gains := range [][3]float64{{6, 0, 0}, {-12, 0, 0}, {0, 9, 0}, {0, -24, 0}, {0, 0, 5}, {0, 0, -7.5}, {-3, 4, 8}} {
			in := noise(t, rate)
			got := a.first("AudioEqualizer3Band", bands(in, gains[0], gains[1], gains[2])).(*media.Sound)
			filters := fmt.Sprintf("bass=g=%[1]g:f=150:t=q:w=%[4]g:r=f64,equalizer=g=%[2]g:f=1200:t=q:w=1.3:r=f64,"+
				"treble=g=%[3]g:f=4000:t=q:w=%[4]g:r=f64",
				gains[0], gains[1], gains[2], 0.707/math.Sqrt2)
			want := throughFFmpeg(t, rate, in.Channel(0), filters)
			require.Equal(t, rate, got.Rate())
			require.InDeltaSlice(t, want, got.Channel(0), 2e-6, "%d Hz, %v", rate, gains)
		}
	}
}

func throughFFmpeg(t *testing.T, rate int, samples []float32, filters string) []float32 {
	t.Helper()
	var in, out bytes.Buffer
	require.NoError(t, binary.Write(&in, binary.LittleEndian, samples))
	format := []string{"-f", "f32le", "-ar", fmt.Sprint(rate), "-ac", "1"}
	args := append(append([]string{"-loglevel", "error"}, format...), "-i", "pipe:0", "-af", filters)
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append(append(args, format...), "pipe:1")...)
	cmd.Stdin, cmd.Stdout = &in, &out
	require.NoError(t, cmd.Run())
	got := make([]float32, out.Len()/4)
	require.NoError(t, binary.Read(&out, binary.LittleEndian, got))
	return got
}

func TestEqualizerKeepsNeutralBandsAndClips(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	in := noise(t, 44100)
	require.Same(t, in, a.first("AudioEqualizer3Band", bands(in, 0, 0, 0)))

	steady := make([]float32, 2000)
	for i := range steady {
		steady[i] = 0.5
	}
	both, err := media.NewSound(44100, [][]float32{steady, make([]float32, 2000)})
	require.NoError(t, err)
	got := a.first("AudioEqualizer3Band", bands(both, 24, 0, 0)).(*media.Sound)
	require.EqualValues(t, 1, got.Channel(0)[1999])
	require.EqualValues(t, 0, got.Channel(1)[1999], "channels do not mix")
	require.InDelta(t, 0.5*math.Pow(10, -24.0/20), a.first("AudioEqualizer3Band", bands(both, -24, 0, 0)).(*media.Sound).Channel(0)[1999],
		1e-4)
}

func TestABandThatTheSoundDoesNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	_, err := a.try("AudioEqualizer3Band", bands(noise(t, 8000), 0, 0, 1))
	require.Equal(t, fault.Invalid, fault.KindOf(err), "4 kHz is the end of what 8,000 samples a second hold")
	require.NotNil(t, a.first("AudioEqualizer3Band", bands(noise(t, 8000), 1, 1, 0)))
	args := bands(noise(t, 8000), 0, 1, 0)
	args["mid_q"] = 0.0
	_, err = a.try("AudioEqualizer3Band", args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}
