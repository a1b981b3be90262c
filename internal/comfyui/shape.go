package comfyui

import (
	"bytes"
	"io"

	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of the JSON of answers and messages, because decoding takes time and memory for each value. The class definitions of a
// plain installation have 112,000 values, and a thousand files of models add a few ten thousand.
const (
	bytesPerValue = 16     // an answer may have a sixteenth as many values as bytes
	maxDepth      = 128    // nested containers
	maxMembers    = 20_000 // members of an object that are read one by one, such as classes
)

// shaped is JSON that is read. Reading fails with CodeTooLarge as soon as it has more values, or is nested deeper, than allowed.
type shaped struct {
	source          io.Reader
	most            int64 // values
	values          int64
	depth           int
	quoted, escaped bool
}

// Read implements io.Reader.
func (s *shaped) Read(p []byte) (int, error) {
	n, err := s.source.Read(p)
	for _, c := range p[:n] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
			s.values++
		case c == '}' || c == ']':
			s.depth--
		case c == ',':
			s.values++
		}
		if s.values > s.most || s.depth > maxDepth {
			return 0, fault.New(fault.Exhausted, fault.CodeTooLarge,
				"the server's answer has more than %d values or is nested deeper than %d levels", s.most, maxDepth)
		}
	}
	return n, err
}

// checkShape refuses a message of a socket that has too many values, or is nested too deep.
func checkShape(kind int, raw []byte) error {
	if kind == websocket.BinaryMessage {
		return nil
	}
	_, err := io.Copy(io.Discard, &shaped{source: bytes.NewReader(raw), most: maxFrame / bytesPerValue})
	return err
}
