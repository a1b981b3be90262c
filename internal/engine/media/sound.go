// Package media holds the sounds and videos that flow between node classes, and the operations on
// sounds (node graph semantics, section 5.8). Values are immutable once returned and safe for
// concurrent readers. Files are read and written by package ffmpeg below.
package media

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The bounds of a sound, as files have them.
const (
	MaxChannels = 16
	MaxRate     = 768_000 // Hz
)

// Sound is a piece of sound: float samples, nominally in -1..1, channel by channel.
type Sound struct {
	rate     int // samples per second and channel
	channels [][]float32
}

// NewSound returns a sound over samples, which it takes over: one slice a channel, all of one length.
func NewSound(rate int, channels [][]float32) (*Sound, error) {
	if rate < 1 || rate > MaxRate || len(channels) < 1 || len(channels) > MaxChannels {
		return nil, fault.New(fault.Invalid, "sound_format", "a sound of %d channels at %d Hz is not supported", len(channels), rate)
	}
	for _, c := range channels {
		if len(c) != len(channels[0]) {
			return nil, fmt.Errorf("channels of %d and %d samples", len(channels[0]), len(c))
		}
	}
	return &Sound{rate: rate, channels: channels}, nil
}

// Silence returns a sound of zeros.
func Silence(rate, channels, samples int) (*Sound, error) {
	if channels < 1 || channels > MaxChannels || samples < 0 {
		return nil, fault.New(fault.Invalid, "sound_format", "a sound of %d channels and %d samples is not supported", channels, samples)
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

// Seconds returns the length.
func (s *Sound) Seconds() float64 { return float64(s.Samples()) / float64(s.rate) }

// Channel returns the samples of a channel: a view that must not be written.
func (s *Sound) Channel(i int) []float32 { return s.channels[i] }

// Bytes is about the memory of the sound.
func (s *Sound) Bytes() int64 { return int64(len(s.channels)) * int64(s.Samples()) * 4 }

// Cut returns the part from one sample up to another. Both are cut to the sound; nothing left is
// fault.Invalid.
func (s *Sound) Cut(from, to int) (*Sound, error) {
	from, to = min(max(from, 0), s.Samples()), min(max(to, 0), s.Samples())
	if from >= to {
		return nil, fault.New(fault.Invalid, "sound_empty", "the part begins behind its end, or behind the end of the sound, which has %.3f s", s.Seconds())
	}
	return s.each(func(c []float32) []float32 { return c[from:to:to] }), nil
}

// Only returns one channel as a sound.
func (s *Sound) Only(channel int) *Sound {
	return &Sound{rate: s.rate, channels: s.channels[channel : channel+1 : channel+1]}
}

// Gain returns the sound louder or, when negative, softer by decibels.
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

// spread returns the sound with that many channels, if it has one: the same in each.
func (s *Sound) spread(channels int) (*Sound, error) {
	switch len(s.channels) {
	case channels:
		return s, nil
	case 1:
		return &Sound{rate: s.rate, channels: slices.Repeat(s.channels, channels)}, nil
	}
	return nil, fault.New(fault.Invalid, "sound_channels", "sounds of %d and %d channels do not go together", len(s.channels), channels)
}

// fits refuses a sound that would take more than most bytes: two short files at rates far apart, or a sound that is
// put behind itself over and over, would fill any memory.
func fits(channels int, samples, most int64) error {
	if samples > most/4/int64(channels) {
		return fault.New(fault.Exhausted, "sound_too_long", "a sound of %d channels and %d samples is more than a value may hold", channels, samples)
	}
	return nil
}

// Matched returns both sounds at the higher of their rates. Like all that put sounds together it gives
// fault.Exhausted where one would take more than most bytes.
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

// Concat returns a and then b, at the higher of their rates. Single channels become two.
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

// Join returns the first channels of two sounds as left and right, as long as the shorter.
func Join(ctx context.Context, left, right *Sound, most int64) (*Sound, error) {
	left, right, err := Matched(ctx, left, right, most)
	if err != nil {
		return nil, err
	}
	n := min(left.Samples(), right.Samples())
	return &Sound{rate: left.rate, channels: [][]float32{left.channels[0][:n:n], right.channels[0][:n:n]}}, nil
}

// Mix returns f of the samples of a and b, as long as a: b is cut, or silent behind its end. What is
// louder than 1 is made as much softer, all of it.
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
