package media

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The filter is a sinc under a Hann window, with six zero crossings on each side, cut off a little below half of the
// lower rate.
const (
	crossings = 6
	rolloff   = 0.99
)

// maxPhases bounds the table of filters. For rates with more phases, each filter is computed when it is used.
const maxPhases = 4096

// samplesAt returns the number of samples of the sound at another rate.
func (s *Sound) samplesAt(rate int) int64 {
	return (int64(s.Samples())*int64(rate) + int64(s.rate) - 1) / int64(s.rate)
}

// Resample returns the sound at another rate. The memory grows with the rate; Matched bounds it.
func (s *Sound) Resample(ctx context.Context, rate int) (*Sound, error) {
	if rate == s.rate {
		return s, nil
	}
	if rate < 1 || rate > MaxRate {
		return nil, fault.New(fault.Invalid, fault.CodeSoundFormat, "a rate of %d Hz is not supported", rate)
	}
	f := newFilter(s.rate, rate)
	out := make([][]float32, len(s.channels))
	for i, c := range s.channels {
		var err error
		if out[i], err = f.apply(ctx, c); err != nil {
			return nil, err
		}
	}
	return &Sound{rate: rate, channels: out}, nil
}

// filter resamples from one rate to another. The rates have no common divisor.
type filter struct {
	from, to int
	scale    float64     // factor of time, such that zero crossings of the filter are at distance 1
	reach    int         // number of samples to each side
	table    [][]float32 // by phase; nil = too many phases for a table
}

func newFilter(from, to int) *filter {
	d := gcd(from, to)
	f := &filter{from: from / d, to: to / d}
	f.scale = float64(min(f.from, f.to)) * rolloff / float64(f.from)
	f.reach = int(math.Ceil(crossings / f.scale))
	if f.to <= maxPhases {
		f.table = make([][]float32, f.to)
		for phase := range f.table {
			f.table[phase] = f.taps(phase)
		}
	}
	return f
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// taps returns the weights for an output that lies phase/to of a sample after an input sample: the weights of the
// reach samples before that input sample, of the sample itself, and of the reach samples after it.
func (f *filter) taps(phase int) []float32 {
	taps := make([]float32, 2*f.reach+2)
	for i := range taps {
		t := (float64(i-f.reach) - float64(phase)/float64(f.to)) * f.scale
		if math.Abs(t) >= crossings {
			continue
		}
		window := math.Cos(t * math.Pi / crossings / 2)
		sinc := 1.0
		if t != 0 {
			sinc = math.Sin(math.Pi*t) / (math.Pi * t)
		}
		taps[i] = float32(sinc * window * window * f.scale)
	}
	return taps
}

// apply filters one channel.
func (f *filter) apply(ctx context.Context, in []float32) ([]float32, error) {
	out := make([]float32, (int64(len(in))*int64(f.to)+int64(f.from)-1)/int64(f.from))
	for n := range out {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := int64(n) * int64(f.from)
		base, phase := int(at/int64(f.to)), int(at%int64(f.to))
		var taps []float32
		if f.table != nil {
			taps = f.table[phase]
		} else {
			taps = f.taps(phase)
		}
		var sum float32
		for i, w := range taps {
			if k := base + i - f.reach; k >= 0 && k < len(in) {
				sum += w * in[k]
			}
		}
		out[n] = sum
	}
	return out, nil
}
