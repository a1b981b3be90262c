package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// Animation tunes EncodeAnimation.
type Animation struct {
	Level       int    // deflate level 0 to 9
	FrameMillis int    // milliseconds that each frame is shown, up to 65535
	Metadata    []Text // private "comf" chunks, after the pixels of the first frame
}

// EncodeAnimation writes all frames as one animated PNG that repeats for ever. Frames that equal the one before make that one last
// longer, as in Pillow. A single frame makes a still PNG.
func EncodeAnimation(ctx context.Context, w io.Writer, im *raster.Image, o Animation) error {
	if o.FrameMillis < 0 || o.FrameMillis > math.MaxUint16 {
		return fmt.Errorf("a frame time of %d ms is out of the range 0 to %d", o.FrameMillis, math.MaxUint16)
	}
	if err := writeHead(w, im, nil); err != nil {
		return err
	}
	a := animator{w: w, im: im, o: o, lengths: runs(im)}
	if len(a.lengths) > 1 {
		control := binary.BigEndian.AppendUint32(nil, uint32(len(a.lengths)))
		if err := writeChunk(w, "acTL", binary.BigEndian.AppendUint32(control, 0)); err != nil {
			return err
		}
	}
	at := 0
	for _, length := range a.lengths {
		if err := a.frame(ctx, at, length); err != nil {
			return err
		}
		at += length
	}
	return writeChunk(w, "IEND", nil)
}

// animator numbers the chunks of an animation.
type animator struct {
	w        io.Writer
	im       *raster.Image
	o        Animation
	lengths  []int // of the runs of equal frames
	sequence uint32
}

// runs returns the lengths of the runs of equal frames.
func runs(im *raster.Image) []int {
	lengths := []int{1}
	for i := 1; i < im.Frames(); i++ {
		if sameFrame(im, i-1, i) {
			lengths[len(lengths)-1]++
		} else {
			lengths = append(lengths, 1)
		}
	}
	return lengths
}

func sameFrame(im *raster.Image, i, j int) bool {
	size := im.Width() * im.Channels()
	a, b := make([]uint8, size), make([]uint8, size)
	for y := range im.Height() {
		if !bytes.Equal(im.Row8(a, i, y), im.Row8(b, j, y)) {
			return false
		}
	}
	return true
}

func (a *animator) next() uint32 {
	a.sequence++
	return a.sequence - 1
}

func (a *animator) frame(ctx context.Context, i, length int) error {
	if len(a.lengths) > 1 {
		if err := writeChunk(a.w, "fcTL", a.control(length)); err != nil {
			return err
		}
	}
	if i > 0 {
		return writePixels(ctx, a.w, a.im, i, a.o.Level, func(w io.Writer, data []byte) error {
			return writeChunk(w, "fdAT", append(binary.BigEndian.AppendUint32(nil, a.next()), data...))
		})
	}
	if err := writePixels(ctx, a.w, a.im, 0, a.o.Level, chunkIDAT); err != nil {
		return err
	}
	for _, t := range a.o.Metadata {
		data, err := t.latin1()
		if err != nil {
			return err
		}
		if err := writeChunk(a.w, "comf", data); err != nil {
			return err
		}
	}
	return nil
}

// control is the frame control chunk of a full frame that replaces the one before and lasts as long as so many frames.
func (a *animator) control(frames int) []byte {
	b := new(bytes.Buffer)
	for _, v := range []uint32{a.next(), uint32(a.im.Width()), uint32(a.im.Height()), 0, 0} {
		b.Write(binary.BigEndian.AppendUint32(nil, v))
	}
	b.Write(binary.BigEndian.AppendUint16(nil, uint16(min(frames*a.o.FrameMillis, math.MaxUint16))))
	b.Write(binary.BigEndian.AppendUint16(nil, 1000))
	b.Write([]byte{0, 0}) // dispose none, blend source
	return b.Bytes()
}
