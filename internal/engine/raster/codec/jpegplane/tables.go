package jpegplane

import "encoding/binary"

// zigzag is the natural position of each coefficient in the order of the file.
var zigzag = [blockSize]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// quantizers reads tables of quantization.
func (d *decoder) quantizers(b []byte) error {
	for len(b) > 0 {
		wide, id := b[0]>>4, b[0]&15
		b = b[1:]
		size := blockSize * (1 + int(wide))
		if wide > 1 || id > 3 || len(b) < size {
			return damaged("a quantization table")
		}
		for i, at := range zigzag {
			if wide == 0 {
				d.quant[id][at] = int32(b[i])
			} else {
				d.quant[id][at] = int32(binary.BigEndian.Uint16(b[2*i:]))
			}
		}
		b = b[size:]
	}
	return nil
}

const (
	// lookahead is the length of codes that are found at once.
	lookahead = 9
	// longest is the length of the longest code.
	longest = 16
)

// codes is a table of Huffman codes.
type codes struct {
	// short has length<<8 | value for every beginning of lookahead bits, 0 where the code is longer.
	short [1 << lookahead]uint16
	// end is the first code behind those of a length, shifted to longest bits; offset leads from a code to its value.
	end    [longest + 1]int
	offset [longest + 1]int
	values []byte
}

// tables reads tables of codes.
func (d *decoder) tables(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return damaged("a Huffman table")
		}
		n := 0
		for _, count := range b[1:17] {
			n += int(count)
		}
		if n > 256 || len(b) < 17+n {
			return damaged("a Huffman table of %d codes", n)
		}
		table, err := newCodes(b[1:17], b[17:17+n])
		if err != nil {
			return err
		}
		if b[0]>>4 == 0 {
			d.dc[b[0]&15] = table
		} else {
			d.ac[b[0]&15] = table
		}
		b = b[17+n:]
	}
	return nil
}

// newCodes assigns the codes of each length to the values in their order.
func newCodes(counts, values []byte) (*codes, error) {
	t := &codes{values: values}
	code, at := 0, 0
	for length := 1; length <= longest; length++ {
		t.offset[length] = at - code
		for range counts[length-1] {
			if length <= lookahead {
				first := code << (lookahead - length)
				for i := range 1 << (lookahead - length) {
					if first+i >= len(t.short) {
						return nil, damaged("a Huffman table with too many codes")
					}
					t.short[first+i] = uint16(length)<<8 | uint16(values[at])
				}
			}
			code, at = code+1, at+1
		}
		if code > 1<<length {
			return nil, damaged("a Huffman table with too many codes")
		}
		t.end[length] = code << (longest - length)
		code <<= 1
	}
	return t, nil
}

// bits reads the bits of a scan. Behind their end it gives zeros and counts them.
type bits struct {
	data  []byte
	at    int
	acc   uint64
	n     int // bits in acc
	empty int // bits in acc that the data does not have
}

// fill takes bytes until there are more bits than any code or number needs. A marker ends the data.
func (r *bits) fill() {
	for r.n <= 48 {
		var next byte
		switch {
		case r.at >= len(r.data):
			r.empty += 8
		case r.data[r.at] != 0xFF:
			next = r.data[r.at]
			r.at++
		case r.at+1 < len(r.data) && r.data[r.at+1] == 0:
			next = 0xFF
			r.at += 2
		default:
			r.empty += 8
		}
		r.acc = r.acc<<8 | uint64(next)
		r.n += 8
	}
}

// over reports whether more was read than there was.
func (r *bits) over() bool { return r.empty > r.n }

// reset drops the rest of the current byte and of zeros.
func (r *bits) reset() { r.acc, r.n, r.empty = 0, 0, 0 }

// take returns the next bits, at most 16.
func (r *bits) take(n int) int {
	if r.n < n {
		r.fill()
	}
	r.n -= n
	return int(r.acc>>r.n) & (1<<n - 1)
}

// number returns a signed number of so many bits.
func (r *bits) number(n int) int {
	if n == 0 {
		return 0
	}
	v := r.take(n)
	if v < 1<<(n-1) {
		v += 1 - 1<<n
	}
	return v
}

// value returns the value of the next code, -1 for a code that the table does not have.
func (r *bits) value(t *codes) int {
	if r.n < longest {
		r.fill()
	}
	if s := t.short[int(r.acc>>(r.n-lookahead))&(1<<lookahead-1)]; s != 0 {
		r.n -= int(s >> 8)
		return int(s & 0xFF)
	}
	ahead := int(r.acc>>(r.n-longest)) & (1<<longest - 1)
	for length := lookahead + 1; length <= longest; length++ {
		if ahead < t.end[length] {
			r.n -= length
			return int(t.values[ahead>>(longest-length)+t.offset[length]])
		}
	}
	return -1
}
