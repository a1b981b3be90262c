package preview

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maskLevel is the deflate level of masked originals, as in ComfyUI.
const maskLevel = 4

// maxText bounds the text chunks that are copied, in bytes.
const maxText = 4 << 20

// ApplyMask writes the original's first frame as a PNG with the alpha of the mask image (W-16); a mask without alpha
// makes it opaque. Text chunks of an original PNG are kept. A mask whose size differs from the original's is Invalid.
func ApplyMask(ctx context.Context, e raster.Engine, w io.Writer, original, mask io.Reader) error {
	data, err := io.ReadAll(original) // bounded: a stored image of the account
	if err != nil {
		return fmt.Errorf("read the original image: %w", err)
	}
	base, err := codec.Decode(ctx, e, bytes.NewReader(data))
	if err != nil {
		return err
	}
	over, err := codec.Decode(ctx, e, mask)
	if err != nil {
		return err
	}
	if base.Image.Width() != over.Image.Width() || base.Image.Height() != over.Image.Height() {
		return fault.New(fault.Invalid, fault.CodeInvalidImage,
			"the mask is %d × %d pixels large, the original %d × %d; both must have the same size",
			over.Image.Width(), over.Image.Height(), base.Image.Width(), base.Image.Height())
	}
	base.Mask = over.Mask
	img := compose(base, Options{Format: PNG})
	out, err := raster.NewImage8(1, img.Rect.Dy(), img.Rect.Dx(), 4, img.Pix)
	if err != nil {
		return err
	}
	return codec.EncodePNG(ctx, w, out, 0, codec.PNGOptions{Level: maskLevel, Text: texts(data)})
}

// texts returns the tEXt chunks of a PNG file. For any other file it returns nil.
func texts(data []byte) []codec.Text {
	rest, ok := bytes.CutPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	var found []codec.Text
	for total := 0; ok && len(rest) >= 12; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-12) {
			break
		}
		if kind, body := string(rest[4:8]), rest[8:8+n]; kind == "tEXt" {
			if total += len(body); total > maxText {
				break
			}
			if key, value, ok := bytes.Cut(body, []byte{0}); ok {
				found = append(found, codec.Text{Key: latin1(key), Value: latin1(value)})
			}
		}
		rest = rest[12+n:]
	}
	return found
}

// latin1 turns the bytes of a tEXt chunk into a string.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}
