package peer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/millrace-dev/millrace/internal/stream"
)

// maxHeader bounds the header of a frame on the wire.
const maxHeader = 64 << 10

// On the wire, a frame is the length and the bytes of its JSON header, followed by the length and the bytes of its
// data. Lengths are big-endian u32. A header of length 0 without data is a heartbeat.

func writeHeartbeat(w io.Writer) error {
	_, err := w.Write([]byte{0, 0, 0, 0})
	return err
}

func writeFrame(w io.Writer, f stream.Frame) error {
	header, err := json.Marshal(f)
	if err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(header)), uint32(len(header)))
	b = binary.BigEndian.AppendUint32(append(b, header...), uint32(len(f.Data)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err = w.Write(f.Data)
	return err
}

// readFrame reads the next frame; ok is false for a heartbeat.
func readFrame(r *bufio.Reader) (f stream.Frame, ok bool, err error) {
	header, err := readPart(r, maxHeader)
	if err != nil || len(header) == 0 {
		return stream.Frame{}, false, err
	}
	if err := json.Unmarshal(header, &f); err != nil {
		return stream.Frame{}, false, fmt.Errorf("frame header: %w", err)
	}
	data, err := readPart(r, stream.MaxPicture)
	if err != nil {
		return stream.Frame{}, false, err
	}
	if len(data) > 0 {
		f.Data = data
	}
	return f, true, f.Validate()
}

func readPart(r *bufio.Reader, limit uint32) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(n[:])
	if size > limit {
		return nil, fmt.Errorf("a part of %d bytes is longer than %d", size, limit)
	}
	part := make([]byte, size)
	_, err := io.ReadFull(r, part)
	return part, err
}
