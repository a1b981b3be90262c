package uiworkflow

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"

	"github.com/millrace-dev/millrace/internal/fault"
)

var pngSignature = []byte("\x89PNG\r\n\x1a\n")

// maxText bounds a text of a PNG after it was unpacked, in bytes.
const maxText = 64 << 20

// pngTexts returns the texts of a PNG by their keywords, the first of each.
func pngTexts(data []byte) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for rest := data[len(pngSignature):]; len(rest) >= 12; {
		size := binary.BigEndian.Uint32(rest)
		if uint64(size) > uint64(len(rest)-12) {
			return nil, invalid("The picture ends in the middle.")
		}
		body := rest[8 : 8+size]
		name, text, err := pngText(string(rest[4:8]), body)
		if err != nil {
			return nil, err
		}
		if _, there := texts[name]; name != "" && !there {
			texts[name] = text
		}
		rest = rest[12+size:]
	}
	return texts, nil
}

// pngText returns the keyword and the text of a chunk; "" for a chunk without a text.
func pngText(kind string, body []byte) (name string, text []byte, err error) {
	keyword, rest, found := bytes.Cut(body, []byte{0})
	if !found {
		return "", nil, nil
	}
	switch {
	case kind == "tEXt":
		return string(keyword), rest, nil
	case kind == "zTXt" && len(rest) > 1:
		text, err = inflate(rest[1:])
	case kind == "iTXt" && len(rest) > 2:
		packed := rest[0] == 1
		_, rest, _ = bytes.Cut(rest[2:], []byte{0}) // language
		_, text, _ = bytes.Cut(rest, []byte{0})     // translated keyword
		if packed {
			text, err = inflate(text)
		}
	default:
		return "", nil, nil
	}
	return string(keyword), text, err
}

func inflate(packed []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "A text of the picture cannot be unpacked.")
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "A text of the picture cannot be unpacked.")
	}
	if len(text) > maxText {
		return nil, invalid("A text of the picture is larger than %d MiB.", maxText>>20)
	}
	return text, nil
}
