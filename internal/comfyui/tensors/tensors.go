// Package tensors reads and writes files of tensors in the safetensors format: the values that the node pack of
// integrations/comfyui exchanges, and latents that ComfyUI's own nodes save. It keeps one promise: written values are
// read bit for bit, and a file with wrong sizes costs no more memory than its reader allows. The meaning of the
// values is left to callers.
package tensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Tensor is an array of numbers.
type Tensor struct {
	Type  string // "F32", "F16", "BF16", "F64", "I64", …, as the format names it
	Shape []int
	Data  []byte // little endian, the last dimension first
}

// File is a set of tensors by name, with accompanying texts.
type File struct {
	Tensors  map[string]Tensor
	Metadata map[string]string
}

// maxHeader bounds the description of the tensors.
const maxHeader = 16 << 20

// metadataKey is the member of the header that contains the texts.
const metadataKey = "__metadata__"

// sizes are the bytes of one number, by type.
var sizes = map[string]int{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}

func errDamaged(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeTensorsDamaged, "the file of tensors is damaged: %s", fmt.Sprintf(format, args...))
}

// entry describes a tensor in the header.
type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Read reads a file of at most limit bytes of tensors.
func Read(r io.Reader, limit int64) (*File, error) {
	f, entries, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	var end int64
	for _, e := range entries {
		end = max(end, e.Offsets[1])
	}
	if end > limit {
		return nil, fault.New(fault.Exhausted, fault.CodeTensorsTooLarge, "the tensors of the file take %d bytes; at most %d are allowed", end,
			limit)
	}
	data, err := readBody(r, end)
	if err != nil {
		return nil, err
	}
	for name, e := range entries {
		f.Tensors[name] = Tensor{Type: e.Type, Shape: e.Shape, Data: data[e.Offsets[0]:e.Offsets[1]:e.Offsets[1]]}
	}
	return f, nil
}

// firstChunk is the memory that is allocated before any byte of the tensors has arrived.
const firstChunk = 1 << 20

// readBody reads n bytes. Memory is allocated only as bytes arrive.
func readBody(r io.Reader, n int64) ([]byte, error) {
	data := make([]byte, 0, min(n, firstChunk))
	for int64(len(data)) < n {
		data = slices.Grow(data, int(min(n-int64(len(data)), max(firstChunk, int64(len(data))))))
		part := data[len(data):min(int64(cap(data)), n)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, cutOff(err)
		}
		data = data[:len(data)+len(part)]
	}
	return data, nil
}

// cutOff returns the error for a file that ends too early. Other errors are those of the source.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged("it ends too early")
	}
	return err
}

func readHeader(r io.Reader) (*File, map[string]entry, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, nil, cutOff(err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return nil, nil, errDamaged("its header takes %d bytes", n)
	}
	raw, err := readBody(r, int64(n))
	if err != nil {
		return nil, nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, nil, errDamaged("its header is not an object")
	}
	f := &File{Tensors: map[string]Tensor{}}
	entries := make(map[string]entry, len(members))
	for name, member := range members {
		if name == metadataKey {
			if err := json.Unmarshal(member, &f.Metadata); err != nil {
				return nil, nil, errDamaged("its metadata must be texts")
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(member, &e); err != nil || !e.valid() {
			return nil, nil, errDamaged("tensor %.100q is described wrongly", name)
		}
		entries[name] = e
	}
	return f, entries, nil
}

// valid reports whether the offsets of a tensor match the size of its shape.
func (e entry) valid() bool {
	size, known := sizes[e.Type]
	total := int64(size)
	for _, d := range e.Shape {
		if d < 0 || d > 0 && total > math.MaxInt64/int64(d) {
			return false
		}
		total *= int64(d)
	}
	return known && e.Offsets[0] >= 0 && e.Offsets[1] >= e.Offsets[0] && e.Offsets[1]-e.Offsets[0] == total
}

// WriteTo writes the file. Equal files give equal bytes.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	r, _, err := f.Reader()
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, r)
	if err != nil {
		return n, fmt.Errorf("write tensors: %w", err)
	}
	return n, nil
}

// Reader returns a reader of the bytes that WriteTo writes, without a copy of the tensors, and their number.
func (f *File) Reader() (io.Reader, int64, error) {
	names := slices.Sorted(maps.Keys(f.Tensors))
	header := make(map[string]any, len(names)+1)
	if len(f.Metadata) > 0 {
		header[metadataKey] = f.Metadata
	}
	parts := []io.Reader{nil}
	var at int64
	for _, name := range names {
		t := f.Tensors[name]
		e := entry{t.Type, t.Shape, [2]int64{at, at + int64(len(t.Data))}}
		if !e.valid() {
			return nil, 0, fmt.Errorf("tensor %s of type %s and shape %v has %d bytes", name, t.Type, t.Shape, len(t.Data))
		}
		if e.Shape == nil {
			e.Shape = []int{}
		}
		header[name], at = e, e.Offsets[1]
		parts = append(parts, bytes.NewReader(t.Data))
	}
	raw, err := json.Marshal(header)
	if err != nil {
		return nil, 0, fmt.Errorf("write the header of tensors: %w", err)
	}
	for len(raw)%8 != 0 {
		raw = append(raw, ' ') // padding: readers map numbers into memory
	}
	head := append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...)
	parts[0] = bytes.NewReader(head)
	return io.MultiReader(parts...), int64(len(head)) + at, nil
}
