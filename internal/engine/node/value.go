package node

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Opaque is a value that only servers compute with, such as a latent image. It consists of its type and the file with
// its content.
type Opaque struct {
	Type Type
	Data []byte
}

// A stored value is a kind byte and a body. The body of a number is 8 bytes (little endian). The body of a string,
// JSON or a Blocker is a length as unsigned varint and the bytes; of a list, a count and the values; of an image or
// mask, the raster stream; of a sound, its stream; of a video, its description as JSON, then its frames and its sound
// as values; of a stack of layers, their number, the size of their canvas, and the members of each as values; of an
// Opaque, its type as a string, then its bytes. Nil and booleans have no body.
const (
	kindNil    = 'n'
	kindInt    = 'i'
	kindFloat  = 'f'
	kindTrue   = 't'
	kindFalse  = 'u'
	kindString = 's'
	kindJSON   = 'j'
	kindList   = 'l'
	kindRaster = 'r'
	kindBlock  = 'b'
	kindSound  = 'a'
	kindVideo  = 'v'
	kindOpaque = 'o'
	kindLayers = 'y'
)

const (
	// maxListed bounds the elements of a stored list.
	maxListed = 1 << 20
	// maxNested bounds the nesting of lists.
	maxNested = 16
)

// errKind reports a Go type that is not the type of a Value.
var errKind = errors.New("nodes cannot exchange values of this type")

// EncodeValue writes a value in the form that DecodeValue reads. The same value always gives the same bytes. Any
// other Go type is an error.
func EncodeValue(w io.Writer, value Value) error {
	if _, ok := value.(io.WriterTo); ok {
		return encode(w, value) // large values are written without a buffer
	}
	b := bufio.NewWriter(w)
	if err := encode(b, value); err != nil {
		return err
	}
	return b.Flush()
}

