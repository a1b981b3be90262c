package colortransfer

import (
	"context"
	"sort"
)

// bins is the number of bins of a histogram.
const bins = 256

// byHistogram gives every value of a channel the value of the same rank in the reference.
func (t transfer) byHistogram(ctx context.Context) ([]float32, error) {
	var out []float32
	var table [][bins]float32
	for i, f := range t.target {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t.baseline == perFrame {
			table = matching(ranks(t.source(i)), ranks(one(t.ref, i)))
		} else if i == 0 {
			table = matching(ranks(t.source(i)), ranks(t.ref))
		}
		for k, v := range f.pix {
			out = append(out, t.mixed(float64(v), float64(table[k%f.channels][bin(v)])))
		}
	}
	return out, nil
}

func bin(v float32) int { return min(max(int(v*(bins-1)), 0), bins-1) }

// ranks returns, by channel, the share of values up to each bin, in 32 bits as in ComfyUI.
func ranks(frames []frame) [][bins]float32 {
	out := make([][bins]float32, frames[0].channels)
	for _, f := range frames {
		for k, v := range f.pix {
			out[k%f.channels][bin(v)]++
		}
	}
	for c := range out {
		for i := 1; i < bins; i++ {
			out[c][i] += out[c][i-1]
		}
		total := out[c][bins-1]
		for i := range bins {
			out[c][i] /= total
		}
	}
	return out
}

// matching returns, for each bin of the source, the first bin of the reference whose rank is at least as high.
func matching(source, ref [][bins]float32) [][bins]float32 {
	out := make([][bins]float32, len(source))
	for c := range source {
		for i, rank := range source[c] {
			at := sort.Search(bins, func(k int) bool { return ref[c][k] >= rank })
			out[c][i] = float32(min(at, bins-1)) / (bins - 1)
		}
	}
	return out
}
