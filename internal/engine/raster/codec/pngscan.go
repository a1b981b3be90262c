package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The colour types of PNG.
const (
	colorGrey      = 0
	colorRGB       = 2
	colorPalette   = 3
	colorGreyAlpha = 4
	colorRGBA      = 6
)

var errPNG = errors.New("malformed png")

// pngHeader is the IHDR chunk.
type pngHeader struct {
	width, height int
	depth, color  byte
	interlaced    bool
}

// pngFile is the structure of a PNG: its header, palette and frames of compressed data.
type pngFile struct {
	pngHeader
	palette       []byte // RGB triples
	clear         []byte // tRNS
	orientation   int
	animated      bool
	separateStill bool       // the still picture is none of the animation
	animation     []pngFrame // the frames of an animation; empty for a still image
	idat          [][]byte
}

// pngFrame is one frame of an animated PNG.
type pngFrame struct {
	x, y, width, height int
	dispose, blend      byte
	data                [][]byte
}

// samples returns the channels of a stored pixel.
func (h *pngHeader) samples() int {
	switch h.color {
	case colorRGB:
		return 3
	case colorGreyAlpha:
		return 2
	case colorRGBA:
		return 4
	default:
		return 1
	}
}

// rowBytes returns the bytes of a stored row of that width, filter number excluded.
func (h *pngHeader) rowBytes(width int) int {
	return (width*h.samples()*int(h.depth) + 7) / 8
}

func parseHeader(b []byte) (pngHeader, error) {
	if len(b) != 13 {
		return pngHeader{}, fmt.Errorf("%w: header of %d bytes", errPNG, len(b))
	}
	w, h := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	head := pngHeader{width: int(w), height: int(h), depth: b[8], color: b[9], interlaced: b[12] == 1}
	if w == 0 || h == 0 || w > 1<<31-1 || h > 1<<31-1 || b[10] != 0 || b[11] != 0 || b[12] > 1 || !head.validDepth() {
		return pngHeader{}, fmt.Errorf("%w: header % x", errPNG, b)
	}
	return head, nil
}

func (h *pngHeader) validDepth() bool {
	switch h.color {
	case colorGrey:
		return h.depth == 1 || h.depth == 2 || h.depth == 4 || h.depth == 8 || h.depth == 16
	case colorPalette:
		return h.depth == 1 || h.depth == 2 || h.depth == 4 || h.depth == 8
	case colorRGB, colorGreyAlpha, colorRGBA:
		return h.depth == 8 || h.depth == 16
	default:
		return false
	}
}

// parsePNG walks the chunks and verifies their checksums. Pixel data is not copied.
func parsePNG(data []byte) (*pngFile, error) {
	f := &pngFile{}
	rest := data[8:]
	for first := true; ; first = false {
		kind, body, next, err := nextChunk(rest)
		if err != nil {
			if len(f.idat) > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return f, nil // a missing end is accepted: decoding the pixels shows whether enough is there
			}
			return nil, err
		}
		if first != (kind == "IHDR") {
			return nil, fmt.Errorf("%w: chunk %q out of place", errPNG, kind)
		}
		if kind == "IEND" {
			return f, nil
		}
		if err := f.chunk(kind, body); err != nil {
			return nil, err
		}
		rest = next
	}
}

func nextChunk(b []byte) (kind string, body, rest []byte, err error) {
	if len(b) < 12 {
		return "", nil, nil, fmt.Errorf("%w: %w", errPNG, io.ErrUnexpectedEOF)
	}
	n := int64(binary.BigEndian.Uint32(b))
	if n > int64(len(b)-12) {
		return "", nil, nil, fmt.Errorf("%w: %w", errPNG, io.ErrUnexpectedEOF)
	}
	body, rest = b[8:8+n], b[12+n:]
	if crc32.ChecksumIEEE(b[4:8+n]) != binary.BigEndian.Uint32(b[8+n:]) {
		return "", nil, nil, fmt.Errorf("%w: checksum of chunk %q", errPNG, b[4:8])
	}
	return string(b[4:8]), body, rest, nil
}

func (f *pngFile) chunk(kind string, b []byte) (err error) {
	switch kind {
	case "IHDR":
		f.pngHeader, err = parseHeader(b)
	case "PLTE":
		if len(b)%3 != 0 || len(b) > 768 {
			return fmt.Errorf("%w: palette of %d bytes", errPNG, len(b))
		}
		f.palette = b
	case "tRNS":
		f.clear = b
	case "eXIf":
		f.orientation = exifOrientation(b)
	case "fcTL":
		err = f.control(b)
	case "acTL":
		f.animated = true
	case "IDAT":
		f.separateStill = f.separateStill || f.animated && len(f.animation) == 0
		f.idat = append(f.idat, b)
		if len(f.animation) == 1 && !f.separateStill {
			f.animation[0].data = append(f.animation[0].data, b)
		}
	case "fdAT":
		if n := len(f.animation); n > 0 && len(b) >= 4 {
			f.animation[n-1].data = append(f.animation[n-1].data, b[4:])
		}
	}
	return err
}

// control reads the frame control chunk of an animated PNG.
func (f *pngFile) control(b []byte) error {
	if len(b) != 26 {
		return fmt.Errorf("%w: frame control of %d bytes", errPNG, len(b))
	}
	u := func(i int) int { return int(binary.BigEndian.Uint32(b[i:])) }
	fr := pngFrame{width: u(4), height: u(8), x: u(12), y: u(16), dispose: b[24], blend: b[25]}
	if fr.width < 1 || fr.height < 1 || fr.x+fr.width > f.width || fr.y+fr.height > f.height {
		return fmt.Errorf("%w: frame outside the image", errPNG)
	}
	f.animation = append(f.animation, fr)
	return nil
}

// frames returns the number of frames.
func (f *pngFile) frames() int { return max(1, len(f.animation)) }

// hasAlpha reports whether the file has an alpha channel, a palette with transparency or a colour that is transparent.
func (f *pngFile) hasAlpha() bool {
	return f.color == colorGreyAlpha || f.color == colorRGBA || f.color == colorPalette && f.clear != nil || f.keyed()
}

// keyed reports whether one colour of the file is transparent.
func (f *pngFile) keyed() bool {
	return f.color == colorGrey && len(f.clear) >= 2 || f.color == colorRGB && len(f.clear) >= 6
}

// key is a sample of the colour that is transparent.
func (f *pngFile) key(channel int) int { return int(binary.BigEndian.Uint16(f.clear[2*channel:])) }

func scanPNG(data []byte) (layout, error) {
	f, err := parsePNG(data)
	if err != nil {
		return layout{}, err
	}
	if len(f.idat) == 0 {
		return layout{}, fmt.Errorf("%w: no pixels", errPNG)
	}
	l := layout{width: f.width, height: f.height, frames: f.frames(), orientation: f.orientation, clear: f.color == colorPalette}
	if f.color == colorGrey || f.color == colorGreyAlpha {
		l.pixels = greyLevels
	}
	return l, nil
}

// chunks reads several chunks as one stream.
func chunks(parts [][]byte) io.Reader {
	if len(parts) == 1 {
		return bytes.NewReader(parts[0])
	}
	readers := make([]io.Reader, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}
