package deep

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"math"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// IsEXR reports whether data begins as an EXR file does.
func IsEXR(data []byte) bool {
	return len(data) >= 4 && binary.LittleEndian.Uint32(data) == exrMagic
}

// The compressions that are read, and the scan lines of a block of each.
var blockLines = map[byte]int{0: 1, 1: 1, 2: 1, 3: 16}

const (
	compressionRLE = 1
	// maxWindow bounds the coordinates of a window, so that sizes do not overflow.
	maxWindow = 1 << 24
	// maxBlock bounds the bytes of the lines that are unpacked together, which a file of a few bytes may claim.
	maxBlock = 64 << 20
)

// exr is a file that is read.
type exr struct {
	data        []byte
	compression byte
	channels    []exrChannel
	x0, y0      int
	width       int
	height      int
}

type exrChannel struct {
	name string
	kind uint32
}

func (c exrChannel) size() int {
	if c.kind == sampleHalf {
		return 2
	}
	return 4
}

// SizeEXR returns the size of the picture of an EXR file.
func SizeEXR(data []byte) (width, height int, err error) {
	f := &exr{data: data}
	_, err = f.head()
	return f.width, f.height, err
}

// DecodeEXR reads the values of an EXR file as they are: three of each pixel, and its alpha if it has one. The caller has
// bounded the size.
func DecodeEXR(ctx context.Context, data []byte) (rgb, alpha []float32, err error) {
	f := &exr{data: data}
	rest, err := f.head()
	if err != nil {
		return nil, nil, err
	}
	planes, err := f.planes(ctx, rest)
	if err != nil {
		return nil, nil, err
	}
	return f.assemble(planes)
}

// head reads the header and returns where the table of offsets begins.
func (f *exr) head() (int, error) {
	if !IsEXR(f.data) || len(f.data) < 8 {
		return 0, damaged("it has another beginning")
	}
	if version := binary.LittleEndian.Uint32(f.data[4:]); version&0xff != exrVersion || version&^0x4ff != 0 {
		return 0, fault.New(fault.Invalid, fault.CodeImageFormat, "EXR files of tiles, depth or several parts are not read")
	}
	at, known := 8, 0
	for {
		name, next, ok := f.text(at)
		if !ok {
			return 0, damaged("its header has no end")
		}
		if name == "" {
			at = next
			break
		}
		kind, next, ok := f.text(next)
		if !ok || next+4 > len(f.data) {
			return 0, damaged("its header has no end")
		}
		size := int(binary.LittleEndian.Uint32(f.data[next:]))
		if at = next + 4 + size; size < 0 || at > len(f.data) {
			return 0, damaged("its header has no end")
		}
		taken, err := f.attribute(name+" "+kind, f.data[next+4:at])
		if err != nil {
			return 0, err
		}
		if taken {
			known++
		}
	}
	if known != 3 || f.width < 1 || f.height < 1 {
		return 0, damaged("its header lacks the channels, the compression or the window")
	}
	return at, nil
}

// text reads a text that ends with zero.
func (f *exr) text(at int) (text string, next int, ok bool) {
	end := bytes.IndexByte(f.data[min(at, len(f.data)):], 0)
	if end < 0 {
		return "", 0, false
	}
	return string(f.data[at : at+end]), at + end + 1, true
}

// attribute takes one of the three attributes that matter.
func (f *exr) attribute(name string, value []byte) (taken bool, err error) {
	le := binary.LittleEndian
	switch {
	case name == "compression compression" && len(value) == 1:
		f.compression = value[0]
		if blockLines[f.compression] == 0 {
			return false, fault.New(fault.Invalid, fault.CodeImageFormat, "EXR files of compression %d are not read; none, RLE and ZIP are", f.compression)
		}
	case name == "dataWindow box2i" && len(value) == 16:
		var w [4]int
		for i := range w {
			if w[i] = int(int32(le.Uint32(value[4*i:]))); w[i] < -maxWindow || w[i] > maxWindow {
				return false, damaged("its window is too large")
			}
		}
		f.x0, f.y0, f.width, f.height = w[0], w[1], w[2]-w[0]+1, w[3]-w[1]+1
	case name == "channels chlist":
		return true, f.channelList(value)
	default:
		return false, nil
	}
	return true, nil
}

func (f *exr) channelList(value []byte) error {
	le := binary.LittleEndian
	for len(value) > 0 && value[0] != 0 {
		end := bytes.IndexByte(value, 0)
		if end < 0 || len(value) < end+17 {
			return damaged("its channels have no end")
		}
		c := exrChannel{string(value[:end]), le.Uint32(value[end+1:])}
		if c.kind > sampleFloat {
			return damaged("a channel has an unknown type")
		}
		if le.Uint32(value[end+9:]) != 1 || le.Uint32(value[end+13:]) != 1 {
			return fault.New(fault.Invalid, fault.CodeImageFormat, "EXR files with channels of another size are not read")
		}
		f.channels, value = append(f.channels, c), value[end+17:]
	}
	if len(f.channels) == 0 || len(f.channels) > 64 {
		return damaged("it has %d channels", len(f.channels))
	}
	return nil
}

