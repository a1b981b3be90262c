package jpegplane

import (
	"context"
	"errors"
)

// spectrum is what a scan has of each block: the coefficients from first to last, and their bits down to low. Bits of high
// and above were in an earlier scan.
type spectrum struct{ first, last, high, low int }

// scan reads the coded data of a scan. Where the data is cut off or damaged, the scan ends, and the rest of the picture stays as it is.
func (d *decoder) scan(ctx context.Context, b []byte) error {
	if d.components == nil || len(b) < 1 || len(b) != 4+2*int(b[0]) || b[0] < 1 || b[0] > 3 {
		return damaged("a scan header of %d bytes", len(b))
	}
	var parts []*component
	for c := b[1 : len(b)-3]; len(c) > 0; c = c[2:] {
		comp := d.component(c[0])
		if comp == nil || c[1]>>4 > 3 || c[1]&15 > 3 {
			return damaged("a scan of component %d", c[0])
		}
		comp.dc, comp.ac, comp.last = c[1]>>4, c[1]&15, 0
		parts = append(parts, comp)
	}
	last := b[len(b)-3:]
	s := spectrum{int(last[0]), int(last[1]), int(last[2] >> 4), int(last[2] & 15)}
	if !d.progressive {
		s = spectrum{0, blockSize - 1, 0, 0}
	}
	if s.first > s.last || s.last >= blockSize || s.first > 0 && len(parts) > 1 || s.first == 0 && s.last > 0 && d.progressive || s.low > 13 {
		return damaged("a scan of coefficients %d to %d", s.first, s.last)
	}
	if err := d.check(parts, s); err != nil {
		return err
	}
	r := &reader{bits: bits{data: d.data, at: d.at}, decoder: d, spectrum: s}
	err := r.units(ctx, parts)
	d.at = r.bits.at
	if errors.Is(err, errDamaged) {
		return nil
	}
	return err
}

func (d *decoder) component(id byte) *component {
	for i := range d.components {
		if d.components[i].id == id {
			return &d.components[i]
		}
	}
	return nil
}

// check fails unless the tables of a scan are there.
func (d *decoder) check(parts []*component, s spectrum) error {
	for _, c := range parts {
		if s.first == 0 && s.high == 0 && d.dc[c.dc] == nil || s.last > 0 && d.ac[c.ac] == nil {
			return damaged("a scan without its Huffman table")
		}
	}
	return nil
}

// reader reads the blocks of a scan.
type reader struct {
	bits
	*decoder
	spectrum
	run   int // blocks that have no more coefficients in this scan
	block [blockSize]int32
}

// units reads all units of a scan: the blocks of one component in rows, or the blocks of a unit of each component in turn.
func (r *reader) units(ctx context.Context, parts []*component) error {
	across, down := parts[0].across, parts[0].down
	if len(parts) > 1 {
		across, down = parts[0].stride/parts[0].h, parts[0].rows/parts[0].v
	}
	for n := range across * down {
		if n%across == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if r.restart > 0 && n > 0 && n%r.restart == 0 {
			if err := r.begin(parts); err != nil {
				return err
			}
		}
		if err := r.unit(parts, n%across, n/across); err != nil {
			return err
		}
		if r.over() {
			return damaged("a scan is cut off")
		}
	}
	return nil
}

