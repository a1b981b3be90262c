// Package media holds sounds and videos, which node classes exchange, and the operations on sounds. Values are immutable
// once returned and safe for concurrent reads. Files are read and written by package ffmpeg.
package media

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The bounds of a sound.
const (
	MaxChannels = 16
	MaxRate     = 768_000 // Hz
)

// Sound holds the float samples of a sound, nominally in -1..1, channel by channel.
type Sound struct {
	rate     int // samples per second and channel
	channels [][]float32
}

// NewSound returns a sound of the samples, one slice of equal length for each channel. It takes ownership of the
// slices.
func NewSound(rate int, channels [][]float32) (*Sound, error) {
	if rate < 1 || rate > MaxRate || len(channels) < 1 || len(channels) > MaxChannels {
		return nil, fault.New(fault.Invalid, fault.CodeSoundFormat, "a sound with %d channels at %d Hz is not supported", len(channels), rate)
	}
	for _, c := range channels {
		if len(c) != len(channels[0]) {
			return nil, fmt.Errorf("the channels of a sound have different lengths: %d and %d samples", len(channels[0]), len(c))
		}
	}
	return &Sound{rate: rate, channels: channels}, nil
}

// Silence returns a sound of zeros.
func Silence(rate, channels, samples int) (*Sound, error) {
	if channels < 1 || channels > MaxChannels || samples < 0 {
		return nil, fault.New(fault.Invalid, fault.CodeSoundFormat, "a sound with %d channels of %d samples is not supported", channels, samples)
	}
	zeros := make([]float32, samples)
	return NewSound(rate, slices.Repeat([][]float32{zeros}, channels))
}

// Rate returns the samples per second and channel.
func (s *Sound) Rate() int { return s.rate }

// Channels returns the number of channels, 1 to MaxChannels.
func (s *Sound) Channels() int { return len(s.channels) }

// Samples returns the length in samples of a channel.
func (s *Sound) Samples() int { return len(s.channels[0]) }

// Seconds returns the length in seconds.
func (s *Sound) Seconds() float64 { return float64(s.Samples()) / float64(s.rate) }

// Channel returns the samples of a channel. Callers must not change them.
func (s *Sound) Channel(i int) []float32 { return s.channels[i] }

// Bytes estimates the memory of the sound.
func (s *Sound) Bytes() int64 { return int64(len(s.channels)) * int64(s.Samples()) * 4 }

// Cut returns the samples [from, to), limited to the length of the sound. An empty part is fault.Invalid.
func (s *Sound) Cut(from, to int) (*Sound, error) {
	from, to = min(max(from, 0), s.Samples()), min(max(to, 0), s.Samples())
	if from >= to {
		return nil, fault.New(fault.Invalid, fault.CodeSoundEmpty,
			"the part of the sound is empty: its start must be before its end, and before the end of the sound at %.3f s", s.Seconds())
	}
	return s.each(func(c []float32) []float32 { return c[from:to:to] }), nil
}

// Only returns one channel as a sound.
func (s *Sound) Only(channel int) *Sound {
	return &Sound{rate: s.rate, channels: s.channels[channel : channel+1 : channel+1]}
}

// Gain returns the sound amplified by decibels, which may be negative.
func (s *Sound) Gain(decibels float64) *Sound {
	if decibels == 0 {
		return s
	}
	factor := float32(math.Pow(10, decibels/20))
	return s.each(func(c []float32) []float32 { return scaled(c, factor) })
}

func scaled(c []float32, factor float32) []float32 {
	out := make([]float32, len(c))
	for i, v := range c {
		out[i] = v * factor
	}
	return out
}

// each applies f to every channel.
func (s *Sound) each(f func([]float32) []float32) *Sound {
	out := make([][]float32, len(s.channels))
	for i, c := range s.channels {
		out[i] = f(c)
	}
	return &Sound{rate: s.rate, channels: out}
}

