package media

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// EmptyAudio makes silence.
func EmptyAudio() *node.Class {
	return &node.Class{
		Name: "EmptyAudio", DisplayName: "Empty Audio", Category: "audio", Module: moduleAudio,
		Description: "Makes a silent sound.", SearchAliases: []string{"blank audio", "silence"},
		Inputs: []node.Input{
			{
				Name: "duration", Type: node.Float, Default: 60.0, Min: 0.0, Max: uint64(math.MaxUint64), Step: 0.01,
				Tooltip: "The length in seconds.",
			},
			{Name: "sample_rate", Type: node.Int, Default: 44100, Min: 1, Max: 192000, Advanced: true, Tooltip: "Samples per second."},
			{Name: "channels", Type: node.Int, Default: 2, Min: 1, Max: 2, Advanced: true, Tooltip: "1 is mono, 2 is stereo."},
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			duration, rate, channels := call.Float("duration"), call.Int("sample_rate"), call.Int("channels")
			samples := math.RoundToEven(duration * float64(rate))
			if !(samples >= 0) || samples*4*float64(channels) > float64(maxSound(call)) {
				return node.Result{}, fault.New(fault.Exhausted, fault.CodeSoundTooLong, "a sound of %g seconds at %d Hz is too large", duration, rate)
			}
			return declare.One(media.Silence(rate, channels, int(samples)))
		},
	}
}

// TrimAudioDuration takes a part of a sound.
func TrimAudioDuration() *node.Class {
	return &node.Class{
		Name: "TrimAudioDuration", DisplayName: "Trim Audio Duration", Category: "audio", Module: moduleAudio,
		Description: "Takes a part of a sound.", SearchAliases: []string{"cut audio", "audio clip", "shorten audio"},
		Inputs: []node.Input{
			sounds("audio", "The sound."),
			{
				Name: "start_index", Type: node.Float, Default: 0.0, Min: -float64(math.MaxUint64), Max: uint64(math.MaxUint64), Step: 0.01,
				Tooltip: "Where the part begins, in seconds; a negative one counts from the end.",
			},
			{Name: "duration", Type: node.Float, Default: 60.0, Min: 0.0, Step: 0.01, Tooltip: "The length of the part in seconds."},
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			sound, start, length := call.Sound("audio"), call.Float("start_index"), call.Float("duration")
			from := samplesOf(start, sound.Rate())
			if start < 0 {
				from = max(0, sound.Samples()+from)
			}
			return declare.One(sound.Cut(from, from+samplesOf(length, sound.Rate())))
		},
	}
}

// samplesOf converts a time to samples, within bounds such that a sum of two does not overflow.
func samplesOf(seconds float64, rate int) int {
	n := math.RoundToEven(seconds * float64(rate))
	if math.IsNaN(n) {
		return 0
	}
	return int(min(max(n, math.MinInt32), math.MaxInt32))
}

// SplitAudioChannels splits a stereo sound into its channels.
func SplitAudioChannels() *node.Class {
	return &node.Class{
		Name: "SplitAudioChannels", DisplayName: "Split Audio Channels", Category: "audio", Module: moduleAudio,
		Description: "Takes a stereo sound apart into its left and its right channel.", SearchAliases: []string{"stereo to mono"},
		Inputs:  []node.Input{sounds("audio", "A sound of two channels.")},
		Outputs: []node.Output{{Type: node.Audio, Name: "left"}, {Type: node.Audio, Name: "right"}},
		Cost:    soundCost,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			sound := call.Sound("audio")
			if sound.Channels() != 2 {
				refusal := fault.New(fault.Invalid, fault.CodeSoundChannels, "the sound has %d channels; 2 are needed", sound.Channels())
				return node.Result{}, refusal.Raising("ValueError", "AudioSplit: Input audio must be stereo (2 channels), got %d channel(s).",
					sound.Channels())
			}
			return node.Result{Outputs: []node.Value{sound.Only(0), sound.Only(1)}}, nil
		},
	}
}

