package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// ModelField is one input of a model in a form.
type ModelField struct {
	Name, Help string
	Kind       string // text, long, number, choice or json
	Value      string
	Default    string // default value of the input, or ""
	Min, Max   string
	Step       string
	Required   bool
	Choices    []console.Choice
	Problem    string // why the value is refused
}

// inputField begins the names of form fields that hold inputs.
const inputField = "in:"

// bodyField is the only field of the form of a model without an input schema.
const bodyField = "body"

// form holds the inputs of a model as fields of a form, in the order of the schema.
type form struct {
	fields  []*field
	rawBody bool // the model has no schema: one field holds the whole body
	first   map[string]bool
}

type field struct {
	ModelField
	text   bool              // a text that is not JSON is a value
	values []json.RawMessage // values of the choices, in the order of Choices without the empty one
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
	AnyOf       []property        `json:"anyOf"`
	OneOf       []property        `json:"oneOf"`
}

// formOf returns the form of a model.
func formOf(m *catalog.Model) (*form, error) {
	var schema struct {
		Required   []string        `json:"required"`
		Properties json.RawMessage `json:"properties"`
	}
	if raw := m.InputSchema(); raw != nil {
		if err := json.Unmarshal(raw, &schema); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", m.ID, err)
		}
	}
	f := &form{first: map[string]bool{}}
	if len(schema.Properties) == 0 {
		f.rawBody = true
		f.fields = []*field{{ModelField: ModelField{
			Name: bodyField, Kind: "json", Required: true,
			Help: "The input of the model, a JSON object. The documentation of the provider describes it.",
		}}}
		return f, nil
	}
	err := members(schema.Properties, func(name string, raw json.RawMessage) error {
		var p property
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("read the schema of %s of %s: %w", name, m.ID, err)
		}
		f.fields = append(f.fields, fieldOf(name, p, slices.Contains(schema.Required, name)))
		return nil
	})
	return f, err
}

// members calls visit for each member of an object, in order.
func members(object json.RawMessage, visit func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := visit(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	return nil
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

func fieldOf(name string, p property, required bool) *field {
	f := &field{ModelField: ModelField{Name: name, Help: p.Description, Required: required, Kind: "json", Default: textOf(p.Default)}}
	types := p.types()
	f.text = slices.Contains(types, "string")
	switch {
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
		if long(name, p) {
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
func (f *field) choose(values []json.RawMessage) {
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

// fill sets the fields to the values of a body.
func (f *form) fill(body json.RawMessage) error {
	if f.rawBody {
		f.fields[0].Value = string(body)
		return nil
	}
	var given map[string]json.RawMessage
	if len(body) > 0 {
		if err := json.Unmarshal(body, &given); err != nil {
			return fmt.Errorf("read a body: %w", err)
		}
	}
	for _, one := range f.fields {
		if raw, ok := given[one.Name]; ok && string(raw) != "null" {
			one.Value, f.first[one.Name] = textOf(raw), true
			one.choosing()
		}
	}
	return nil
}

func (f *field) choosing() {
	for i := range f.Choices {
		f.Choices[i].Chosen = f.Choices[i].Value == f.Value && f.Value != ""
	}
}

// read sets the fields to the values that a browser sent and returns the body that they form, or nil if a value has
// the wrong type. Empty fields are left out.
func (f *form) read(sent url.Values) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	good := true
	for _, one := range f.fields {
		one.Value = strings.ReplaceAll(sent.Get(inputField+one.Name), "\r\n", "\n") // browsers send CRLF
		one.choosing()
		if one.Value == "" {
			continue
		}
		f.first[one.Name] = true
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
func (f *field) value() (json.RawMessage, string) {
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
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(f.Value); err != nil {
		return nil, "This is not a text."
	}
	return bytes.TrimSpace(b.Bytes()), ""
}

// shown returns the fields that are required or have a value, and the other fields.
func (f *form) shown() (first, more []ModelField) {
	for _, one := range f.fields {
		if one.Required || one.Problem != "" || f.first[one.Name] {
			first = append(first, one.ModelField)
		} else {
			more = append(more, one.ModelField)
		}
	}
	return first, more
}

// problem returns a sentence that names the fields whose values have the wrong type.
func (f *form) problem() string {
	var words []string
	for _, one := range f.fields {
		if one.Problem != "" {
			words = append(words, one.Name+": "+one.Problem)
		}
	}
	return strings.Join(words, " ")
}

// refuse sets the problem of each field that the model refuses and returns a sentence for the whole form.
func (f *form) refuse(r *call.Refusal) string {
	for _, v := range validation(r) {
		if len(v.Loc) < 2 {
			continue
		}
		for _, one := range f.fields {
			if one.Name == v.Loc[1] && one.Problem == "" {
				one.Problem = v.Msg + "."
			}
		}
	}
	if words := violations(r); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return refusalText(r.Detail)
}

func validation(r *call.Refusal) []catalog.Violation {
	var found []catalog.Violation
	if len(r.Validation) == 0 || json.Unmarshal(r.Validation, &found) != nil {
		return nil
	}
	return found
}

// violations returns the reasons for which a body is refused.
func violations(r *call.Refusal) []string {
	var words []string
	for _, v := range validation(r) {
		var path []string
		for _, part := range v.Loc[min(1, len(v.Loc)):] {
			path = append(path, fmt.Sprint(part))
		}
		words = append(words, strings.Join(path, ".")+": "+v.Msg+".")
	}
	return words
}
