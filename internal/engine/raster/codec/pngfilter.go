package codec

import "encoding/binary"

// The filter numbers of PNG rows.
const (
	filterNone = iota
	filterSub
	filterUp
	filterAverage
	filterPaeth
	filterCount
)

// filter chooses the row filter with the smallest sum of absolute differences.
type filter struct {
	bpp  int
	rows [filterCount][]byte // one candidate row for each filter, with the filter number first
}

func newFilter(stride, bpp int) *filter {
	f := &filter{bpp: bpp}
	buf := make([]byte, filterCount*(stride+1))
	for i := range f.rows {
		f.rows[i] = buf[i*(stride+1) : (i+1)*(stride+1)]
		f.rows[i][0] = byte(i)
	}
	return f
}

// append adds the best filtering of row, given the row above, to out. Of equal ones it takes up before Paeth, sub, average and
// none. Paeth costs most, so it comes last, and no filter is tried after a sum of zero.
func (f *filter) append(out, row, prev []byte) []byte {
	best, least := filterUp, f.up(row, prev)
	if least == 0 {
		return append(out, f.rows[best]...)
	}
	try := func(filter, sum int) {
		if sum < least {
			best, least = filter, sum
		}
	}
	try(filterSub, f.sub(row))
	try(filterAverage, f.average(row, prev))
	try(filterNone, f.none(row))
	if best != filterUp {
		least++ // Paeth wins with the same sum
	}
	try(filterPaeth, f.paeth(row, prev, least))
	return append(out, f.rows[best]...)
}

// magnitude is the absolute value of a byte taken as signed.
func magnitude(b uint8) int {
	s := int(int8(b))
	m := s >> 63
	return (s ^ m) - m
}

func (f *filter) none(row []byte) (sum int) {
	copy(f.rows[filterNone][1:], row)
	n := len(row) &^ 7
	for i := 0; i < n; i += 8 {
		sum += magnitudes(binary.LittleEndian.Uint64(row[i:]))
	}
	for _, v := range row[n:] {
		sum += magnitude(v)
	}
	return sum
}

func (f *filter) sub(row []byte) (sum int) {
	dst := f.rows[filterSub][1:][:len(row)]
	for i := range min(f.bpp, len(row)) {
		dst[i] = row[i]
		sum += magnitude(row[i])
	}
	return sum + subtract(dst[f.bpp:], row[f.bpp:], row)
}

func (f *filter) up(row, prev []byte) int { return subtract(f.rows[filterUp][1:], row, prev) }

// subtract sets dst to a - b and returns the sum of its magnitudes. b may be longer than a.
func subtract(dst, a, b []byte) (sum int) {
	n := len(a) &^ 7
	for i := 0; i < n; i += 8 {
		d := subtract8(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:]))
		binary.LittleEndian.PutUint64(dst[i:], d)
		sum += magnitudes(d)
	}
	for i := n; i < len(a); i++ {
		d := a[i] - b[i]
		dst[i] = d
		sum += magnitude(d)
	}
	return sum
}

func (f *filter) average(row, prev []byte) (sum int) {
	dst, prev := f.rows[filterAverage][1:][:len(row)], prev[:len(row)]
	for i := range f.bpp {
		d := row[i] - prev[i]/2
		dst[i] = d
		sum += magnitude(d)
	}
	left := row[:len(row)-f.bpp]
	row, dst, prev = row[f.bpp:][:len(left)], dst[f.bpp:][:len(left)], prev[f.bpp:][:len(left)]
	n := len(left) &^ 7
	for i := 0; i < n; i += 8 {
		mean := mean8(binary.LittleEndian.Uint64(left[i:]), binary.LittleEndian.Uint64(prev[i:]))
		d := subtract8(binary.LittleEndian.Uint64(row[i:]), mean)
		binary.LittleEndian.PutUint64(dst[i:], d)
		sum += magnitudes(d)
	}
	for i := n; i < len(left); i++ {
		d := row[i] - uint8((int(left[i])+int(prev[i]))/2)
		dst[i] = d
		sum += magnitude(d)
	}
	return sum
}

// paethRun is the number of bytes of a row after which paeth looks at its sum.
const paethRun = 256

// paeth returns early with a larger sum than limit.
func (f *filter) paeth(row, prev []byte, limit int) (sum int) {
	dst, prev := f.rows[filterPaeth][1:][:len(row)], prev[:len(row)]
	for i := range f.bpp {
		d := row[i] - prev[i]
		dst[i] = d
		sum += magnitude(d)
	}
	left := row[:len(row)-f.bpp]
	corner := prev[:len(left)]
	row, dst, prev = row[f.bpp:][:len(left)], dst[f.bpp:][:len(left)], prev[f.bpp:][:len(left)]
	n := len(left) &^ 7
	for lo := 0; lo < n && sum <= limit; lo += paethRun {
		for i := lo; i < min(lo+paethRun, n); i += 8 {
			p := predict8(binary.LittleEndian.Uint64(left[i:]), binary.LittleEndian.Uint64(prev[i:]), binary.LittleEndian.Uint64(corner[i:]))
			d := subtract8(binary.LittleEndian.Uint64(row[i:]), p)
			binary.LittleEndian.PutUint64(dst[i:], d)
			sum += magnitudes(d)
		}
	}
	for i := n; i < len(left); i++ {
		d := row[i] - predict(left[i], prev[i], corner[i])
		dst[i] = d
		sum += magnitude(d)
	}
	return sum
}

// predict is Paeth's choice among left, above and the corner.
func predict(a, b, c uint8) uint8 {
	pa, pb := int(b)-int(c), int(a)-int(c)
	pc := pa + pb
	ma, mb, mc := pa>>63, pb>>63, pc>>63
	pa, pb, pc = (pa^ma)-ma, (pb^mb)-mb, (pc^mc)-mc
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	default:
		return c
	}
}