// unit reads the blocks of a unit.
func (r *reader) unit(parts []*component, x, y int) error {
	if len(parts) == 1 {
		return r.next(parts[0], x, y)
	}
	for _, c := range parts {
		for i := range c.h * c.v {
			if err := r.next(c, x*c.h+i%c.h, y*c.v+i/c.h); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts behind a restart marker.
func (r *reader) begin(parts []*component) error {
	r.reset()
	for r.bits.at+1 < len(r.bits.data) && r.bits.data[r.bits.at] == 0xFF && r.bits.data[r.bits.at+1] == 0xFF {
		r.bits.at++
	}
	if r.bits.at+1 >= len(r.bits.data) || r.bits.data[r.bits.at] != 0xFF ||
		r.bits.data[r.bits.at+1] < markerRST0 || r.bits.data[r.bits.at+1] > markerRST7 {
		return damaged("a restart marker is missing")
	}
	r.bits.at += 2
	r.run = 0
	for _, c := range parts {
		c.last = 0
	}
	return nil
}

// next reads one block of a component.
func (r *reader) next(c *component, x, y int) error {
	if !r.progressive {
		return r.sequential(c, x, y)
	}
	coefficients := c.coefficients[(y*c.stride+x)*blockSize:][:blockSize]
	switch {
	case r.first == 0 && r.high == 0:
		diff, err := r.difference(c)
		c.last += diff
		coefficients[0] = int16(c.last << r.low)
		return err
	case r.first == 0:
		coefficients[0] |= int16(r.take(1) << r.low)
		return nil
	case r.high == 0:
		return r.band(r.decoder.ac[c.ac], coefficients)
	default:
		return r.refine(r.decoder.ac[c.ac], coefficients)
	}
}

// difference reads by how much the DC coefficient differs from that of the block before.
func (r *reader) difference(c *component) (int, error) {
	size := r.value(r.decoder.dc[c.dc])
	if size < 0 || size > 11 {
		return 0, damaged("a DC coefficient of %d bits", size)
	}
	return r.number(size), nil
}

// sequential reads a whole block and transforms it.
func (r *reader) sequential(c *component, x, y int) error {
	diff, err := r.difference(c)
	if err != nil {
		return err
	}
	c.last += diff
	quant, table := &r.quant[c.quant], r.decoder.ac[c.ac]
	r.block = [blockSize]int32{mean(c.last, quant)}
	for k := 1; k < blockSize; k++ {
		symbol := r.value(table)
		zeros, size := symbol>>4, symbol&15
		switch {
		case symbol < 0:
			return damaged("an unknown code")
		case size == 0 && zeros < 15:
			k = blockSize
			continue
		}
		k += zeros
		if size == 0 {
			continue
		}
		if k >= blockSize {
			return damaged("too many coefficients")
		}
		at := zigzag[k]
		r.block[at] = int32(int16(int32(r.number(size)) * quant[at]))
	}
	inverse(&r.block, c.at(x, y), 8*c.stride)
	return nil
}

// band reads coefficients of a block for the first time.
func (r *reader) band(table *codes, coefficients []int16) error {
	if r.run > 0 {
		r.run--
		return nil
	}
	for k := r.first; k <= r.last; k++ {
		symbol := r.value(table)
		zeros, size := symbol>>4, symbol&15
		switch {
		case symbol < 0:
			return damaged("an unknown code")
		case size == 0 && zeros < 15:
			r.run = 1<<zeros - 1 + r.take(zeros)
			return nil
		}
		k += zeros
		if size == 0 {
			continue
		}
		if k >= blockSize {
			return damaged("too many coefficients")
		}
		coefficients[zigzag[k]] = int16(r.number(size) << r.low)
	}
	return nil
}

// refine reads one more bit of the coefficients of a block, and new ones between them.
func (r *reader) refine(table *codes, coefficients []int16) error {
	k := r.first
	for r.run == 0 && k <= r.last {
		symbol := r.value(table)
		if symbol < 0 {
			return damaged("an unknown code")
		}
		zeros, size := symbol>>4, symbol&15
		var fresh int16
		switch {
		case size == 0 && zeros < 15:
			r.run = 1<<zeros + r.take(zeros)
			continue
		case size == 1:
			fresh = int16(-1) << r.low
			if r.take(1) == 1 {
				fresh = 1 << r.low
			}
		case size > 1:
			return damaged("a new coefficient of %d bits", size)
		}
		k = r.sharpen(coefficients, k, zeros)
		if fresh != 0 && k <= r.last {
			coefficients[zigzag[k]] = fresh
		}
		k++
	}
	if r.run > 0 {
		r.sharpen(coefficients, k, blockSize)
		r.run--
	}
	return nil
}

// sharpen reads a bit of each coefficient that is there, from k on and past so many that are not, and returns where the next
// one is missing.
func (r *reader) sharpen(coefficients []int16, k, zeros int) int {
	for ; k <= r.last; k++ {
		at := zigzag[k]
		switch v := coefficients[at]; {
		case v == 0 && zeros == 0:
			return k
		case v == 0:
			zeros--
		case r.take(1) == 0:
		case v > 0:
			coefficients[at] += 1 << r.low
		default:
			coefficients[at] -= 1 << r.low
		}
	}
	return k
}
