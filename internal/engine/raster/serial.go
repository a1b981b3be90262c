package raster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// A serialised value is a header of headerSize bytes, little endian, then the samples
// in order: bytes, or float32 bits.
//
//	0 "MRv1"   4 kind ('I' image, 'M' mask)   5 depth (8 or 32)   6 channels   7 zero
//	8 frames   12 height   16 width   20 zero
const (
	headerSize = 24
	magic      = "MRv1"
	kindImage  = 'I'
	kindMask   = 'M'
)

// chunkBytes is the unit of reading and writing. Memory for the size in a header is allocated only after the first
// chunk has arrived.
const chunkBytes = 1 << 16

// WriteTo writes the image in the format that Read reads.
func (im *Image) WriteTo(w io.Writer) (int64, error) { return im.write(w, kindImage) }

// WriteTo writes the mask in the format that Read reads.
func (m *Mask) WriteTo(w io.Writer) (int64, error) { return m.write(w, kindMask) }

// EncodedSize returns the bytes that WriteTo writes.
func (g *grid) EncodedSize() int64 {
	size := g.Pixels() * int64(g.c)
	if g.f32 != nil {
		size *= 4
	}
	return headerSize + size
}

func (g *grid) write(w io.Writer, kind byte) (int64, error) {
	var h [headerSize]byte
	copy(h[:], magic)
	h[4], h[5], h[6] = kind, 8, byte(g.c)
	if g.f32 != nil {
		h[5] = 32
	}
	binary.LittleEndian.PutUint32(h[8:], uint32(g.n))
	binary.LittleEndian.PutUint32(h[12:], uint32(g.h))
	binary.LittleEndian.PutUint32(h[16:], uint32(g.w))
	n, err := w.Write(h[:])
	total := int64(n)
	if err != nil {
		return total, fmt.Errorf("write raster header: %w", err)
	}
	n64, err := g.writeSamples(w)
	if err != nil {
		return total + n64, fmt.Errorf("write raster samples: %w", err)
	}
	return total + n64, nil
}

func (g *grid) writeSamples(w io.Writer) (total int64, err error) {
	if g.u8 != nil {
		n, err := w.Write(g.u8)
		return int64(n), err
	}
	buf := byteScratch.get(chunkBytes)
	defer byteScratch.put(buf)
	for src := g.f32; len(src) > 0; {
		k := min(len(src), chunkBytes/4)
		for i, v := range src[:k] {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(v))
		}
		n, err := w.Write(buf[:4*k])
		total += int64(n)
		if err != nil {
			return total, err
		}
		src = src[k:]
	}
	return total, nil
}

// Read reads one serialised value, an *Image or a *Mask, and no bytes after it. It allocates no more than the
// engine's bound allows. Malformed input is fault.Invalid, an oversized value fault.Exhausted.
func (e Engine) Read(r io.Reader) (any, error) {
	g, kind, err := e.readHeader(r)
	if err != nil {
		return nil, err
	}
	if err := g.readSamples(r); err != nil {
		return nil, truncated(err)
	}
	if kind == kindMask {
		return &Mask{g}, nil
	}
	return &Image{g}, nil
}

func (e Engine) readHeader(r io.Reader) (grid, byte, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return grid{}, 0, truncated(err)
	}
	le := binary.LittleEndian
	g := grid{c: int(h[6]), n: int(le.Uint32(h[8:])), h: int(le.Uint32(h[12:])), w: int(le.Uint32(h[16:]))}
	kind, depth := h[4], h[5]
	known := string(h[:4]) == magic && h[7] == 0 && le.Uint32(h[20:]) == 0 && (depth == 8 || depth == 32)
	image := kind == kindImage && (g.c == 1 || g.c == 3 || g.c == 4)
	mask := kind == kindMask && g.c == 1 && depth == 32
	if !known || !image && !mask {
		return grid{}, 0, fault.New(fault.Invalid, fault.CodeRasterFormat, "not a serialised image or mask")
	}
	if err := e.Fit(g.n, max(g.h, emptySide(kind)), max(g.w, emptySide(kind))); err != nil {
		return grid{}, 0, err
	}
	if depth == 8 {
		g.u8 = []uint8{}
	}
	return g, kind, nil
}

// emptySide returns 1 for a side of zero. Masks may be empty, so that only their number and their other side are
// bounded.
func emptySide(kind byte) int {
	if kind == kindMask {
		return 1
	}
	return 0
}

// readSamples fills the grid. The first chunk must arrive before the rest is allocated.
func (g *grid) readSamples(r io.Reader) error {
	size := 4
	if g.u8 != nil {
		size = 1
	}
	total := g.n * g.h * g.w * g.c
	br := bufio.NewReaderSize(io.LimitReader(r, int64(total)*int64(size)), chunkBytes)
	if _, err := br.Peek(min(chunkBytes, total*size)); err != nil {
		return err
	}
	if g.u8 != nil {
		g.u8 = make([]uint8, total)
		_, err := io.ReadFull(br, g.u8)
		return err
	}
	g.f32 = make([]float32, total)
	buf := byteScratch.get(chunkBytes)
	defer byteScratch.put(buf)
	for dst := g.f32; len(dst) > 0; {
		k := min(len(dst), chunkBytes/4)
		if _, err := io.ReadFull(br, buf[:4*k]); err != nil {
			return err
		}
		for i := range k {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:]))
		}
		dst = dst[k:]
	}
	return nil
}

// truncated classifies a read that ended early. Other errors come from the reader.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Wrap(err, fault.Invalid, fault.CodeRasterTruncated, "the serialised image ends early")
	}
	return fmt.Errorf("read raster: %w", err)
}
