package raster

import "context"

// Composite draws source over destination with its corner at (x, y), weighted by the mask (nil = 1). The mask is resized
// to the source (bilinear). Source and mask repeat, or are cut, to the length of the destination's batch. The source gets
// the destination's channels (missing alpha is 1), and its parts outside the destination are cut off. With fill, the
// source is first resized to the destination's size (bilinear).
func (e Engine) Composite(ctx context.Context, destination, source *Image, mask *Mask, x, y int, fill bool) (*Image, error) {
	source = source.WithChannels(destination.c)
	if fill {
		var err error
		if source, err = e.Resize(ctx, source, destination.w, destination.h, Bilinear); err != nil {
			return nil, err
		}
	}
	if mask != nil {
		var err error
		if mask, err = e.ResizeMask(ctx, mask, source.w, source.h, Bilinear); err != nil {
			return nil, err
		}
	}
	p := paste{dst: &destination.grid, src: &source.grid, x: x, y: y}
	if mask != nil {
		p.mask = &mask.grid
	}
	return asImage(e.paste(ctx, p))
}

// paste describes drawing src on dst at (x, y).
type paste struct {
	dst, src, mask *grid
	x, y           int
}

func (e Engine) paste(ctx context.Context, p paste) (grid, error) {
	out := p.dst.like()
	err := e.start(out.rows()).rows(ctx, out.rows(), 2*out.stride(), func(lo, hi int) {
		buf := floatScratch.get(p.src.stride())
		defer floatScratch.put(buf)
		for i := lo; i < hi; i++ {
			row := out.row(nil, i)
			copy(row, p.dst.row(row, i))
			p.over(row, buf, i/out.h, i%out.h)
		}
	})
	return out, err
}

// over draws the source's share of row y of a frame.
func (p *paste) over(row, buf []float32, frame, y int) {
	sy := y - p.y
	lo, hi := max(0, p.x), min(p.dst.w, p.x+p.src.w)
	if sy < 0 || sy >= p.src.h || lo >= hi {
		return
	}
	c := p.dst.c
	src := p.src.row(buf, frame%p.src.n*p.src.h+sy)[(lo-p.x)*c : (hi-p.x)*c]
	dst := row[lo*c : hi*c]
	if p.mask == nil {
		copy(dst, src)
		return
	}
	weights := p.mask.row(nil, frame%p.src.n%p.mask.n*p.mask.h+sy)[lo-p.x : hi-p.x]
	for i, m := range weights {
		for j := i * c; j < (i+1)*c; j++ {
			dst[j] = m*src[j] + (1-m)*dst[j]
		}
	}
}
