package codec

import (
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// blockBytes is the size of the blocks of inflated data that are handed to the unfiltering goroutine.
const blockBytes = 1 << 17

func decodePNG(ctx context.Context, data []byte, l layout) (*frames, error) {
	f, err := parsePNG(data)
	if err != nil {
		return nil, err
	}
	if len(f.animation) > 1 || f.separateStill && len(f.animation) == 1 {
		return f.decodeAnimation(ctx, l)
	}
	out := newFrames(l, f.hasAlpha())
	if f.depth == 16 {
		out = deepFrames(l, f.hasAlpha())
	}
	return out, f.decodeInto(ctx, chunks(f.idat), out)
}

// decodeInto inflates and unfilters one still picture of out's size.
func (f *pngFile) decodeInto(ctx context.Context, src io.Reader, out *frames) error {
	passes := []pass{{0, 0, 1, 1}}
	if f.interlaced {
		passes = adam7()
	}
	rows := f.passRows(passes, out.width, out.height)
	in := newInflater(ctx, src, rows)
	defer in.close()
	u := unpacker{f: f, out: out}
	for _, p := range passes {
		w, h := p.size(out.width, out.height)
		if w == 0 || h == 0 {
			continue
		}
		if err := u.pass(in, p, w, h); err != nil {
			return err
		}
	}
	return nil
}

// pass is one of the interleaved sub-images: every dx-th pixel of every dy-th row.
type pass struct{ x, y, dx, dy int }

func adam7() []pass {
	return []pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
}

func (p pass) size(w, h int) (int, int) {
	return (w - p.x + p.dx - 1) / p.dx, (h - p.y + p.dy - 1) / p.dy
}

// passRows lists the stored bytes of each pass's rows, filter number included, and their count.
func (f *pngFile) passRows(passes []pass, width, height int) []run {
	var out []run
	for _, p := range passes {
		if w, h := p.size(width, height); w > 0 && h > 0 {
			out = append(out, run{1 + f.rowBytes(w), h})
		}
	}
	return out
}

// run is a number of rows of equal length.
type run struct{ bytes, rows int }

// inflater decompresses ahead of its reader, in a goroutine of its own.
type inflater struct {
	blocks chan []byte
	free   chan []byte
	err    error // valid once blocks is closed
	rest   []byte
	whole  []byte
	cancel context.CancelFunc
}

func newInflater(ctx context.Context, src io.Reader, runs []run) *inflater {
	ctx, cancel := context.WithCancel(ctx)
	in := &inflater{blocks: make(chan []byte, 2), free: make(chan []byte, 4), cancel: cancel}
	go func() {
		defer close(in.blocks)
		in.err = in.inflate(ctx, src, runs)
	}()
	return in
}

// inflate sends blocks of whole rows until all rows are there.
func (in *inflater) inflate(ctx context.Context, src io.Reader, runs []run) error {
	zr, err := zlib.NewReader(src)
	if err != nil {
		return fmt.Errorf("inflate: %w", err)
	}
	for _, r := range runs {
		per := max(1, blockBytes/r.bytes)
		for left := r.rows; left > 0; left -= per {
			b := in.block(min(per, left) * r.bytes)
			if _, err := io.ReadFull(zr, b); err != nil {
				return fmt.Errorf("inflate: %w", err)
			}
			select {
			case in.blocks <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (in *inflater) block(n int) []byte {
	select {
	case b := <-in.free:
		if cap(b) >= n {
			return b[:n]
		}
	default:
	}
	return make([]byte, n)
}

// next returns the following n bytes, which are valid until the next call.
func (in *inflater) next(n int) ([]byte, error) {
	if len(in.rest) == 0 {
		if in.whole != nil {
			select {
			case in.free <- in.whole:
			default:
			}
		}
		b, ok := <-in.blocks
		if !ok {
			in.whole = nil
			if in.err == nil {
				return nil, fmt.Errorf("%w: too few rows", errPNG)
			}
			return nil, in.err
		}
		in.whole, in.rest = b, b
	}
	row := in.rest[:n]
	in.rest = in.rest[n:]
	return row, nil
}

// close stops the goroutine and waits for it.
func (in *inflater) close() {
	in.cancel()
	for range in.blocks { // ends when the goroutine has closed it
	}
}

// unpacker turns stored rows into RGB and alpha.
type unpacker struct {
	f   *pngFile
	out *frames
}

func (u *unpacker) pass(in *inflater, p pass, w, h int) error {
	n := u.f.rowBytes(w)
	bpp := max(1, u.f.samples()*int(u.f.depth)/8)
	prev, cur := make([]byte, n), make([]byte, n)
	direct := u.f.color == colorRGB && u.f.depth == 8 && !u.f.keyed() && p.dx == 1 && p.dy == 1
	for i := range h {
		line, err := in.next(n + 1)
		if err != nil {
			return err
		}
		y := p.y + i*p.dy
		if direct {
			cur = u.out.rgb[y*n : (y+1)*n : (y+1)*n]
		}
		if err := unfilter(cur, line[1:], prev, line[0], bpp); err != nil {
			return err
		}
		if !direct {
			u.expand(cur, w, y*u.out.width+p.x, p.dx)
		}
		prev, cur = cur, prev
	}
	return nil
}

// unfilter restores one row.
func unfilter(dst, src, prev []byte, kind byte, bpp int) error {
	src, prev = src[:len(dst)], prev[:len(dst)]
	switch kind {
	case filterNone:
		copy(dst, src)
	case filterSub:
		copy(dst[:min(bpp, len(dst))], src)
		for i := bpp; i < len(dst); i++ {
			dst[i] = src[i] + dst[i-bpp]
		}
	case filterUp:
		for i, v := range src {
			dst[i] = v + prev[i]
		}
	case filterAverage:
		unaverage(dst, src, prev, bpp)
	case filterPaeth:
		if bpp == 3 {
			unpaeth3(dst, src, prev)
		} else {
			unpaeth(dst, src, prev, bpp)
		}
	default:
		return fmt.Errorf("%w: filter %d", errPNG, kind)
	}
	return nil
}

func unaverage(dst, src, prev []byte, bpp int) {
	for i := range min(bpp, len(dst)) {
		dst[i] = src[i] + prev[i]/2
	}
	for i := bpp; i < len(dst); i++ {
		dst[i] = src[i] + uint8((int(dst[i-bpp])+int(prev[i]))/2)
	}
}

func unpaeth(dst, src, prev []byte, bpp int) {
	for i := range min(bpp, len(dst)) {
		dst[i] = src[i] + prev[i]
	}
	for i := bpp; i < len(dst); i++ {
		dst[i] = src[i] + predict(dst[i-bpp], prev[i], prev[i-bpp])
	}
}

// unpaeth3 is unpaeth for three bytes a pixel, with left and corner in registers.
func unpaeth3(dst, src, prev []byte) {
	var a0, a1, a2, c0, c1, c2 uint8
	for i := 0; i+3 <= len(dst); i += 3 {
		d, s, p := dst[i:i+3:i+3], src[i:i+3:i+3], prev[i:i+3:i+3]
		b0, b1, b2 := p[0], p[1], p[2]
		a0 = s[0] + predict(a0, b0, c0)
		a1 = s[1] + predict(a1, b1, c1)
		a2 = s[2] + predict(a2, b2, c2)
		d[0], d[1], d[2] = a0, a1, a2
		c0, c1, c2 = b0, b1, b2
	}
}
