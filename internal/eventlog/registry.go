package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Upcaster turns the stored data of an older event version into that of the next one.
type Upcaster func(json.RawMessage) (json.RawMessage, error)

// Type describes one event type to a Registry.
type Type struct {
	name    string
	decode  func(json.RawMessage) (any, error)
	accepts func(any) bool
	upcast  Upcaster
	next    string
	says    string
}

// TypeOf describes the event type of that name whose data is a T.
func TypeOf[T any](name string) Type {
	decode := func(data json.RawMessage) (any, error) {
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, err
		}
		return v, nil
	}
	accepts := func(v any) bool {
		_, ok := v.(T)
		return ok
	}
	return Type{name: name, decode: decode, accepts: accepts}
}

// Says returns t with what an event of it says, in one line for operators. The catalogue of
// docs/events.md has the same words, which a test compares.
func (t Type) Says(meaning string) Type {
	t.says = meaning
	return t
}

// Retired describes a type that is no longer written: its data is turned into that of next when read.
func Retired(name, next string, upcast Upcaster) Type {
	return Type{name: name, next: next, upcast: upcast}
}

// Registry knows every event type by its explicit name.
type Registry struct{ types map[string]Type }

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{types: map[string]Type{}} }

// Register adds types. A name that is already taken is an error.
func (r *Registry) Register(types ...Type) error {
	for _, t := range types {
		if _, taken := r.types[t.name]; taken || t.name == "" {
			return fmt.Errorf("event type %q is unnamed or registered twice", t.name)
		}
		r.types[t.name] = t
	}
	return nil
}

// Names returns the registered names in order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.types))
	for name := range r.types {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Says returns what an event of that type says; "" for a type that is not known.
func (r *Registry) Says(typeName string) string { return r.types[typeName].says }

// Knows reports whether the type is registered.
func (r *Registry) Knows(typeName string) bool {
	_, ok := r.types[typeName]
	return ok
}

// Decode returns the data of a recorded event as the struct its type was registered
// with, upcast where its version is retired. An unknown type is Unavailable, as ErrUnknownType: a newer
// version wrote it, and a process of that version can read it. Whoever folds state uses DecodeKnown.
func (r *Registry) Decode(typeName string, data json.RawMessage) (any, error) {
	t, ok := r.types[typeName]
	if !ok {
		return nil, fault.Wrap(ErrUnknownType, fault.Unavailable, fault.CodeUnknownEventType, "event type %s is not known to this version", typeName)
	}
	if t.upcast != nil {
		up, err := t.upcast(data)
		if err != nil {
			return nil, fmt.Errorf("upcast %s to %s: %w", typeName, t.next, err)
		}
		return r.Decode(t.next, up)
	}
	v, err := t.decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", typeName, err)
	}
	return v, nil
}

// DecodeKnown returns the data of a recorded event as Decode does, and nil for an event of a type that is not
// registered. During a rolling upgrade newer processes append such events to streams that this one still
// reads: every reader that folds state passes over them, and only takes over their version.
func (r *Registry) DecodeKnown(rec Recorded) (any, error) {
	data, err := r.Decode(rec.Type, rec.Data)
	if errors.Is(err, ErrUnknownType) {
		return nil, nil
	}
	return data, err
}

// MaxEventBytes bounds the stored data of one event: what is larger belongs in the blob store.
const MaxEventBytes = 4 << 20

// Encode returns the data of an event as it is stored. A type that is unknown or retired,
// data of another Go type than the registered one, and data that is too large are Invalid.
func (r *Registry) Encode(e Event) (json.RawMessage, error) {
	t, ok := r.types[e.Type]
	if !ok || t.accepts == nil {
		return nil, fault.New(fault.Invalid, fault.CodeUnknownEventType, "event type %s is not one that is written", e.Type)
	}
	if !t.accepts(e.Data) {
		return nil, fault.New(fault.Invalid, "", "event type %s does not carry a %T", e.Type, e.Data)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // a prompt's text stays as it came
	if err := enc.Encode(e.Data); err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Type, err)
	}
	data := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if len(data) > MaxEventBytes {
		return nil, fault.New(fault.Invalid, fault.CodeEventTooLarge, "event %s has %d bytes, more than %d", e.Type, len(data), MaxEventBytes)
	}
	if !utf8.Valid(data) {
		return nil, fault.New(fault.Invalid, "", "event %s is not UTF-8", e.Type)
	}
	return data, nil
}
