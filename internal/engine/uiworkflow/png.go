package uiworkflow

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"

	"github.com/millrace-dev/millrace/internal/fault"
)

var pngSignature = []byte("\x89PNG\r\n\x1a\n")

// maxText bounds an unpacked text of a PNG, in bytes. It is the bound of a graph.
const maxText = 32 << 20

// pngWorkflow returns the JSON in a PNG: its first prompt, or else its first workflow. Other texts are not unpacked.
func pngWorkflow(data []byte) ([]byte, error) {
	texts := map[string][]byte{"prompt": nil, "workflow": nil}
	for rest := data[len(pngSignature):]; len(rest) >= 12; {
		size := binary.BigEndian.Uint32(rest)
		if uint64(size) > uint64(len(rest)-12) {
			return nil, invalid("The picture is not complete: it ends within a chunk.")
		}
		body := rest[8 : 8+size]
		keyword, value, _ := bytes.Cut(body, []byte{0})
		if first, wanted := texts[string(keyword)]; wanted && first == nil {
			text, err := pngText(string(rest[4:8]), value)
			if err != nil {
				return nil, err
			}
			texts[string(keyword)] = text
		}
		rest = rest[12+size:]
	}
	if prompt := texts["prompt"]; prompt != nil {
		return prompt, nil
	}
	if workflow := texts["workflow"]; workflow != nil {
		return workflow, nil
	}
	return nil, invalid("The picture contains no workflow.")
}

// pngText returns the text of a chunk, given the bytes after its keyword. It returns nil for a chunk of another kind.
func pngText(kind string, rest []byte) (text []byte, err error) {
	switch {
	case kind == "tEXt":
		return rest, nil
	case kind == "zTXt" && len(rest) > 1:
		text, err = inflate(rest[1:])
	case kind == "iTXt" && len(rest) > 2:
		packed := rest[0] == 1
		_, rest, _ = bytes.Cut(rest[2:], []byte{0}) // language
		_, text, _ = bytes.Cut(rest, []byte{0})     // translated keyword
		if packed {
			text, err = inflate(text)
		}
	}
	return text, err
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
