package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"strings"

	"github.com/HugoSmits86/nativewebp"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxWebPSide is the largest width and height of a WebP.
const maxWebPSide = 1 << 14

// webpEXIF is the flag of a VP8X chunk that announces an EXIF chunk.
const webpEXIF = 0x08

// maxFrameMillis is the longest time that a frame of a WebP is shown.
const maxFrameMillis = 1<<24 - 1

// WebPAnimation tunes EncodeWebP.
type WebPAnimation struct {
	FrameMillis int    // milliseconds that each frame is shown
	Metadata    []Text // texts in the EXIF block: tag 0x0110 for the first, then 0x010F, 0x010E and so on
}

// EncodeWebP writes all frames as one lossless animated WebP that repeats for ever, or a single frame as a still one.
// Samples are clipped and truncated as in EncodePNG.
func EncodeWebP(ctx context.Context, w io.Writer, im *raster.Image, o WebPAnimation) error {
	if im.Width() > maxWebPSide || im.Height() > maxWebPSide {
		return fault.New(fault.Invalid, fault.CodeWebPSize, "a WebP image is at most %d pixels a side; this one is %d×%d", maxWebPSide,
			im.Width(), im.Height())
	}
	if o.FrameMillis < 0 || o.FrameMillis > maxFrameMillis {
		return fmt.Errorf("a frame time of %d ms is out of the range 0 to %d", o.FrameMillis, maxFrameMillis)
	}
	exif, err := exifOf(o.Metadata)
	if err != nil {
		return err
	}
	var frames [][]byte
	alpha := false
	for i := range im.Frames() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		bits, err := losslessBits(im, i)
		if err != nil {
			return err
		}
		alpha = alpha || bits[4]>>4&1 != 0
		frames = append(frames, bits)
	}
	_, err = w.Write(webpContainer(im, frames, alpha, exif, o.FrameMillis))
	if err != nil {
		return fmt.Errorf("write webp: %w", err)
	}
	return nil
}

// losslessBits is a frame as the payload of a VP8L chunk.
func losslessBits(im *raster.Image, frame int) ([]byte, error) {
	var file bytes.Buffer
	if err := nativewebp.Encode(&file, nrgba(im, frame), nil); err != nil {
		return nil, fmt.Errorf("encode webp: %w", err)
	}
	var bits []byte
	err := riff(file.Bytes()[12:], func(id string, body []byte) error {
		if id == "VP8L" {
			bits = body
		}
		return nil
	})
	if err != nil || len(bits) < 5 {
		return nil, fmt.Errorf("%w: of our own", errWebP)
	}
	return bits, nil
}

// nrgba converts a frame to the standard library's type; one channel is grey.
func nrgba(im *raster.Image, frame int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, im.Width(), im.Height()))
	row, channels := make([]uint8, im.Width()*im.Channels()), im.Channels()
	for y := range im.Height() {
		samples, to := im.Row8(row, frame, y), out.Pix[y*out.Stride:]
		for x := range im.Width() {
			px, at := to[4*x:4*x+4], samples[x*channels:]
			px[3] = 255
			if channels < 3 {
				px[0], px[1], px[2] = at[0], at[0], at[0]
				continue
			}
			copy(px, at[:channels])
		}
	}
	return out
}

// webpContainer joins frames and metadata into a file.
func webpContainer(im *raster.Image, frames [][]byte, alpha bool, exif []byte, millis int) []byte {
	flags := byte(0)
	if alpha {
		flags |= webpAlpha
	}
	if len(frames) > 1 {
		flags |= webpAnimation
	}
	if exif != nil {
		flags |= webpEXIF
	}
	size := appendUint24(appendUint24(nil, im.Width()-1), im.Height()-1)
	body := appendRIFF([]byte("WEBP"), "VP8X", append([]byte{flags, 0, 0, 0}, size...))
	if len(frames) == 1 {
		body = appendRIFF(body, "VP8L", frames[0])
	} else {
		body = appendRIFF(body, "ANIM", make([]byte, 6)) // transparent background, repeated for ever
		for _, bits := range frames {
			const noBlend = 2
			head := append(make([]byte, 6, 16), size...) // at the origin
			head = append(appendUint24(head, millis), noBlend)
			body = appendRIFF(body, "ANMF", appendRIFF(head, "VP8L", bits))
		}
	}
	if exif != nil {
		body = appendRIFF(body, "EXIF", exif)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func appendUint24(b []byte, v int) []byte { return append(b, byte(v), byte(v>>8), byte(v>>16)) }

// appendRIFF appends a chunk, padded to an even length.
func appendRIFF(b []byte, id string, body []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, id...), uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// exifOf returns an EXIF block with the texts "key:value", where ComfyUI keeps the prompt of a WebP; nil without texts.
func exifOf(texts []Text) ([]byte, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	const (
		firstTag  = 0x0110
		typeASCII = 2
		headBytes = 8
	)
	if len(texts) > firstTag {
		return nil, fault.New(fault.Invalid, fault.CodeWebPText, "%d metadata keys cannot be stored in a WebP", len(texts))
	}
	order := binary.LittleEndian
	out := append([]byte("II*\x00"), headBytes, 0, 0, 0)
	out = order.AppendUint16(out, uint16(len(texts)))
	at := headBytes + 2 + 12*len(texts) + 4
	var data []byte
	for i := len(texts) - 1; i >= 0; i-- { // the entries of a directory are sorted by tag
		text := texts[i].Key + ":" + texts[i].Value
		if texts[i].Key == "" || strings.ContainsRune(text, 0) {
			return nil, fault.New(fault.Invalid, fault.CodeWebPText, "the metadata key %q cannot be stored in a WebP", texts[i].Key)
		}
		out = order.AppendUint16(out, uint16(firstTag-i))
		out = order.AppendUint16(out, typeASCII)
		value := append([]byte(text), 0)
		out = order.AppendUint32(out, uint32(len(value)))
		if len(value) <= 4 { // a short text is stored in the entry itself, in place of its offset
			out = append(out, append(value, 0, 0, 0, 0)[:4]...)
			continue
		}
		out = order.AppendUint32(out, uint32(at+len(data)))
		data = append(data, value...)
		if len(data)%2 == 1 {
			data = append(data, 0)
		}
	}
	return append(order.AppendUint32(out, 0), data...), nil
}
