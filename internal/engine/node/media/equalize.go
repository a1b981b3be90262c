package media

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
)

// shelfQuality is the quality (q) of the outer bands.
const shelfQuality = 0.707

// AudioEqualizer3Band makes three bands of a sound louder or softer.
func AudioEqualizer3Band() *node.Class {
	gain := func(name, tooltip string) node.Input {
		return node.Input{Name: name, Type: node.Float, Default: 0.0, Min: -24.0, Max: 24.0, Step: 0.1, Tooltip: tooltip}
	}
	frequency := func(name string, def, least, most int, tooltip string) node.Input {
		return node.Input{Name: name, Type: node.Int, Default: def, Min: least, Max: most, Tooltip: tooltip}
	}
	return &node.Class{
		Name: "AudioEqualizer3Band", DisplayName: "Audio Equalizer (3-Band)", Category: "audio", Module: moduleAudio,
		Description:   "Makes the low, the middle and the high part of a sound louder or softer. What leaves full scale is cut off.",
		SearchAliases: []string{"eq", "bass boost", "treble boost", "equalizer"}, Experimental: true,
		Inputs: []node.Input{
			sounds("audio", "The sound."),
			gain("low_gain_dB", "The change of the low part, in decibels."),
			frequency("low_freq", 100, 20, 500, "What is below is low, in Hz."),
			gain("mid_gain_dB", "The change of the middle, in decibels."),
			frequency("mid_freq", 1000, 200, 4000, "What the middle is around, in Hz."),
			{Name: "mid_q", Type: node.Float, Default: 0.707, Min: 0.1, Max: 10.0, Step: 0.1, Tooltip: "How narrow the middle is."},
			gain("high_gain_dB", "The change of the high part, in decibels."),
			frequency("high_freq", 5000, 1000, 15000, "What is above is high, in Hz."),
		},
		Outputs: audioOut(),
		Cost:    soundCost,
		Run:     runEqualizer,
	}
}

func runEqualizer(ctx context.Context, call *node.Call) (node.Result, error) {
	sound, q := call.Sound("audio"), call.Float("mid_q")
	bands := []struct {
		gain, frequency, q float64
		filter             func(rate int, frequency, decibels, q float64) (media.Biquad, error)
	}{
		{call.Float("low_gain_dB"), call.Float("low_freq"), shelfQuality, media.LowShelf},
		{call.Float("mid_gain_dB"), call.Float("mid_freq"), q, media.Peak},
		{call.Float("high_gain_dB"), call.Float("high_freq"), shelfQuality, media.HighShelf},
	}
	for _, b := range bands {
		if b.gain == 0 {
			continue
		}
		if ctx.Err() != nil {
			return node.Result{}, context.Cause(ctx)
		}
		f, err := b.filter(sound.Rate(), b.frequency, b.gain, b.q)
		if err != nil {
			return node.Result{}, err
		}
		sound = sound.Filter(f)
	}
	return declare.One(sound, nil)
}
