package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"

	"golang.org/x/image/webp"
)

var errWebP = errors.New("malformed webp")

func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// The flags of a VP8X chunk.
const (
	webpAlpha     = 0x10
	webpAnimation = 0x02
)

// webpFile is the structure of a WebP, without decoded pixels.
type webpFile struct {
	width, height int
	alpha         bool
	orientation   int
	tiles         []webpTile
}

// webpTile is a still image or one frame of an animation.
type webpTile struct {
	x, y, width, height int
	over, dispose       bool
	alpha               []byte // payload of ALPH, or nil
	lossless            bool
	bits                []byte // payload of VP8 or VP8L
}

// riff yields the chunks of b.
func riff(b []byte, yield func(id string, body []byte) error) error {
	for len(b) >= 8 {
		size := int64(binary.LittleEndian.Uint32(b[4:]))
		if size > int64(len(b)-8) {
			return fmt.Errorf("%w: chunk %q", errWebP, b[:4])
		}
		if err := yield(string(b[:4]), b[8:8+size]); err != nil {
			return err
		}
		b = skip(b, int(8+size+size&1))
	}
	return nil
}

func parseWebP(data []byte) (*webpFile, error) {
	f := &webpFile{}
	still := webpTile{}
	err := riff(data[12:], func(id string, b []byte) error {
		switch id {
		case "VP8X":
			return f.extended(b)
		case "EXIF":
			f.orientation = exifOrientation(b)
		case "ANMF":
			return f.frame(b)
		default:
			return still.chunk(id, b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.tiles) == 0 {
		if err := f.single(still); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// single takes a still image; without a VP8X chunk its own header gives the size.
func (f *webpFile) single(t webpTile) error {
	w, h, alpha, err := t.header()
	if err != nil {
		return err
	}
	if f.width != 0 && (f.width != w || f.height != h) {
		return fmt.Errorf("%w: %d×%d on a canvas of %d×%d", errWebP, w, h, f.width, f.height)
	}
	f.alpha = f.alpha && (alpha || t.alpha != nil) || f.width == 0 && alpha
	f.width, f.height, t.width, t.height = w, h, w, h
	f.tiles = []webpTile{t}
	return nil
}

func (f *webpFile) extended(b []byte) error {
	if len(b) < 10 {
		return errWebP
	}
	f.alpha = b[0]&webpAlpha != 0
	f.width, f.height = uint24(b[4:])+1, uint24(b[7:])+1
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// frame reads one ANMF chunk.
func (f *webpFile) frame(b []byte) error {
	if len(b) < 16 {
		return errWebP
	}
	t := webpTile{
		x: 2 * uint24(b), y: 2 * uint24(b[3:]), width: uint24(b[6:]) + 1, height: uint24(b[9:]) + 1,
		over: b[15]&2 == 0, dispose: b[15]&1 != 0,
	}
	if t.x+t.width > f.width || t.y+t.height > f.height {
		return fmt.Errorf("%w: frame outside the canvas", errWebP)
	}
	if err := riff(b[16:], t.chunk); err != nil {
		return err
	}
	w, h, _, err := t.header()
	if err != nil {
		return err
	}
	if w != t.width || h != t.height {
		return fmt.Errorf("%w: frame of another size", errWebP)
	}
	f.tiles = append(f.tiles, t)
	return nil
}

func (t *webpTile) chunk(id string, b []byte) error {
	switch {
	case id == "ALPH":
		t.alpha = b
	case (id == "VP8 " || id == "VP8L") && t.bits == nil:
		t.bits, t.lossless = b, id == "VP8L"
	}
	return nil
}

// header reads the size, and whether a lossless image uses alpha, from the bitstream.
func (t *webpTile) header() (w, h int, alpha bool, err error) {
	b := t.bits
	switch {
	case t.lossless && len(b) >= 5 && b[0] == 0x2f:
		v := binary.LittleEndian.Uint32(b[1:])
		return int(v&0x3fff) + 1, int(v>>14&0x3fff) + 1, v>>28&1 != 0, nil
	case !t.lossless && len(b) >= 10 && b[3] == 0x9d && b[4] == 0x01 && b[5] == 0x2a:
		w, h := binary.LittleEndian.Uint16(b[6:])&0x3fff, binary.LittleEndian.Uint16(b[8:])&0x3fff
		if w > 0 && h > 0 {
			return int(w), int(h), false, nil
		}
	}
	return 0, 0, false, fmt.Errorf("%w: no bitstream", errWebP)
}

func scanWebP(data []byte) (layout, error) {
	f, err := parseWebP(data)
	if err != nil {
		return layout{}, err
	}
	l := layout{width: f.width, height: f.height, frames: len(f.tiles), orientation: f.orientation}
	if len(f.tiles) > 1 { // ComfyUI loads animations by another library
		return l, nil
	}
	l.pixels, l.clear = planarColors, f.tiles[0].lossless
	if l.clear {
		l.pixels = packedColors
	}
	return l, nil
}

func decodeWebP(ctx context.Context, data []byte, l layout) (*frames, error) {
	f, err := parseWebP(data)
	if err != nil {
		return nil, err
	}
	if len(f.tiles) == 1 && f.tiles[0].width == f.width && f.tiles[0].height == f.height {
		return f.tiles[0].decode(ctx, f.alpha)
	}
	out, c := newFrames(l, f.alpha), newCanvas(f.width, f.height)
	for i, t := range f.tiles {
		tile, err := t.decode(ctx, true)
		if err != nil {
			return nil, err
		}
		c.draw(t.x, t.y, t.width, t.height, tile.rgb, tile.alpha, t.over)
		c.copyTo(out, i)
		if t.dispose {
			c.clear(t.x, t.y, t.width, t.height)
		}
	}
	return out, nil
}

// decode decodes the tile as if it were a file of its own.
func (t *webpTile) decode(ctx context.Context, alpha bool) (*frames, error) {
	im, err := webp.Decode(bytes.NewReader(t.file()))
	if err != nil {
		return nil, fmt.Errorf("webp: %w", err)
	}
	l := layout{width: t.width, height: t.height, frames: 1}
	switch im := im.(type) {
	case *image.YCbCr:
		return t.lossy(ctx, im, nil, l, alpha)
	case *image.NYCbCrA:
		return t.lossy(ctx, &im.YCbCr, im, l, alpha)
	default:
		return convert(ctx, im, l, alpha)
	}
}

func (t *webpTile) lossy(ctx context.Context, im *image.YCbCr, a *image.NYCbCrA, l layout, alpha bool) (*frames, error) {
	if im.Rect.Dx() != l.width || im.Rect.Dy() != l.height {
		return nil, errSize
	}
	out := newFrames(l, alpha)
	out.planes = im
	for y := range l.height {
		for x := 0; alpha && x < l.width; x++ {
			out.alpha[y*l.width+x] = 255
			if a != nil {
				out.alpha[y*l.width+x] = a.A[y*a.AStride+x]
			}
		}
	}
	return out, chromaWebP.convert(ctx, im, out.rgb)
}

// file wraps the tile's bitstream in a WebP container.
func (t *webpTile) file() []byte {
	var body []byte
	add := func(id string, b []byte) {
		body = append(body, id...)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(b)))
		body = append(body, b...)
		if len(b)%2 == 1 {
			body = append(body, 0)
		}
	}
	switch {
	case t.lossless:
		add("VP8L", t.bits)
	case t.alpha != nil:
		w, h := t.width-1, t.height-1
		add("VP8X", []byte{webpAlpha, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)})
		add("ALPH", t.alpha)
		add("VP8 ", t.bits)
	default:
		add("VP8 ", t.bits)
	}
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(body)))
	return append(append(out, "WEBP"...), body...)
}
