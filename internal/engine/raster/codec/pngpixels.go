package codec

// deepFrames is a single frame of more than eight bits.
func deepFrames(l layout, alpha bool) *frames {
	f := &frames{width: l.width, height: l.height, deepRGB: make([]float32, 3*l.width*l.height)}
	if alpha {
		f.deepAlpha = make([]float32, l.width*l.height)
	}
	return f
}

// expand writes a restored row of w pixels to every step-th pixel of the output, from pixel at on. Sixteen-bit samples of
// an animation keep their high byte.
func (u *unpacker) expand(row []byte, w, at, step int) {
	if u.out.deepRGB != nil {
		u.deep(row, w, at, step)
		return
	}
	switch u.f.color {
	case colorGrey:
		u.grey(row, w, at, step)
	case colorPalette:
		u.palette(row, w, at, step)
	default:
		u.channels(row, w, at, step)
	}
}

func (u *unpacker) grey(row []byte, w, at, step int) {
	depth, key := int(u.f.depth), -1
	if u.f.keyed() {
		key = u.f.key(0)
	}
	for x := range w {
		var v uint8
		var sample int
		switch depth {
		case 16:
			v, sample = row[2*x], word(row[2*x:])
		case 8:
			v, sample = row[x], int(row[x])
		default:
			sample = int(bitsAt(row, x, depth))
			v = uint8(sample * 255 / (1<<depth - 1))
		}
		p := at + x*step
		d := u.out.rgb[3*p:][:3]
		d[0], d[1], d[2] = v, v, v
		if key >= 0 {
			u.out.alpha[p] = opaqueUnless(sample == key)
		}
	}
}

func word(b []byte) int { return int(b[0])<<8 | int(b[1]) }

func opaqueUnless(clear bool) uint8 {
	if clear {
		return 0
	}
	return 255
}

// deep is expand for samples of sixteen bits.
func (u *unpacker) deep(row []byte, w, at, step int) {
	n := u.f.samples()
	var s [4]int
	for x := range w {
		for i := range n {
			s[i] = word(row[2*(x*n+i):])
		}
		p := at + x*step
		for i := range 3 {
			u.out.deepRGB[3*p+i] = float32(s[i*(n/3)]) / 65535
		}
		switch {
		case u.f.keyed():
			clear := s[0] == u.f.key(0) && (n == 1 || s[1] == u.f.key(1) && s[2] == u.f.key(2))
			u.out.deepAlpha[p] = float32(opaqueUnless(clear)) / 255
		case u.out.deepAlpha != nil:
			u.out.deepAlpha[p] = float32(s[n-1]) / 65535
		}
	}
}

// palette looks colours up; an index beyond the palette is black and opaque.
func (u *unpacker) palette(row []byte, w, at, step int) {
	for x := range w {
		i := int(bitsAt(row, x, int(u.f.depth)))
		p := at + x*step
		if 3*i+3 <= len(u.f.palette) {
			copy(u.out.rgb[3*p:3*p+3], u.f.palette[3*i:])
		}
		if u.out.alpha == nil {
			continue
		}
		u.out.alpha[p] = 255
		if i < len(u.f.clear) {
			u.out.alpha[p] = u.f.clear[i]
		}
	}
}

// channels expands the colour types with one byte or word for each channel.
func (u *unpacker) channels(row []byte, w, at, step int) {
	n, size := u.f.samples(), int(u.f.depth)/8
	alpha, grey := u.f.hasAlpha(), u.f.color == colorGreyAlpha
	for x := range w {
		s := row[x*n*size:][:n*size]
		p := at + x*step
		d := u.out.rgb[3*p:][:3]
		if grey {
			d[0], d[1], d[2] = s[0], s[0], s[0]
		} else {
			d[0], d[1], d[2] = s[0], s[size], s[2*size]
		}
		switch {
		case u.f.keyed():
			u.out.alpha[p] = opaqueUnless(u.isKey(s))
		case alpha:
			u.out.alpha[p] = s[(n-1)*size]
		}
	}
}

// isKey reports whether the samples of a pixel are the colour that is transparent.
func (u *unpacker) isKey(s []byte) bool {
	for i := range 3 {
		sample := int(s[i])
		if u.f.depth == 16 {
			sample = word(s[2*i:])
		}
		if sample != u.f.key(i) {
			return false
		}
	}
	return true
}

// bitsAt returns sample x of a row of 1, 2, 4 or 8 bits a sample.
func bitsAt(row []byte, x, depth int) byte {
	bit := x * depth
	return row[bit/8] >> (8 - depth - bit%8) & (1<<depth - 1)
}
