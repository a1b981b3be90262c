package palette

import "slices"

// maxEntries bounds the colours that the cut works on. If a frame has more, low bits of all colours are dropped.
const maxEntries = 1 << 16

// entry is a colour without its dropped bits, and the number of its pixels.
type entry struct {
	color rgb
	count int
	sum   [3]int // of the full colours
}

// medianCut returns at most n colours that represent the pixels.
func medianCut(pix []uint8, n int) []rgb {
	entries, total := histogram(pix)
	root := &box{entries: entries, count: total}
	q := queue{root}
	for range n - 1 {
		b := q.pop()
		for b != nil && b.single() {
			b = q.pop()
		}
		if b == nil {
			break
		}
		b.split()
		q.push(b.high)
		q.push(b.low)
	}
	return root.colors(nil)
}

// histogram counts colours at the finest depth that gives at most maxEntries.
func histogram(pix []uint8) ([]entry, int) {
	for shift := 0; ; shift++ {
		if entries := tally(pix, shift); entries != nil {
			return entries, len(pix) / 3
		}
	}
}

// tally is histogram at a given depth; nil when there are too many colours.
func tally(pix []uint8, shift int) []entry {
	index := make(map[rgb]int, 1024)
	var entries []entry
	last, at := rgb{}, -1
	for i := 0; i+3 <= len(pix); i += 3 {
		p := pix[i : i+3]
		c := rgb{p[0] >> shift, p[1] >> shift, p[2] >> shift}
		if at < 0 || c != last {
			k, ok := index[c]
			if !ok {
				if len(entries) == maxEntries {
					return nil
				}
				k = len(entries)
				index[c] = k
				entries = append(entries, entry{color: c})
			}
			last, at = c, k
		}
		e := &entries[at]
		e.count++
		for k := range 3 {
			e.sum[k] += int(p[k])
		}
	}
	return entries
}

// box is a set of colours, or the two boxes that it was split into.
type box struct {
	entries   []entry
	count     int // pixels
	high, low *box
}

// single reports whether all colours of the box are the same.
func (b *box) single() bool { return len(b.entries) == 1 }

// axis returns the channel with the widest range, weighted by its share of luminance.
func (b *box) axis() int {
	lo, hi := b.entries[0].color, b.entries[0].color
	for _, e := range b.entries {
		for k, v := range e.color {
			lo[k], hi[k] = min(lo[k], v), max(hi[k], v)
		}
	}
	best, axis := -1, 0
	for k, weight := range [3]int{77, 150, 29} {
		if f := int(hi[k]-lo[k]) * weight; f > best {
			best, axis = f, k
		}
	}
	return axis
}

// split splits the box at its median. Colours go to the high half, the brightest first, until it has more than half of the
// pixels; colours of one value stay together.
func (b *box) split() {
	axis := b.axis()
	slices.SortFunc(b.entries, func(x, y entry) int { return int(y.color[axis]) - int(x.color[axis]) })
	cut, high := 0, 0
	for cut < len(b.entries) && 2*high <= b.count {
		high += b.entries[cut].count
		cut++
	}
	for cut < len(b.entries) && b.entries[cut].color[axis] == b.entries[cut-1].color[axis] {
		high += b.entries[cut].count
		cut++
	}
	if cut == len(b.entries) { // the darkest value alone becomes the low half
		for cut > 0 && b.entries[cut-1].color[axis] == b.entries[len(b.entries)-1].color[axis] {
			cut--
			high -= b.entries[cut].count
		}
	}
	b.high = &box{entries: b.entries[:cut], count: high}
	b.low = &box{entries: b.entries[cut:], count: b.count - high}
	b.entries = nil
}

// colors appends the mean colour of each undivided box, the high halves first.
func (b *box) colors(out []rgb) []rgb {
	if b.high != nil {
		return b.low.colors(b.high.colors(out))
	}
	var sum [3]int
	for _, e := range b.entries {
		for k, v := range e.sum {
			sum[k] += v
		}
	}
	var c rgb
	for k, v := range sum {
		c[k] = uint8(0.5 + float64(v)/float64(b.count))
	}
	return append(out, c)
}

// queue is a heap of boxes, the box with the most pixels first. Equal boxes are ordered as in Pillow, because the order
// decides the palette.
type queue []*box

func (q *queue) push(b *box) {
	*q = append(*q, b)
	h := *q
	k := len(h) - 1
	for k > 0 && b.count > h[(k-1)/2].count {
		h[k] = h[(k-1)/2]
		k = (k - 1) / 2
	}
	h[k] = b
}

// pop returns the largest box, or nil when the queue is empty.
func (q *queue) pop() *box {
	h := *q
	if len(h) == 0 {
		return nil
	}
	first, v := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	k := 0
	for 2*k+1 < len(h) {
		l := 2*k + 1
		if l+1 < len(h) && h[l].count < h[l+1].count {
			l++
		}
		if v.count > h[l].count {
			break
		}
		h[k] = h[l]
		k = l
	}
	if len(h) > 0 {
		h[k] = v
	}
	*q = h
	return first
}
