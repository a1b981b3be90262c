// Package jpegplane decodes JPEG files into their planes with ffmpeg's inverse cosine transform, sample for sample. Colours
// computed from the planes equal those of programs that read files through ffmpeg, which the standard library's decoder
// misses by up to three of 255. It reads sequential and progressive files of 8 bits with Huffman codes, grey or YCbCr, and
// leaves every other kind, and the conversion to RGB, to its caller.
package jpegplane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
)

// ErrKind reports a JPEG file of a kind that the package does not read.
var ErrKind = errors.New("a kind of JPEG file that is not read here")

// errDamaged is wrapped by every other error.
var errDamaged = errors.New("damaged JPEG file")

func damaged(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errDamaged)...)
}

// Markers.
const (
	markerSOF0 = 0xC0 // sequential
	markerSOF1 = 0xC1 // sequential with more tables
	markerSOF2 = 0xC2 // progressive
	markerDHT  = 0xC4
	markerRST0 = 0xD0
	markerRST7 = 0xD7
	markerSOI  = 0xD8
	markerEOI  = 0xD9
	markerSOS  = 0xDA
	markerDQT  = 0xDB
	markerDRI  = 0xDD
	markerAPPE = 0xEE // Adobe
)

// blockSize is the number of samples and of coefficients of a block of 8 × 8.
const blockSize = 64

// component is a plane while it is decoded.
type component struct {
	id     byte
	h, v   int // sampling factors
	quant  byte
	dc, ac byte // tables of the current scan
	last   int  // the DC coefficient of the block before
	// across and down are the blocks that hold samples; stride and rows those of whole units of all components.
	across, down, stride, rows int
	pix                        []uint8
	coefficients               []int16 // of progressive files
}

type decoder struct {
	data          []byte
	at            int
	size          image.Point // that is expected
	width, height int
	progressive   bool
	transform     int // of Adobe's marker, -1 without one
	components    []component
	quant         [4][blockSize]int32 // in natural order
	dc, ac        [4]*codes
	restart       int
	scanned       bool // there was a scan
	ended         bool
}

// Decode returns the planes of a file: an *image.YCbCr, or an *image.Gray for a file of one plane. Chroma is as the file has
// it. A picture of another size than the caller expects, and has found room for, is an error before memory is taken.
func Decode(ctx context.Context, data []byte, size image.Point) (image.Image, error) {
	d := &decoder{data: data, transform: -1, size: size}
	if len(data) < 2 || data[0] != 0xFF || data[1] != markerSOI {
		return nil, damaged("no start of image")
	}
	d.at = 2
	for !d.ended {
		if err := d.segment(ctx); err != nil {
			return nil, err
		}
	}
	if !d.scanned {
		return nil, damaged("no picture")
	}
	if d.progressive {
		if err := d.transformAll(ctx); err != nil {
			return nil, err
		}
	}
	return d.image()
}

// segment reads one marker and what belongs to it. A file that ends without an end marker ends the image.
func (d *decoder) segment(ctx context.Context) error {
	marker, ok := d.marker()
	switch {
	case !ok, marker == markerEOI:
		d.ended = true
		return nil
	case marker >= markerRST0 && marker <= markerRST7, marker == 0x01:
		return nil
	}
	body, err := d.body()
	if err != nil {
		return err
	}
	switch marker {
	case markerSOF0, markerSOF1, markerSOF2:
		return d.frame(body, marker == markerSOF2)
	case markerDHT:
		return d.tables(body)
	case markerDQT:
		return d.quantizers(body)
	case markerDRI:
		if len(body) != 2 {
			return damaged("a restart interval of %d bytes", len(body))
		}
		d.restart = int(binary.BigEndian.Uint16(body))
	case markerSOS:
		d.scanned = true
		return d.scan(ctx, body)
	case markerAPPE:
		if len(body) >= 12 && string(body[:5]) == "Adobe" {
			d.transform = int(body[11])
		}
	default:
		if marker > markerSOF2 && marker < 0xD0 { // other processes
			return ErrKind
		}
	}
	return nil
}

// marker finds the next marker.
func (d *decoder) marker() (byte, bool) {
	for ; d.at+1 < len(d.data); d.at++ {
		if next := d.data[d.at+1]; d.data[d.at] == 0xFF && next != 0 && next != 0xFF {
			d.at += 2
			return next, true
		}
	}
	return 0, false
}

