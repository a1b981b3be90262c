package jpegplane

import "context"

// The weights are cosines of multiples of a sixteenth of π, times the root of 2, in 14 bits. That of the fourth is one less
// than its rounding, as it must fit ffmpeg's 16-bit products.
const (
	w1 = 22725
	w2 = 21407
	w3 = 19266
	w4 = 16383
	w5 = 12873
	w6 = 8867
	w7 = 4520

	rowShift    = 11
	columnShift = 20
	flatShift   = 3 // of a row with a mean and nothing else
)

// level is the DC coefficient of a mean of 128, in which samples are centred.
const level = 1024

// inverse transforms the coefficients of a block, in natural order, and writes its samples. The steps and their rounding
// are ffmpeg's.
func inverse(c *[blockSize]int32, pix []uint8, stride int) {
	for i := 0; i < blockSize; i += 8 {
		row(c[i : i+8 : i+8])
	}
	for i := range 8 {
		column(c, i, pix[i:], stride)
	}
}

func row(r []int32) {
	_ = r[7]
	high := r[4] | r[5] | r[6] | r[7]
	if r[1]|r[2]|r[3]|high == 0 {
		mean := int32(int16(r[0] << flatShift))
		for i := range r {
			r[i] = mean
		}
		return
	}
	a0 := w4*r[0] + 1<<(rowShift-1)
	a1, a2, a3 := a0+w6*r[2], a0-w6*r[2], a0-w2*r[2]
	a0 += w2 * r[2]
	b0, b1 := w1*r[1]+w3*r[3], w3*r[1]-w7*r[3]
	b2, b3 := w5*r[1]-w1*r[3], w7*r[1]-w5*r[3]
	if high != 0 {
		a0, a1 = a0+w4*r[4]+w6*r[6], a1-w4*r[4]-w2*r[6]
		a2, a3 = a2-w4*r[4]+w2*r[6], a3+w4*r[4]-w6*r[6]
		b0, b1 = b0+w5*r[5]+w7*r[7], b1-w1*r[5]-w5*r[7]
		b2, b3 = b2+w7*r[5]+w3*r[7], b3+w3*r[5]-w1*r[7]
	}
	short := func(v int32) int32 { return int32(int16(v >> rowShift)) }
	r[0], r[7] = short(a0+b0), short(a0-b0)
	r[1], r[6] = short(a1+b1), short(a1-b1)
	r[2], r[5] = short(a2+b2), short(a2-b2)
	r[3], r[4] = short(a3+b3), short(a3-b3)
}

func column(c *[blockSize]int32, i int, pix []uint8, stride int) {
	a0 := w4 * (c[i] + 1<<(columnShift-1)/w4)
	c1, c2, c3 := c[8+i], c[16+i], c[24+i]
	c4, c5, c6, c7 := c[32+i], c[40+i], c[48+i], c[56+i]
	a1, a2, a3 := a0+w6*c2-w4*c4-w2*c6, a0-w6*c2-w4*c4+w2*c6, a0-w2*c2+w4*c4-w6*c6
	a0 += w2*c2 + w4*c4 + w6*c6
	b0, b1 := w1*c1+w3*c3+w5*c5+w7*c7, w3*c1-w7*c3-w1*c5-w5*c7
	b2, b3 := w5*c1-w1*c3+w7*c5+w3*c7, w7*c1-w5*c3+w3*c5-w1*c7
	for k, v := range [8]int32{a0 + b0, a1 + b1, a2 + b2, a3 + b3, a3 - b3, a2 - b2, a1 - b1, a0 - b0} {
		pix[k*stride] = uint8(min(max(v>>columnShift, 0), 255))
	}
}

// transformAll transforms the blocks of a progressive file, all of whose scans were read.
func (d *decoder) transformAll(ctx context.Context) error {
	for i := range d.components {
		c := &d.components[i]
		quant := &d.quant[c.quant]
		for y := range c.rows {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for x := range c.stride {
				var block [blockSize]int32
				for k, v := range c.coefficients[(y*c.stride+x)*blockSize:][:blockSize] {
					block[k] = int32(int16(int32(v) * quant[k]))
				}
				block[0] = mean(int(c.coefficients[(y*c.stride+x)*blockSize]), quant)
				inverse(&block, c.at(x, y), 8*c.stride)
			}
		}
	}
	return nil
}

// mean is the DC coefficient of a block of samples around 128.
func mean(coefficient int, quant *[blockSize]int32) int32 {
	return int32(min(max(coefficient*int(quant[0])+level, -1<<15), 1<<15-1))
}

// at returns the samples from the first of a block on.
func (c *component) at(x, y int) []uint8 { return c.pix[(y*8*c.stride+x)*8:] }
