package metadata

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// copyPNG replaces the prompt in the text chunks of a PNG.
func (g *Graph) copyPNG(w io.Writer, r io.Reader) error {
	if _, err := io.CopyN(w, r, int64(len(pngSignature))); err != nil {
		return truncatedFile(err)
	}
	for {
		var head [8]byte
		n, err := io.ReadFull(r, head[:])
		if err != nil {
			if _, err := w.Write(head[:n]); err != nil {
				return err
			}
			return truncatedFile(err)
		}
		length, kind := int64(binary.BigEndian.Uint32(head[:])), string(head[4:])
		if !textChunk(kind) || length > maxText {
			if _, err := w.Write(head[:]); err != nil {
				return err
			}
			if _, err := io.CopyN(w, r, length+4); err != nil {
				return truncatedFile(err)
			}
			continue
		}
		data, err := io.ReadAll(io.LimitReader(r, length+4))
		if err != nil {
			return err
		}
		if err := g.writeChunk(w, head, kind, data); err != nil {
			return err
		}
	}
}

// textChunk reports whether chunks of a type contain texts; comf is the type of ComfyUI's animations.
func textChunk(kind string) bool {
	switch kind {
	case "tEXt", "iTXt", "zTXt", "comf", "eXIf":
		return true
	}
	return false
}

// checkBytes is the length of the checksum that ends a chunk.
const checkBytes = 4

// writeChunk writes a chunk; data ends with the chunk's checksum. A chunk without a marked prompt is written
// unchanged.
func (g *Graph) writeChunk(w io.Writer, head [8]byte, kind string, data []byte) error {
	body := data
	if len(data) >= checkBytes {
		body = data[:len(data)-checkBytes]
	}
	changed := g.replaceText(kind, body)
	if changed == nil {
		_, err := w.Write(append(head[:], data...))
		return err
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(changed)))
	out = append(append(out, kind...), changed...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	_, err := w.Write(out)
	return err
}

// replaceText returns the body of a chunk with the graph in place of the prompt, or nil if the chunk has no prompt.
func (g *Graph) replaceText(kind string, body []byte) []byte {
	packed := packedAt(kind, body)
	if packed < 0 {
		if _, whole, _ := g.find(body); !whole {
			return nil
		}
		return g.all(body, kind == "eXIf")
	}
	unpacked, err := inflate(body[packed:])
	if err != nil {
		return nil
	}
	if _, whole, _ := g.find(unpacked); !whole {
		return nil
	}
	return append(bytes.Clone(body[:packed]), deflate(g.all(unpacked, false))...)
}

// packedAt returns the offset of the compressed text of a chunk, or -1.
func packedAt(kind string, body []byte) int {
	key := bytes.IndexByte(body, 0)
	switch {
	case key < 0:
		return -1
	case kind == "zTXt":
		return min(key+2, len(body)) // after the compression method
	case kind != "iTXt" || len(body) < key+3 || body[key+1] == 0:
		return -1
	}
	at := key + 3
	for range 2 { // language and translated key
		next := bytes.IndexByte(body[at:], 0)
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	return at
}

func inflate(packed []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxText))
}

func deflate(text []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(text) //nolint:errcheck // writes to memory cannot fail
	w.Close()     //nolint:errcheck // see above
	return b.Bytes()
}
