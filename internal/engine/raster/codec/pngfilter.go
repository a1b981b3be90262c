package codec

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

// append adds the best filtering of row, given the row above, to out.
func (f *filter) append(out, row, prev []byte) []byte {
	best, least := filterUp, f.up(row, prev)
	if s := f.paeth(row, prev); s < least {
		best, least = filterPaeth, s
	}
	if s := f.sub(row); s < least {
		best, least = filterSub, s
	}
	if s := f.average(row, prev); s < least {
		best, least = filterAverage, s
	}
	if s := f.none(row); s < least {
		best = filterNone
	}
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
	for _, v := range row {
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
	left := row[:len(row)-f.bpp]
	row, dst = row[f.bpp:][:len(left)], dst[f.bpp:][:len(left)]
	for i, a := range left {
		d := row[i] - a
		dst[i] = d
		sum += magnitude(d)
	}
	return sum
}

func (f *filter) up(row, prev []byte) (sum int) {
	dst, prev := f.rows[filterUp][1:][:len(row)], prev[:len(row)]
	for i, v := range row {
		d := v - prev[i]
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
	for i, a := range left {
		d := row[i] - uint8((int(a)+int(prev[i]))/2)
		dst[i] = d
		sum += magnitude(d)
	}
	return sum
}

func (f *filter) paeth(row, prev []byte) (sum int) {
	dst, prev := f.rows[filterPaeth][1:][:len(row)], prev[:len(row)]
	for i := range f.bpp {
		d := row[i] - prev[i]
		dst[i] = d
		sum += magnitude(d)
	}
	left := row[:len(row)-f.bpp]
	corner := prev[:len(left)]
	row, dst, prev = row[f.bpp:][:len(left)], dst[f.bpp:][:len(left)], prev[f.bpp:][:len(left)]
	for i, a := range left {
		d := row[i] - predict(a, prev[i], corner[i])
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
