package nodeclass

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// wireType is how an argument is written into the request.
type wireType uint8

// The ways to write an argument.
const (
	asText    wireType = iota // a JSON string
	asNumber                  // a JSON number
	asBool                    // true or false
	asJSON                    // the argument is JSON text and is inserted unchanged
	asPicture                 // a linked picture, written in the form of its media rule
)

// field is one member of a model's request with the input that gives its value.
type field struct {
	input  node.Input
	wire   wireType
	media  string                     // for asPicture
	values map[string]json.RawMessage // for a choice: the JSON value of each option
}

// property is the part of a property's JSON Schema from which an input is made.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Const       json.RawMessage   `json:"const"`
	Enum        []json.RawMessage `json:"enum"`
	Minimum     *json.Number      `json:"minimum"`
	Maximum     *json.Number      `json:"maximum"`
	MultipleOf  *json.Number      `json:"multipleOf"`
	MaxLength   *int              `json:"maxLength"`
}

// fields returns the members that a model's request may have. It returns nil if the model has no input schema or the
// schema names no properties.
func fields(m *catalog.Model) ([]field, error) {
	var schema struct {
		Required   []string        `json:"required"`
		Properties json.RawMessage `json:"properties"`
	}
	if !m.InputAuthored() {
		return nil, nil
	}
	if err := json.Unmarshal(m.InputSchema(), &schema); err != nil {
		return nil, err
	}
	if len(schema.Properties) == 0 {
		return nil, nil
	}
	properties, err := ordered.Members(schema.Properties)
	if err != nil {
		return nil, err
	}
	list := make([]field, 0, len(properties))
	for _, p := range properties {
		f, err := fieldOf(p, slices.Contains(schema.Required, p.Name), m.InputMedia[p.Name])
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	// Clients show required inputs first. The request has the same order; providers ignore the order of members.
	slices.SortStableFunc(list, func(a, b field) int { return int(a.input.Section) - int(b.input.Section) })
	return list, nil
}

func fieldOf(m ordered.Member, required bool, media string) (field, error) {
	var p property
	if string(m.Raw) != "true" { // "anything"
		if err := json.Unmarshal(m.Raw, &p); err != nil {
			return field{}, err
		}
	}
	f := field{input: node.Input{Name: m.Name, Section: node.Optional, Tooltip: p.Description}}
	if required {
		f.input.Section = node.Required
	}
	if media != "" {
		f.input.Type, f.wire, f.media = node.Image, asPicture, media
		return f, nil
	}
	if p.Const != nil {
		p.Enum = []json.RawMessage{p.Const}
	}
	if len(p.Enum) > 0 {
		f.choose(p)
		return f, nil
	}
	f.typed(p)
	f.input.Default = orNil(f.input.Default, defaultOf(p, f.wire))
	f.unset()
	return f, nil
}

func orNil(a, b any) any {
	if b != nil {
		return b
	}
	return a
}

// typed sets the type of the input according to the type of its property.
func (f *field) typed(p property) {
	switch p.kind() {
	case "string":
		f.input.Type, f.wire = node.String, asText
		f.input.Multiline = f.input.Name == "prompt" || strings.HasSuffix(f.input.Name, "_prompt") || p.MaxLength != nil &&
			*p.MaxLength > longText
	case "integer":
		f.input.Type, f.wire = node.Int, asNumber
		f.input.Min, f.input.Max, f.input.Step = integerOf(p.Minimum), integerOf(p.Maximum), integerOf(p.MultipleOf)
		if f.input.Name == "seed" {
			f.input.Control = true
			f.input.Default = orNil(0, f.input.Min)
		}
	case "number":
		f.input.Type, f.wire = node.Float, asNumber
		f.input.Min, f.input.Max, f.input.Step = broken(p.Minimum), broken(p.Maximum), broken(p.MultipleOf)
	case "boolean":
		f.input.Type, f.wire = node.Boolean, asBool
	default: // a list, an object or several types: the widget takes JSON
		f.input.Type, f.wire, f.input.Multiline = node.String, asJSON, true
		f.input.Placeholder = "JSON"
	}
}

// longText is the maximum length from which a text gets a large widget.
const longText = 200

// unset prevents an optional input from being sent by accident. Clients send the value of every widget, so a number
// or a switch without a default has only a socket and no widget, and a text is empty.
func (f *field) unset() {
	if f.input.Section != node.Optional || f.input.Default != nil {
		return
	}
	switch f.wire {
	case asNumber, asBool:
		f.input.ForceInput = true
	case asText, asJSON:
		f.input.Default = ""
	case asPicture:
	}
}

// kind returns the only type of the property besides null, or "" if it has no type or several.
func (p property) kind() string {
	var one string
	if json.Unmarshal(p.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(p.Type, &several) != nil {
		return ""
	}
	several = slices.DeleteFunc(several, func(t string) bool { return t == "null" })
	if len(several) != 1 {
		return ""
	}
	return several[0]
}

// choose makes the input a choice of the property's values. If the input is optional and has no default, the first
// choice is to leave it out.
func (f *field) choose(p property) {
	f.input.Type, f.wire, f.values = node.Combo, asText, map[string]json.RawMessage{}
	if f.input.Section == node.Optional && p.Default == nil {
		f.input.Options = []string{""}
	}
	for _, value := range p.Enum {
		if string(value) == "null" {
			continue
		}
		option := label(value)
		f.input.Options = append(f.input.Options, option)
		f.values[option] = value
	}
	if p.Default != nil && string(p.Default) != "null" {
		f.input.Default = label(p.Default)
	}
}

// label returns a value as a widget shows it: a string without its quotation marks.
func label(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func defaultOf(p property, wire wireType) any {
	if p.Default == nil || string(p.Default) == "null" {
		return nil
	}
	switch wire {
	case asNumber:
		n := json.Number(p.Default)
		if p.kind() == "integer" {
			return integerOf(&n)
		}
		return broken(&n)
	case asBool:
		return string(p.Default) == "true"
	case asText:
		return label(p.Default)
	case asJSON:
		return string(p.Default)
	case asPicture:
	}
	return nil
}

func integerOf(n *json.Number) any {
	if n == nil {
		return nil
	}
	if v, err := n.Int64(); err == nil {
		return int(v)
	}
	if v, err := n.Float64(); err == nil {
		return int(v)
	}
	return nil
}

func broken(n *json.Number) any {
	if n == nil {
		return nil
	}
	if v, err := n.Float64(); err == nil {
		return v
	}
	return nil
}