// spread returns the sound with the given number of channels; a single channel is copied to each.
func (s *Sound) spread(channels int) (*Sound, error) {
	switch len(s.channels) {
	case channels:
		return s, nil
	case 1:
		return &Sound{rate: s.rate, channels: slices.Repeat(s.channels, channels)}, nil
	}
	return nil, fault.New(fault.Invalid, fault.CodeSoundChannels, "sounds with %d and %d channels cannot be combined", len(s.channels),
		channels)
}

// fits refuses a sound of more than most bytes. Without this bound, two short files at rates far apart, or a sound that is
// appended to itself again and again, could exhaust the memory.
func fits(channels int, samples, most int64) error {
	if samples > most/4/int64(channels) {
		return fault.New(fault.Exhausted, fault.CodeSoundTooLong, "a sound with %d channels of %d samples is too large", channels, samples)
	}
	return nil
}

// Matched returns both sounds at the higher of their rates. Like the functions below, it returns fault.Exhausted for a
// sound of more than most bytes.
func Matched(ctx context.Context, a, b *Sound, most int64) (*Sound, *Sound, error) {
	rate := max(a.rate, b.rate)
	for _, s := range []*Sound{a, b} {
		if err := fits(len(s.channels), s.samplesAt(rate), most); err != nil {
			return nil, nil, err
		}
	}
	a, err := a.Resample(ctx, rate)
	if err != nil {
		return nil, nil, err
	}
	b, err = b.Resample(ctx, rate)
	return a, b, err
}

// Concat returns a followed by b, at the higher of their rates. Mono sounds become stereo.
func Concat(ctx context.Context, a, b *Sound, most int64) (*Sound, error) {
	a, b, err := Matched(ctx, a, b, most)
	if err != nil {
		return nil, err
	}
	channels := max(2, len(a.channels), len(b.channels))
	if err := fits(channels, int64(a.Samples())+int64(b.Samples()), most); err != nil {
		return nil, err
	}
	if a, err = a.spread(channels); err != nil {
		return nil, err
	}
	if b, err = b.spread(channels); err != nil {
		return nil, err
	}
	out := make([][]float32, channels)
	for i := range out {
		out[i] = slices.Concat(a.channels[i], b.channels[i])
	}
	return &Sound{rate: a.rate, channels: out}, nil
}

// Join returns the first channels of two sounds as left and right channel, as long as the shorter sound.
func Join(ctx context.Context, left, right *Sound, most int64) (*Sound, error) {
	left, right, err := Matched(ctx, left, right, most)
	if err != nil {
		return nil, err
	}
	n := min(left.Samples(), right.Samples())
	return &Sound{rate: left.rate, channels: [][]float32{left.channels[0][:n:n], right.channels[0][:n:n]}}, nil
}

// Mix combines the samples of a and b by f. The result is as long as a; b is cut or padded with silence. If the
// magnitude of a sample exceeds 1, the whole result is scaled down to a peak of 1.
func Mix(ctx context.Context, a, b *Sound, most int64, f func(x, y float32) float32) (*Sound, error) {
	a, b, err := Matched(ctx, a, b, most)
	if err != nil {
		return nil, err
	}
	channels := max(len(a.channels), len(b.channels))
	if err := fits(channels, int64(a.Samples()), most); err != nil {
		return nil, err
	}
	if a, err = a.spread(channels); err != nil {
		return nil, err
	}
	if b, err = b.spread(channels); err != nil {
		return nil, err
	}
	out, peak := make([][]float32, channels), float32(0)
	for i := range out {
		out[i] = make([]float32, a.Samples())
		for n, x := range a.channels[i] {
			var y float32
			if n < len(b.channels[i]) {
				y = b.channels[i][n]
			}
			v := f(x, y)
			out[i][n], peak = v, max(peak, v, -v)
		}
	}
	mixed := &Sound{rate: a.rate, channels: out}
	if peak > 1 {
		return mixed.each(func(c []float32) []float32 { return scaled(c, 1/peak) }), nil
	}
	return mixed, nil
}
