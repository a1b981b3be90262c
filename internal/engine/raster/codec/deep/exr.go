package deep

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// The beginning of every EXR file, and the version that is written.
const (
	exrMagic   = 20000630
	exrVersion = 2
)

// The primaries of a file: x and y of red, green, blue and white.
var (
	Rec709  = [8]float32{0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329}
	Rec2020 = [8]float32{0.708, 0.292, 0.17, 0.797, 0.131, 0.046, 0.3127, 0.329}
)

// sampleFloat is the type of 32-bit floats in a file.
const sampleFloat = 2

// names are the channels of a file by the number of an image's channels, in the order in which a file stores them, and
// where each is in a pixel.
func names(channels int) ([]string, []int) {
	switch channels {
	case 1:
		return []string{"Y"}, []int{0}
	case 3:
		return []string{"B", "G", "R"}, []int{2, 1, 0}
	}
	return []string{"A", "B", "G", "R"}, []int{3, 2, 1, 0}
}

// EncodeEXR writes one frame as an EXR file of floats, uncompressed. The values are written as they are, which should be
// linear light of the given primaries.
func EncodeEXR(ctx context.Context, w io.Writer, im *raster.Image, frame int, primaries [8]float32, texts []Text) error {
	channels, order := names(im.Channels())
	head := exrHead(im, channels, primaries, texts)
	line := 8 + 4*len(channels)*im.Width()
	for y := range im.Height() {
		head = binary.LittleEndian.AppendUint64(head, uint64(len(head)+8*(im.Height()-y)+y*line))
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("write exr: %w", err)
	}
	for y := range im.Height() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := binary.LittleEndian.AppendUint32(make([]byte, 0, line), uint32(y))
		b = binary.LittleEndian.AppendUint32(b, uint32(line-8))
		row := im.Row(nil, frame, y)
		for _, at := range order {
			for x := at; x < len(row); x += im.Channels() {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(row[x]))
			}
		}
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write exr: %w", err)
		}
	}
	return nil
}

// exrHead is a header, from the magic number to the zero that ends it.
func exrHead(im *raster.Image, channels []string, primaries [8]float32, texts []Text) []byte {
	le := binary.LittleEndian
	var list bytes.Buffer
	for _, name := range channels {
		list.WriteString(name + "\x00")
		list.Write(le.AppendUint32(nil, sampleFloat))
		list.Write(make([]byte, 4)) // linear or not, and three that are reserved
		list.Write(le.AppendUint32(le.AppendUint32(nil, 1), 1))
	}
	list.WriteByte(0)
	window := le.AppendUint32(le.AppendUint32(make([]byte, 8), uint32(im.Width()-1)), uint32(im.Height()-1))
	one := le.AppendUint32(nil, math.Float32bits(1))
	var white []byte
	for _, v := range primaries {
		white = le.AppendUint32(white, math.Float32bits(v))
	}
	b := le.AppendUint32(le.AppendUint32(nil, exrMagic), exrVersion)
	add := func(name, kind string, value []byte) {
		b = append(b, name+"\x00"+kind+"\x00"...)
		b = append(le.AppendUint32(b, uint32(len(value))), value...)
	}
	add("channels", "chlist", list.Bytes())
	add("compression", "compression", []byte{0})
	add("dataWindow", "box2i", window)
	add("displayWindow", "box2i", slices.Clone(window))
	add("lineOrder", "lineOrder", []byte{0})
	add("pixelAspectRatio", "float", one)
	add("screenWindowCenter", "v2f", make([]byte, 8))
	add("screenWindowWidth", "float", one)
	add("chromaticities", "chromaticities", white)
	for _, t := range texts {
		add(t.Key, "string", []byte(t.Value))
	}
	return append(b, 0)
}