func encode(w io.Writer, value Value) error {
	switch v := value.(type) {
	case nil:
		return put(w, kindNil, nil)
	case bool:
		if v {
			return put(w, kindTrue, nil)
		}
		return put(w, kindFalse, nil)
	case int64:
		return put(w, kindInt, binary.LittleEndian.AppendUint64(nil, uint64(v)))
	case float64:
		return put(w, kindFloat, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	case string:
		return put(w, kindString, append(binary.AppendUvarint(nil, uint64(len(v))), v...))
	case Blocker:
		return put(w, kindBlock, append(binary.AppendUvarint(nil, uint64(len(v.Message))), v.Message...))
	case List:
		return encodeList(w, v)
	case *raster.Image:
		return encodeStream(w, kindRaster, v)
	case *raster.Mask:
		return encodeStream(w, kindRaster, v)
	case *media.Sound:
		return encodeStream(w, kindSound, v)
	case *media.Video:
		return encodeVideo(w, v)
	case *layers.Stack:
		return encodeLayers(w, v)
	case Opaque:
		head := append(binary.AppendUvarint(nil, uint64(len(v.Type))), v.Type...)
		return put(w, kindOpaque, append(binary.AppendUvarint(head, uint64(len(v.Data))), v.Data...))
	case map[string]any, []any:
		return encodeJSON(w, v)
	default:
		return fmt.Errorf("encode a %T: %w", value, errKind)
	}
}

func put(w io.Writer, kind byte, body []byte) error {
	if _, err := w.Write(append([]byte{kind}, body...)); err != nil {
		return fmt.Errorf("write a value: %w", err)
	}
	return nil
}

func encodeList(w io.Writer, list List) error {
	if err := put(w, kindList, binary.AppendUvarint(nil, uint64(len(list)))); err != nil {
		return err
	}
	for _, element := range list {
		if err := encode(w, element); err != nil {
			return err
		}
	}
	return nil
}

func encodeStream(w io.Writer, kind byte, v io.WriterTo) error {
	if err := put(w, kind, nil); err != nil {
		return err
	}
	if _, err := v.WriteTo(w); err != nil {
		return fmt.Errorf("write a value: %w", err)
	}
	return nil
}

// storedVideo is the description of a video, without its frames and its sound.
type storedVideo struct {
	File   string  `json:"file,omitempty"`
	Start  float64 `json:"start,omitempty"`
	Length float64 `json:"length,omitempty"`
	FPS    float64 `json:"fps,omitempty"`
	Depth  int     `json:"depth,omitempty"`
	Space  string  `json:"space,omitempty"`
}

func encodeVideo(w io.Writer, v *media.Video) error {
	raw, err := json.Marshal(storedVideo{v.File, v.Start, v.Length, v.FPS, v.Depth, v.Space})
	if err != nil {
		return fmt.Errorf("encode a video: %w", err)
	}
	if err := put(w, kindVideo, append(binary.AppendUvarint(nil, uint64(len(raw))), raw...)); err != nil {
		return err
	}
	var frames, sound Value
	if v.Frames != nil {
		frames = v.Frames
	}
	if v.Sound != nil {
		sound = v.Sound
	}
	return errors.Join(encode(w, frames), encode(w, sound))
}

// encodeJSON writes whole floats with a decimal point, so that a reader does not take them for integers.
func encodeJSON(w io.Writer, value any) error {
	raw, err := json.Marshal(floatsShown(value))
	if err != nil {
		return fmt.Errorf("encode a value: %w", err)
	}
	return put(w, kindJSON, append(binary.AppendUvarint(nil, uint64(len(raw))), raw...))
}

func floatsShown(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return v // encoding/json refuses it
		}
		return Number(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = floatsShown(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, member := range v {
			object[key] = floatsShown(member)
		}
		return object
	default:
		return v
	}
}

// DecodeValue reads one value, and no bytes after the value. Malformed input is fault.Invalid; a value of more than
// maxBytes is fault.Exhausted. Memory is allocated only as bytes arrive.
func DecodeValue(r io.Reader, maxBytes int64) (Value, error) {
	d := &decoder{r: bufio.NewReader(&bounded{r: r, left: maxBytes}), maxBytes: maxBytes}
	value, err := d.value(0)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, fault.Wrap(err, fault.Exhausted, fault.CodeValueTooLarge, "the value is larger than %d bytes", maxBytes)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeValueDamaged, "the stored value ends early")
	case err != nil:
		return nil, err
	}
	return value, nil
}

var errTooLarge = errors.New("more bytes than allowed")

// bounded is an io.LimitReader that fails, instead of ending, if the input has more bytes than allowed.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err // callers compare with io.EOF
}

type decoder struct {
	r        *bufio.Reader
	maxBytes int64
}

func (d *decoder) value(level int) (Value, error) {
	kind, err := d.r.ReadByte()
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindNil:
		return nil, nil
	case kindTrue:
		return true, nil
	case kindFalse:
		return false, nil
	case kindInt:
		bits, err := d.bits()
		return int64(bits), err
	case kindFloat:
		bits, err := d.bits()
		return math.Float64frombits(bits), err
	case kindString:
		raw, err := d.bytes()
		return string(raw), err
	case kindBlock:
		raw, err := d.bytes()
		return Blocker{Message: string(raw)}, err
	case kindOpaque:
		return d.opaque()
	case kindJSON:
		return d.json()
	case kindList:
		return d.list(level)
	case kindSound:
		return media.ReadSound(d.r)
	case kindVideo:
		return d.video(level)
	case kindLayers:
		return d.layers(level)
	case kindRaster:
		return raster.Engine{MaxPixels: d.maxBytes}.Read(d.r)
	default:
		return nil, fault.New(fault.Invalid, fault.CodeValueDamaged, "a stored value has the unknown kind %q", kind)
	}
}

