package media

import (
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Biquad is a second-order filter with the coefficients of R. Bristow-Johnson's audio equalizer cookbook, which
// ComfyUI uses as well.
type Biquad struct{ b0, b1, b2, a1, a2 float64 }

// LowShelf amplifies the band below a frequency by decibels, HighShelf the band above it. At the frequency itself,
// both amplify by half as much. Peak amplifies a band around the frequency, which is narrower for a higher q. A
// frequency beyond half the rate is fault.Invalid.
func LowShelf(rate int, frequency, decibels, q float64) (Biquad, error) {
	return shelf(rate, frequency, decibels, q, 1)
}

// HighShelf amplifies the band above a frequency; see LowShelf.
func HighShelf(rate int, frequency, decibels, q float64) (Biquad, error) {
	return shelf(rate, frequency, decibels, q, -1)
}

// shelf returns a low shelf or, with side -1, a high shelf, which is its mirror image in frequency.
func shelf(rate int, frequency, decibels, q, side float64) (Biquad, error) {
	cos, alpha, a, err := band(rate, frequency, decibels, q)
	if err != nil {
		return Biquad{}, err
	}
	cos *= side
	slope := 2 * math.Sqrt(a) * alpha
	f := Biquad{
		b0: a * (a + 1 - (a-1)*cos + slope), b1: 2 * a * side * (a - 1 - (a+1)*cos), b2: a * (a + 1 - (a-1)*cos - slope),
		a1: -2 * side * (a - 1 + (a+1)*cos), a2: a + 1 + (a-1)*cos - slope,
	}
	return f.over(a + 1 + (a-1)*cos + slope), nil
}

// Peak amplifies a band around a frequency; see LowShelf.
func Peak(rate int, frequency, decibels, q float64) (Biquad, error) {
	cos, alpha, a, err := band(rate, frequency, decibels, q)
	if err != nil {
		return Biquad{}, err
	}
	return Biquad{b0: 1 + alpha*a, b1: -2 * cos, b2: 1 - alpha*a, a1: -2 * cos, a2: 1 - alpha/a}.over(1 + alpha/a), nil
}

// band returns the terms that all formulas share.
func band(rate int, frequency, decibels, q float64) (cos, alpha, a float64, err error) {
	if !(frequency > 0) || !(q > 0) || 2*frequency >= float64(rate) {
		return 0, 0, 0, fault.New(fault.Invalid, fault.CodeFrequency, "a sound of %d samples per second has no band around %g Hz with q %g", rate,
			frequency, q)
	}
	sin, cos := math.Sincos(2 * math.Pi * frequency / float64(rate))
	return cos, sin / (2 * q), math.Pow(10, decibels/40), nil
}

// over returns the filter with its coefficients divided by a0.
func (f Biquad) over(a0 float64) Biquad {
	return Biquad{f.b0 / a0, f.b1 / a0, f.b2 / a0, f.a1 / a0, f.a2 / a0}
}

// Filter returns the filtered sound, clipped to full scale.
func (s *Sound) Filter(f Biquad) *Sound {
	return s.each(func(c []float32) []float32 {
		out := make([]float32, len(c))
		var x1, x2, y1, y2 float64
		for i, v := range c {
			x := float64(v)
			y := f.b0*x + f.b1*x1 + f.b2*x2 - f.a1*y1 - f.a2*y2
			x1, x2, y1, y2 = x, x1, y, y1
			out[i] = float32(min(max(y, -1), 1))
		}
		return out
	})
}