// planes reads the values of each channel.
func (f *exr) planes(ctx context.Context, table int) (map[string][]float32, error) {
	line, planes := 0, map[string][]float32{}
	for _, c := range f.channels {
		line += c.size() * f.width
		if len(c.name) == 1 && strings.Contains("RGBAY", c.name) {
			planes[c.name] = make([]float32, f.width*f.height)
		}
	}
	lines := blockLines[f.compression]
	if min(lines, f.height)*line > maxBlock {
		return nil, fault.New(fault.Invalid, fault.CodeImageFormat, "EXR files with more than %d MiB in %d lines are not read", maxBlock>>20, lines)
	}
	for block := range (f.height + lines - 1) / lines {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := table + 8*block
		if at+8 > len(f.data) {
			return nil, damaged("it ends early")
		}
		offset := binary.LittleEndian.Uint64(f.data[at:])
		if offset > uint64(len(f.data)) || len(f.data)-int(offset) < 8 {
			return nil, damaged("it ends early")
		}
		head := f.data[offset:]
		y, size := int(int32(binary.LittleEndian.Uint32(head)))-f.y0, int(binary.LittleEndian.Uint32(head[4:]))
		if y < 0 || y >= f.height || size > len(head)-8 {
			return nil, damaged("a block lies outside")
		}
		n := min(lines, f.height-y)
		raw, err := f.unpacked(head[8:8+size], n*line)
		if err != nil {
			return nil, err
		}
		f.scatter(planes, raw, y, n)
	}
	return planes, nil
}

// unpacked is the content of a block of the given size.
func (f *exr) unpacked(packed []byte, size int) ([]byte, error) {
	if f.compression == 0 || len(packed) == size { // what does not become smaller is stored as it is
		if len(packed) != size {
			return nil, damaged("a block has the wrong size")
		}
		return packed, nil
	}
	raw := make([]byte, size)
	if f.compression == compressionRLE {
		if err := runs(raw, packed); err != nil {
			return nil, err
		}
	} else {
		z, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, damaged("a block is not compressed as its header says")
		}
		if _, err := io.ReadFull(z, raw); err != nil {
			return nil, damaged("a block ends early")
		}
	}
	for i := 1; i < size; i++ {
		raw[i] += raw[i-1] - 128
	}
	out, half := make([]byte, size), (size+1)/2
	for i := range out {
		out[i] = raw[i/2+i%2*half]
	}
	return out, nil
}

// runs unpacks runs of equal bytes.
func runs(raw, packed []byte) error {
	for len(packed) > 0 {
		n := int(int8(packed[0]))
		switch packed = packed[1:]; {
		case n < 0 && -n <= len(packed) && -n <= len(raw):
			copy(raw, packed[:-n])
			raw, packed = raw[-n:], packed[-n:]
		case n >= 0 && len(packed) > 0 && n < len(raw):
			for i := range n + 1 {
				raw[i] = packed[0]
			}
			raw, packed = raw[n+1:], packed[1:]
		default:
			return damaged("a block ends early")
		}
	}
	if len(raw) > 0 {
		return damaged("a block ends early")
	}
	return nil
}

// scatter takes n lines from y on apart into channels.
func (f *exr) scatter(planes map[string][]float32, raw []byte, y, n int) {
	for row := range n {
		for _, c := range f.channels {
			size := c.size() * f.width
			if plane := planes[c.name]; plane != nil {
				values(plane[(y+row)*f.width:][:f.width], raw[:size], c.kind)
			}
			raw = raw[size:]
		}
	}
}

func values(dst []float32, raw []byte, kind uint32) {
	le := binary.LittleEndian
	for i := range dst {
		switch kind {
		case sampleHalf:
			dst[i] = half(le.Uint16(raw[2*i:]))
		case sampleFloat:
			dst[i] = math.Float32frombits(le.Uint32(raw[4*i:]))
		default:
			dst[i] = float32(le.Uint32(raw[4*i:]))
		}
	}
}

// half is the value of a float of 16 bits.
func half(v uint16) float32 {
	sign, exponent, fraction := uint32(v>>15)<<31, int(v>>10&31), float64(v&1023)
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(math.Ldexp(fraction, -24))))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | uint32(v&1023)<<13)
	}
	return math.Float32frombits(sign | math.Float32bits(float32(math.Ldexp(1024+fraction, exponent-25))))
}

// assemble returns the colours, pixel by pixel, or the brightness in their place, and what is opaque, nil if it is all.
func (f *exr) assemble(planes map[string][]float32) (rgb, alpha []float32, err error) {
	r, g, b := planes["R"], planes["G"], planes["B"]
	if y := planes["Y"]; y != nil && r == nil {
		r, g, b = y, y, y
	}
	if r == nil || g == nil || b == nil {
		return nil, nil, fault.New(fault.Invalid, fault.CodeImageFormat, "the EXR file has neither R, G and B nor Y")
	}
	rgb = make([]float32, 3*len(r))
	for i := range r {
		rgb[3*i], rgb[3*i+1], rgb[3*i+2] = r[i], g[i], b[i]
	}
	return rgb, planes["A"], nil
}