// body takes the bytes of a segment behind its length.
func (d *decoder) body() ([]byte, error) {
	if d.at+2 > len(d.data) {
		return nil, damaged("a segment is cut off")
	}
	n := int(binary.BigEndian.Uint16(d.data[d.at:]))
	if n < 2 || d.at+n > len(d.data) {
		return nil, damaged("a segment of %d bytes", n)
	}
	body := d.data[d.at+2 : d.at+n]
	d.at += n
	return body, nil
}

// frame reads the size and the components of the image.
func (d *decoder) frame(b []byte, progressive bool) error {
	switch {
	case d.components != nil:
		return damaged("two frames")
	case len(b) < 6 || len(b) != 6+3*int(b[5]):
		return damaged("a frame header of %d bytes", len(b))
	case b[0] != 8 || b[5] != 1 && b[5] != 3:
		return ErrKind
	}
	d.progressive = progressive
	d.height, d.width = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	if d.height == 0 || d.width == 0 {
		return ErrKind // the height may follow the first scan
	}
	if d.width != d.size.X || d.height != d.size.Y {
		return damaged("a picture of %d × %d, not of %d × %d", d.width, d.height, d.size.X, d.size.Y)
	}
	for c := b[6:]; len(c) > 0; c = c[3:] {
		comp := component{id: c[0], h: int(c[1] >> 4), v: int(c[1] & 15), quant: c[2]}
		if comp.h < 1 || comp.h > 4 || comp.v < 1 || comp.v > 4 || comp.quant > 3 {
			return damaged("component %d", comp.id)
		}
		d.components = append(d.components, comp)
	}
	return d.layOut()
}

// layOut allocates the planes. A file of one component has units of one block whatever its factors say.
func (d *decoder) layOut() error {
	if len(d.components) == 1 {
		d.components[0].h, d.components[0].v = 1, 1
	}
	if _, err := d.ratio(); err != nil {
		return err
	}
	first := &d.components[0]
	unitsAcross, unitsDown := over(d.width, 8*first.h), over(d.height, 8*first.v)
	for i := range d.components {
		c := &d.components[i]
		c.across, c.down = over(over(d.width*c.h, first.h), 8), over(over(d.height*c.v, first.v), 8)
		c.stride, c.rows = unitsAcross*c.h, unitsDown*c.v
		c.pix = make([]uint8, c.stride*c.rows*blockSize)
		if d.progressive {
			c.coefficients = make([]int16, c.stride*c.rows*blockSize)
		}
	}
	return nil
}

func over(n, by int) int { return (n + by - 1) / by }

// ratio is the subsampling of chroma. Only chroma of one block in a unit, and of the size of luma, is read.
func (d *decoder) ratio() (image.YCbCrSubsampleRatio, error) {
	if len(d.components) == 1 {
		return image.YCbCrSubsampleRatio444, nil
	}
	y, cb, cr := d.components[0], d.components[1], d.components[2]
	if cb.h != cr.h || cb.v != cr.v || y.h%cb.h != 0 || y.v%cb.v != 0 {
		return 0, ErrKind
	}
	switch [2]int{y.h / cb.h, y.v / cb.v} {
	case [2]int{1, 1}:
		return image.YCbCrSubsampleRatio444, nil
	case [2]int{2, 1}:
		return image.YCbCrSubsampleRatio422, nil
	case [2]int{2, 2}:
		return image.YCbCrSubsampleRatio420, nil
	case [2]int{1, 2}:
		return image.YCbCrSubsampleRatio440, nil
	}
	return 0, ErrKind
}

// image returns the planes.
func (d *decoder) image() (image.Image, error) {
	bounds := image.Rect(0, 0, d.width, d.height)
	y := &d.components[0]
	if len(d.components) == 1 {
		return &image.Gray{Pix: y.pix, Stride: 8 * y.stride, Rect: bounds}, nil
	}
	rgb := d.components[0].id == 'R' && d.components[1].id == 'G' && d.components[2].id == 'B'
	if d.transform == 0 || d.transform < 0 && rgb {
		return nil, ErrKind
	}
	ratio, err := d.ratio()
	if err != nil {
		return nil, err
	}
	cb, cr := &d.components[1], &d.components[2]
	return &image.YCbCr{
		Y: y.pix, Cb: cb.pix, Cr: cr.pix, YStride: 8 * y.stride, CStride: 8 * cb.stride, SubsampleRatio: ratio, Rect: bounds,
	}, nil
}