// JoinAudioChannels makes a stereo sound of two sounds.
func JoinAudioChannels() *node.Class {
	return &node.Class{
		Name: "JoinAudioChannels", DisplayName: "Join Audio Channels", Category: "audio", Module: moduleAudio, Version: 1,
		Description: "Makes a stereo sound of two mono sounds. It is as long as the shorter.",
		Inputs:      []node.Input{sounds("audio_left", "The sound for the left."), sounds("audio_right", "The sound for the right.")},
		Outputs:     savedOut(),
		Cost:        soundCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			left, right := call.Sound("audio_left"), call.Sound("audio_right")
			if left.Channels() != 1 || right.Channels() != 1 {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeSoundChannels, "the sounds have %d and %d channels; 1 is needed",
					left.Channels(), right.Channels()).Raising("ValueError", "AudioJoin: Both input audios must be mono.")
			}
			return declare.One(media.Join(ctx, left, right, maxSound(call)))
		},
	}
}

// AudioConcat puts one sound after or before another.
func AudioConcat() *node.Class {
	return &node.Class{
		Name: "AudioConcat", DisplayName: "Concatenate Audio", Category: "audio", Module: moduleAudio,
		Description: "Puts the second sound behind or before the first. The higher rate of both is used, and mono becomes stereo.",
		Inputs: []node.Input{
			sounds("audio1", "The first sound."), sounds("audio2", "The second sound."),
			{Name: "direction", Type: node.Combo, Options: []string{"after", "before"}, Default: "after", Tooltip: "Where the second goes."},
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			a, b, direction := call.Sound("audio1"), call.Sound("audio2"), call.String("direction")
			if direction == "before" {
				a, b = b, a
			}
			return declare.One(media.Concat(ctx, a, b, maxSound(call)))
		},
	}
}

// mixes are the ways to combine two sounds.
var mixes = map[string]func(x, y float32) float32{
	"add":      func(x, y float32) float32 { return x + y },
	"mean":     func(x, y float32) float32 { return (x + y) / 2 },
	"subtract": func(x, y float32) float32 { return x - y },
	"multiply": func(x, y float32) float32 { return x * y },
}

// AudioMerge mixes one sound into another.
func AudioMerge() *node.Class {
	return &node.Class{
		Name: "AudioMerge", DisplayName: "Merge Audio", Category: "audio", Module: moduleAudio,
		Description: "Lays the second sound over the first, whose length stays. What would be louder than full scale is made softer as a whole.",
		Inputs: []node.Input{
			sounds("audio1", "The sound whose length the result has."), sounds("audio2", "The sound to lay over it."),
			{Name: "merge_method", Type: node.Combo, Options: []string{"add", "mean", "subtract", "multiply"}, Tooltip: "How samples go together."},
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			a, b, method := call.Sound("audio1"), call.Sound("audio2"), call.String("merge_method")
			mix, ok := mixes[method]
			if !ok { // a linked value is not checked against the input's options
				return node.Result{}, fault.New(fault.Invalid, fault.CodeMergeMethod, "unknown merge method %q", method)
			}
			return declare.One(media.Mix(ctx, a, b, maxSound(call), mix))
		},
	}
}

// AudioAdjustVolume makes a sound louder or softer.
func AudioAdjustVolume() *node.Class {
	return &node.Class{
		Name: "AudioAdjustVolume", DisplayName: "Adjust Audio Volume", Category: "audio", Module: moduleAudio,
		Description: "Makes a sound louder or softer.", SearchAliases: []string{"audio gain", "loudness", "audio level"},
		Inputs: []node.Input{
			sounds("audio", "The sound."),
			{Name: "volume", Type: node.Int, Default: 1, Min: -100, Max: 100, Tooltip: "The change in decibels; 6 doubles, -6 halves."},
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.One(call.Sound("audio").Gain(call.Float("volume")), nil)
		},
	}
}
