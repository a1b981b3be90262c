package codec

// taps are the samples that an output sample is mixed from.
type taps struct{ at, weight []int }

// rowTaps are the taps of each row of a picture in the rows of its chroma.
func rowTaps(o chromaOrder, h int) []taps {
	rows := h
	if o.down {
		rows = (h + 1) / 2
	}
	return tapsOf(rows, h, downOne)
}

// tap is a run of weights, in 30 bits, from a sample on.
type tap struct {
	first   int
	weights [3]int
}

// negligible is the sum of weights, in 30 bits, up to which samples at either end are left out.
const negligible = (1 << 30) * 2 / 1000

// tapsOf mixes linearly from src samples to more, dst, with integer weights that sum to one. Positions, the number of samples
// and the rounding of the weights are those of ffmpeg's scaler, which takes the nearest sample of less than four.
func tapsOf(src, dst, one int) []taps {
	out := make([]taps, dst)
	step := (src<<16 + dst/2) / dst
	if src == dst {
		for i := range out {
			out[i] = taps{[]int{i}, []int{one}}
		}
		return out
	}
	size := max(1, min(3, src-2))
	raw := make([]tap, dst)
	for i := range raw {
		raw[i] = tapAt(step-1<<16+2*i*step, size)
	}
	need := shorten(raw, size)
	for i, t := range raw {
		out[i] = t.scaled(need, src, one)
	}
	return out
}

// tapAt weighs the samples around a position, which is counted in 17 bits.
func tapAt(position, size int) tap {
	t := tap{first: (position - (size-2)<<16) / (1 << 17)}
	for j := range size {
		t.weights[j] = max(0, 1<<30-abs((t.first+j)<<17-position)<<13)
	}
	return t
}

func abs(v int) int { return max(v, -v) }

// shorten moves weights that count to the front and returns how many there are at most.
func shorten(raw []tap, size int) (need int) {
	for i := len(raw) - 1; i >= 0; i-- {
		t := &raw[i]
		for left, k := 0, 0; k < size; k++ {
			if left += t.weights[0]; left > negligible || i < len(raw)-1 && t.first >= raw[i+1].first {
				break
			}
			t.first++
			t.weights = [3]int{t.weights[1], t.weights[2]}
		}
		count, sum := size, 0
		for j := size - 1; j > 0; j-- {
			if sum += t.weights[j]; sum > negligible {
				break
			}
			count--
		}
		need = max(need, count)
	}
	return need
}

// scaled rounds the weights so that they sum to one, each with what the rounding of the one before left.
func (t tap) scaled(need, src, one int) taps {
	const scale = 1 << 24
	out, sum, left := taps{}, 0, 0
	for _, w := range t.weights[:need] {
		sum += w * scale
	}
	sum = (sum + one/2) / one
	for j, w := range t.weights[:need] {
		v := w*scale + left
		q := (v + sum/2) / sum
		left = v - q*sum
		if q != 0 {
			out.at, out.weight = append(out.at, min(max(t.first+j, 0), src-1)), append(out.weight, q)
		}
	}
	return out
}
