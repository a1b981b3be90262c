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

// Type describes one event type to a Registry.
type Type struct {
	name    string
	decode  func(json.RawMessage) (any, error)
	accepts func(any) bool
	meaning string
}

// TypeOf describes the event type with a name and data of type T.
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

// Says returns t with the meaning of its events, in one line for operators. docs/events.md has the same text, which a
// test compares.
func (t Type) Says(meaning string) Type {
	t.meaning = meaning
	return t
}

// Registry contains every event type by its name.
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

// Says returns the meaning of events of that type, or "" for an unknown type.
func (r *Registry) Says(typeName string) string { return r.types[typeName].meaning }

// Knows reports whether the type is registered.
func (r *Registry) Knows(typeName string) bool {
	_, ok := r.types[typeName]
	return ok
}

// Decode returns the data of a recorded event as the struct of its registered type. An unknown type is Unavailable with
// ErrUnknownType: a newer version wrote the event, and a process of that version can read it. Code that folds state uses
// DecodeKnown.
func (r *Registry) Decode(typeName string, data json.RawMessage) (any, error) {
	t, ok := r.types[typeName]
	if !ok {
		return nil, fault.Wrap(ErrUnknownType, fault.Unavailable, fault.CodeUnknownEventType, "this version does not know the event type %s",
			typeName)
	}
	v, err := t.decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", typeName, err)
	}
	return v, nil
}

// DecodeKnown returns the data of a recorded event as Decode does, or nil if the type is not registered. During a
// rolling upgrade, newer processes append such events to streams that this process reads: every reader that folds
// state ignores their data and only takes over their version.
func (r *Registry) DecodeKnown(rec Recorded) (any, error) {
	data, err := r.Decode(rec.Type, rec.Data)
	if errors.Is(err, ErrUnknownType) {
		return nil, nil
	}
	return data, err
}

// MaxEventBytes bounds the stored data of one event. Larger data belongs in the blob store.
const MaxEventBytes = 4 << 20

// Encode returns the data of an event as it is stored. A type that is unknown, data of another Go type than the
// registered one, and data that is too large are Invalid.
func (r *Registry) Encode(e Event) (json.RawMessage, error) {
	t, ok := r.types[e.Type]
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeUnknownEventType, "event type %s is unknown and cannot be written", e.Type)
	}
	if !t.accepts(e.Data) {
		return nil, fault.New(fault.Invalid, "", "the data of event type %s cannot be a %T", e.Type, e.Data)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the text of a prompt stays unchanged
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
