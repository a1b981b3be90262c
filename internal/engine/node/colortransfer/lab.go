package colortransfer

import (
	"context"
	"math"
)

// least is a lower bound of spreads, which prevents divisions by zero.
const least = 1e-6

type (
	vector [3]float64
	matrix [3]vector
)

// stats holds the mean of colours in Lab and their covariance.
type stats struct {
	mean       vector
	covariance matrix
}

// byLab changes the mean and the spread of the target's colours, or their covariance, to those of the reference.
func (t transfer) byLab(ctx context.Context) ([]float32, error) {
	var out []float32
	var from, to stats
	var by matrix
	for i, f := range t.target {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case t.baseline == perFrame:
			from, to = statsOf(t.source(i)), statsOf(one(t.ref, i))
		case i == 0:
			from, to = statsOf(t.source(i)), statsOf(t.ref)
		}
		if t.baseline == perFrame || i == 0 {
			by = scaling(from.covariance, to.covariance)
			if t.method == mkl {
				by = transport(from.covariance, to.covariance)
			}
		}
		for k := 0; k < len(f.pix); k += 3 {
			lab := toLab(f.pix[k:])
			moved := by.times(lab.minus(from.mean)).plus(to.mean)
			for c := range moved {
				moved[c] = lab[c] + t.strength*(moved[c]-lab[c])
			}
			rgb := fromLab(moved)
			out = append(out, rgb[0], rgb[1], rgb[2])
		}
	}
	return out, nil
}

// statsOf returns the statistics of all frames together. Each frame has the same weight.
func statsOf(frames []frame) stats {
	var s stats
	for _, f := range frames {
		for k := 0; k < len(f.pix); k += 3 {
			s.mean = s.mean.plus(toLab(f.pix[k:]).over(float64(f.pixels() * len(frames))))
		}
	}
	for _, f := range frames {
		n := float64(f.pixels() * len(frames))
		for k := 0; k < len(f.pix); k += 3 {
			d := toLab(f.pix[k:]).minus(s.mean)
			for r := range 3 {
				for c := range 3 {
					s.covariance[r][c] += d[r] * d[c] / n
				}
			}
		}
	}
	return s
}

// scaling returns the matrix that changes the spread of each channel to another one.
func scaling(from, to matrix) matrix {
	var m matrix
	for c := range 3 {
		m[c][c] = max(math.Sqrt(to[c][c]), least) / max(math.Sqrt(from[c][c]), least)
	}
	return m
}

// transport returns the linear map of least change that turns one covariance into another.
func transport(from, to matrix) matrix {
	values, vectors := eigen(from)
	var forth, back matrix // columns of vectors, scaled by the roots of their values
	for c := range 3 {
		root := max(math.Sqrt(max(values[c], 0)), least)
		for r := range 3 {
			forth[r][c], back[r][c] = vectors[r][c]*root, vectors[r][c]/root
		}
	}
	values, vectors = eigen(forth.transposed().mul(to).mul(forth))
	half := vectors
	for c := range 3 {
		for r := range 3 {
			half[r][c] *= math.Sqrt(max(values[c], 0))
		}
	}
	return back.mul(half.mul(vectors.transposed())).mul(back.transposed())
}

// eigen returns the eigenvalues of a symmetric matrix and its eigenvectors as columns, by Jacobi's rotations.
func eigen(m matrix) (values vector, vectors matrix) {
	const sweeps = 32 // three rows need fewer than ten
	for i := range 3 {
		vectors[i][i] = 1
	}
	for range sweeps {
		for _, at := range [3][2]int{{0, 1}, {0, 2}, {1, 2}} {
			m, vectors = rotated(m, vectors, at[0], at[1])
		}
	}
	return vector{m[0][0], m[1][1], m[2][2]}, vectors
}

// rotated returns the matrix after a rotation that makes one element beside the diagonal zero.
func rotated(m, vectors matrix, p, q int) (matrix, matrix) {
	if m[p][q] == 0 {
		return m, vectors
	}
	angle := math.Atan2(2*m[p][q], m[q][q]-m[p][p]) / 2
	sin, cos := math.Sincos(angle)
	turn := matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	turn[p][p], turn[q][q], turn[p][q], turn[q][p] = cos, cos, sin, -sin
	m = turn.transposed().mul(m).mul(turn)
	m[p][q], m[q][p] = 0, 0
	return m, vectors.mul(turn)
}

func (v vector) plus(w vector) vector  { return vector{v[0] + w[0], v[1] + w[1], v[2] + w[2]} }
func (v vector) minus(w vector) vector { return vector{v[0] - w[0], v[1] - w[1], v[2] - w[2]} }
func (v vector) over(by float64) vector {
	return vector{v[0] / by, v[1] / by, v[2] / by}
}

func (m matrix) times(v vector) vector {
	var out vector
	for r := range 3 {
		out[r] = m[r][0]*v[0] + m[r][1]*v[1] + m[r][2]*v[2]
	}
	return out
}

func (m matrix) mul(by matrix) matrix {
	var out matrix
	for r := range 3 {
		for c := range 3 {
			out[r][c] = m[r][0]*by[0][c] + m[r][1]*by[1][c] + m[r][2]*by[2][c]
		}
	}
	return out
}

func (m matrix) transposed() matrix {
	var out matrix
	for r := range 3 {
		for c := range 3 {
			out[c][r] = m[r][c]
		}
	}
	return out
}

// The matrices between linear RGB and XYZ, and the white point D65, with kornia's values.
var (
	toXYZ   = matrix{{0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}}
	fromXYZ = matrix{
		{3.2404813432005266, -1.5371515162713185, -0.4985363261688878},
		{-0.9692549499965682, 1.8759900014898907, 0.0415559265582928},
		{0.0556466391351772, -0.2040413383665112, 1.0573110696453443},
	}
	white = vector{0.95047, 1, 1.08883}
)

// toLab converts the first pixel of RGB.
func toLab(rgb []float32) vector {
	var linear vector
	for c := range linear {
		v := float64(rgb[c])
		if v > 0.04045 {
			linear[c] = math.Pow((v+0.055)/1.055, 2.4)
		} else {
			linear[c] = v / 12.92
		}
	}
	xyz := toXYZ.times(linear)
	for c := range xyz {
		v := xyz[c] / white[c]
		if v > 0.008856 {
			xyz[c] = math.Cbrt(v)
		} else {
			xyz[c] = 7.787*v + 4.0/29
		}
	}
	return vector{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// fromLab converts to RGB, clamped to 0..1.
func fromLab(lab vector) [3]float32 {
	y := (lab[0] + 16) / 116
	xyz := vector{lab[1]/500 + y, y, max(y-lab[2]/200, 0)}
	for c, v := range xyz {
		if v > 0.2068966 {
			v = v * v * v
		} else {
			v = (v - 4.0/29) / 7.787
		}
		xyz[c] = v * white[c]
	}
	var rgb [3]float32
	for c, v := range fromXYZ.times(xyz) {
		if v > 0.0031308 {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		} else {
			v *= 12.92
		}
		rgb[c] = float32(min(max(v, 0), 1))
	}
	return rgb
}
