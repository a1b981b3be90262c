// Package form makes forms from JSON schemas, reads what browsers send for them, and writes programs that send the same values.
// It promises that a form makes values of the types of its schema only, and that a text of a visitor is one value of a program.
// The templates "field" and "code" of the layout show them.
package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Field is one input in a form.
type Field struct {
	Name, Help string
	Title      string // for people, in place of the name
	Kind       string // text, long, number, choice, file or json
	Value      string
	Default    string // default value of the input, or ""
	Min, Max   string
	Step       string
	Required   bool
	Choices    []console.Choice
	Problem    string // why the value is refused

	text   bool              // a text that is not JSON is a value
	first  bool              // shown although the input may be left out
	values []json.RawMessage // values of the choices, in the order of Choices without the empty one
}

// InputField begins the names of the fields of a browser that hold inputs; the name of the input follows.
const InputField = "in:"

// bodyField is the only field of a form without a schema.
const bodyField = "body"

// Form holds inputs as fields, in the order of their schema.
type Form struct {
	Fields []*Field

	rawBody bool // there is no schema: one field holds the whole body
	whole   bool // an empty text of an input that has a default is a value
}

// property is the part of an input's schema that a form uses.
type property struct {
	Type        any               `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Minimum     *json.Number      `json:"minimum"`
	Maximum     *json.Number      `json:"maximum"`
	MaxLength   *int              `json:"maxLength"`
	Default     json.RawMessage   `json:"default"`
	Description string            `json:"description"`
	Title       string            `json:"title"`
	Kind        string            `json:"x-kind"` // of a file
	Multiline   bool              `json:"x-multiline"`
	AnyOf       []property        `json:"anyOf"`
	OneOf       []property        `json:"oneOf"`
}

// Of returns the form of an object's schema; help explains the one field of a form without a schema.
func Of(of json.RawMessage, help string) (*Form, error) {
	var schema struct {
		Required   []string        `json:"required"`
		Properties json.RawMessage `json:"properties"`
	}
	if of != nil {
		if err := json.Unmarshal(of, &schema); err != nil {
			return nil, fmt.Errorf("read a schema: %w", err)
		}
	}
	f := &Form{}
	if len(schema.Properties) == 0 {
		f.rawBody = true
		f.Fields = []*Field{{Name: bodyField, Kind: "json", Required: true, Help: help}}
		return f, nil
	}
	properties, err := ordered.Members(schema.Properties)
	if err != nil {
		return nil, fmt.Errorf("read the properties of the schema: %w", err)
	}
	for _, m := range properties {
		var p property
		if err := json.Unmarshal(m.Raw, &p); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", m.Name, err)
		}
		f.Fields = append(f.Fields, fieldOf(m.Name, p, slices.Contains(schema.Required, m.Name)))
	}
	return f, nil
}

// types returns the JSON types that a property may have, without null.
func (p property) types() []string {
	var all []string
	switch t := p.Type.(type) {
	case string:
		all = append(all, t)
	case []any:
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
	}
	for _, part := range append(slices.Clone(p.AnyOf), p.OneOf...) {
		all = append(all, part.types()...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(t string) bool { return t == "null" })
}

func fieldOf(name string, p property, required bool) *Field {
	f := &Field{Name: name, Title: p.Title, Help: p.Description, Required: required, Kind: "json", Default: textOf(p.Default)}
	if strings.EqualFold(f.Title, name) {
		f.Title = ""
	}
	types := p.types()
	f.text = slices.Contains(types, "string")
	switch {
	case p.Kind != "":
		f.Kind = "file"
	case len(p.Enum) > 0:
		f.choose(p.Enum)
	case len(types) != 1:
	case types[0] == "boolean":
		f.choose([]json.RawMessage{json.RawMessage("true"), json.RawMessage("false")})
	case types[0] == "integer", types[0] == "number":
		f.Kind, f.Step = "number", "any"
		if types[0] == "integer" {
			f.Step = "1"
		}
		f.Min, f.Max = number(p.Minimum), number(p.Maximum)
	case types[0] == "string":
		f.Kind = "text"
		if p.Multiline || long(name, p) {
			f.Kind = "long"
		}
	}
	return f
}

// longInputs are the names of inputs for texts of more than a line.
var longInputs = []string{"prompt", "negative_prompt", "text", "input", "instructions", "lyrics"}

func long(name string, p property) bool {
	return slices.Contains(longInputs, name) || p.MaxLength != nil && *p.MaxLength > 300
}

func number(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// choose makes a field a choice of some values. An optional input has an empty choice.
func (f *Field) choose(values []json.RawMessage) {
	f.Kind, f.values = "choice", values
	if !f.Required {
		words := "left out"
		if f.Default != "" {
			words += ": " + f.Default
		}
		f.Choices = append(f.Choices, console.Choice{Label: words})
	}
	for _, v := range values {
		f.Choices = append(f.Choices, console.Choice{Value: textOf(v)})
	}
}

// textOf renders a value for a form: a string as it is, any other value as JSON.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Fill sets the fields to the values of a body.
func (f *Form) Fill(body json.RawMessage) error {
	if f.rawBody {
		f.Fields[0].Value = string(body)
		return nil
	}
	var given map[string]json.RawMessage
	if len(body) > 0 {
		if err := json.Unmarshal(body, &given); err != nil {
			return fmt.Errorf("read a body: %w", err)
		}
	}
	for _, one := range f.Fields {
		if raw, ok := given[one.Name]; ok && string(raw) != "null" {
			one.Value, one.first = textOf(raw), true
			one.choosing()
		}
	}
	return nil
}

// FillDefaults sets the fields to the defaults of their inputs. No choice of these is to leave the input out.
func (f *Form) FillDefaults() {
	f.whole = true
	for _, one := range f.Fields {
		if one.Default == "" {
			continue
		}
		if len(one.Choices) > 0 && one.Choices[0].Value == "" {
			one.Choices = one.Choices[1:]
		}
		one.Value, one.first = one.Default, true
		one.choosing()
	}
}

func (f *Field) choosing() {
	for i := range f.Choices {
		f.Choices[i].Chosen = f.Choices[i].Value == f.Value && f.Value != ""
	}
}

// Values returns the values of the fields as a browser sends them.
func (f *Form) Values() url.Values {
	values := url.Values{}
	for _, one := range f.Fields {
		values.Set(InputField+one.Name, one.Value)
	}
	return values
}

// Read sets the fields to the values that a browser sent and returns the body that they form, or nil if a value has
// the wrong type. Empty fields are left out.
func (f *Form) Read(sent url.Values) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	good := true
	for _, one := range f.Fields {
		one.Value = strings.ReplaceAll(sent.Get(InputField+one.Name), "\r\n", "\n") // browsers send CRLF
		one.choosing()
		if one.Value == "" && !(f.whole && one.text && one.Default != "") {
			continue
		}
		one.first = true
		raw, problem := one.value()
		one.Problem = problem
		good = good && problem == ""
		if f.rawBody && good {
			return raw, nil
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(raw)
	}
	b.WriteByte('}')
	if !good {
		return nil, nil
	}
	return b.Bytes(), nil
}

// value returns the JSON of a field's value, or why the value is wrong.
func (f *Field) value() (json.RawMessage, string) {
	trimmed := []byte(strings.TrimSpace(f.Value))
	switch f.Kind {
	case "choice":
		for _, v := range f.values {
			if textOf(v) == f.Value {
				return v, ""
			}
		}
		return nil, "This is not one of the choices."
	case "number":
		var n json.Number
		if json.Unmarshal(trimmed, &n) != nil || trimmed[0] == '"' {
			return nil, "This is not a number."
		}
		return trimmed, ""
	case "json":
		if json.Valid(trimmed) && (!f.text || trimmed[0] == '{' || trimmed[0] == '[') {
			return trimmed, ""
		}
		if !f.text {
			return nil, "This is not valid JSON."
		}
		if json.Valid(trimmed) && trimmed[0] != '"' { // a number, in a field that also accepts text
			return trimmed, ""
		}
	}
	raw, err := ordered.JSON(f.Value)
	if err != nil {
		return nil, "This is not a text."
	}
	return raw, ""
}

// Shown returns the fields that are required or have a value, and the other fields.
func (f *Form) Shown() (first, more []*Field) {
	for _, one := range f.Fields {
		if one.Required || one.Problem != "" || one.first {
			first = append(first, one)
		} else {
			more = append(more, one)
		}
	}
	return first, more
}

// Problem returns a sentence that names the fields whose values have the wrong type.
func (f *Form) Problem() string {
	var words []string
	for _, one := range f.Fields {
		if one.Problem != "" {
			words = append(words, one.Name+": "+one.Problem)
		}
	}
	return strings.Join(words, " ")
}

// Refuse sets the problem of a field.
func (f *Form) Refuse(name, problem string) {
	for _, one := range f.Fields {
		if one.Name == name && one.Problem == "" {
			one.Problem = problem
		}
	}
}
