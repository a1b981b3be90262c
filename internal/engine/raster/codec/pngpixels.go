package codec

// expand writes a restored row of w pixels to every step-th pixel of the output, from pixel at on. Sixteen-bit samples keep
// their high byte, except plain grey: Pillow reads it as 32-bit integers, which ComfyUI divides by 255 and clips at 255.
func (u *unpacker) expand(row []byte, w, at, step int) {
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
	depth := int(u.f.depth)
	for x := range w {
		var v uint8
		switch depth {
		case 16:
			v = uint8(min(255, (int(row[2*x])<<8|int(row[2*x+1]))/255))
		case 8:
			v = row[x]
		default:
			v = uint8(int(bitsAt(row, x, depth)) * 255 / (1<<depth - 1))
		}
		d := u.out.rgb[3*(at+x*step):][:3]
		d[0], d[1], d[2] = v, v, v
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
		if alpha {
			u.out.alpha[p] = s[(n-1)*size]
		}
	}
}

// bitsAt returns sample x of a row of 1, 2, 4 or 8 bits a sample.
func bitsAt(row []byte, x, depth int) byte {
	bit := x * depth
	return row[bit/8] >> (8 - depth - bit%8) & (1<<depth - 1)
}