func (d *decoder) bits() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(d.r, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// length reads an unsigned varint of at most 42 bits.
func (d *decoder) length() (n uint64, err error) {
	for shift := 0; shift < 42; shift += 7 {
		b, err := d.r.ReadByte()
		if err != nil {
			return 0, err
		}
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n, nil
		}
	}
	return 0, fault.New(fault.Invalid, fault.CodeValueDamaged, "a stored value has an impossible length")
}

func (d *decoder) bytes() ([]byte, error) {
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if n > uint64(d.maxBytes) {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	_, err = io.CopyN(&b, d.r, int64(n))
	return b.Bytes(), err
}

func (d *decoder) opaque() (Value, error) {
	kind, err := d.bytes()
	if err != nil {
		return nil, err
	}
	data, err := d.bytes()
	return Opaque{Type: Type(kind), Data: data}, err
}

func (d *decoder) json() (Value, error) {
	raw, err := d.bytes()
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeValueDamaged, "a stored value is not JSON")
	}
	return PlainJSON(value), nil
}

func (d *decoder) video(level int) (Value, error) {
	raw, err := d.bytes()
	if err != nil {
		return nil, err
	}
	var head storedVideo
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeValueDamaged, "the description of a stored video cannot be read")
	}
	v := &media.Video{File: head.File, Start: head.Start, Length: head.Length, FPS: head.FPS, Depth: head.Depth, Space: head.Space}
	for range 2 {
		if level == maxNested {
			return nil, fault.New(fault.Invalid, fault.CodeValueDamaged, "a stored video is nested too deep")
		}
		part, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		switch p := part.(type) {
		case *raster.Image:
			v.Frames = p
		case *media.Sound:
			v.Sound = p
		}
	}
	return v, nil
}

func (d *decoder) list(level int) (Value, error) {
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if n > maxListed || level == maxNested {
		return nil, fault.New(fault.Exhausted, fault.CodeValueTooLarge, "a stored list is too long or nested too deep")
	}
	list := List{}
	for range n {
		element, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	return list, nil
}

// PlainJSON returns decoded JSON as a Value. Each json.Number becomes an int64 if it is whole and fits, otherwise a
// float64; a number beyond the range of floats becomes its text. PlainJSON does not change its argument.
func PlainJSON(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = PlainJSON(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, member := range v {
			object[key] = PlainJSON(member)
		}
		return object
	default:
		return v
	}
}

// maxShown is the number of elements of a list that Describe prints.
const maxShown = 8

// Describe returns a text about a value for people: scalars unchanged, pictures by their size.
func Describe(value Value) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case Blocker:
		return "blocked"
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case Opaque:
		return fmt.Sprintf("%s of %d bytes", v.Type, len(v.Data))
	case *raster.Image:
		return fmt.Sprintf("IMAGE %d×%d×%d×%d", v.Frames(), v.Height(), v.Width(), v.Channels())
	case *raster.Mask:
		return fmt.Sprintf("MASK %d×%d×%d", v.Frames(), v.Height(), v.Width())
	case *media.Sound:
		return fmt.Sprintf("AUDIO %d × %.3f s at %d Hz", v.Channels(), v.Seconds(), v.Rate())
	case *media.Video:
		return describeVideo(v)
	case *layers.Stack:
		return fmt.Sprintf("LAYERS %d of %d pixels in all", len(v.Layers), v.Pixels())
	case List:
		return describeList(v)
	case bool:
		return strconv.FormatBool(v)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return string(raw)
}

func describeList(list List) string {
	parts := make([]string, 0, maxShown+1)
	for i, element := range list {
		if i == maxShown {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(list)))
			break
		}
		parts = append(parts, Describe(element))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func describeVideo(v *media.Video) string {
	if v.Frames == nil {
		return "VIDEO " + v.File
	}
	return fmt.Sprintf("VIDEO %d frames of %d×%d, %g a second", v.Frames.Frames(), v.Frames.Width(), v.Frames.Height(), v.FPS)
}
