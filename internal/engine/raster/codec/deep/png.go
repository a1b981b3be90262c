package deep

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// filterUp is the PNG filter that stores the difference to the row above.
const filterUp = 2

// EncodePNG writes one frame as a PNG file of 16 bits a sample, grey, RGB or RGBA by its channels. Samples are clipped and
// truncated. The texts must be Latin-1.
func EncodePNG(ctx context.Context, w io.Writer, im *raster.Image, frame int, texts []Text) error {
	var head [13]byte
	binary.BigEndian.PutUint32(head[0:], uint32(im.Width()))
	binary.BigEndian.PutUint32(head[4:], uint32(im.Height()))
	head[8], head[9] = 16, map[int]byte{1: 0, 3: 2, 4: 6}[im.Channels()]
	pixels, err := compressed(ctx, im, frame)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk(&b, "IHDR", head[:])
	for _, t := range texts {
		chunk(&b, "tEXt", []byte(t.Key+"\x00"+t.Value))
	}
	chunk(&b, "IDAT", pixels)
	chunk(&b, "IEND", nil)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write png: %w", err)
	}
	return nil
}

func chunk(b *bytes.Buffer, kind string, data []byte) {
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
	b.WriteString(kind)
	b.Write(data)
	crc := crc32.Update(crc32.ChecksumIEEE([]byte(kind)), crc32.IEEETable, data)
	b.Write(binary.BigEndian.AppendUint32(nil, crc))
}

func compressed(ctx context.Context, im *raster.Image, frame int) ([]byte, error) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	size := im.Width() * im.Channels() * 2
	above, row, line := make([]byte, size), make([]byte, size), make([]byte, 1+size)
	line[0] = filterUp
	for y := range im.Height() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for i, v := range im.Row(nil, frame, y) {
			binary.BigEndian.PutUint16(row[2*i:], quantized(v))
		}
		for i := range row {
			line[1+i] = row[i] - above[i]
		}
		if _, err := z.Write(line); err != nil {
			return nil, fmt.Errorf("write png: %w", err)
		}
		above, row = row, above
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("write png: %w", err)
	}
	return b.Bytes(), nil
}

// quantized is a sample of 16 bits.
func quantized(v float32) uint16 {
	v *= 65535
	switch {
	case v >= 65535:
		return 65535
	case v > 0:
		return uint16(v)
	}
	return 0
}
