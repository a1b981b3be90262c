package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

const (
	multipartForm = "multipart/form-data"
	// maxParts bounds the parts of a form. Models take a dozen fields and a few pictures.
	maxParts = 256
)

// IsForm reports whether the content type is that of a form.
func IsForm(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == multipartForm
}

// TakesForms reports whether the provider accepts forms. Callers of such a model may send a form or a JSON object;
// every other model takes only a JSON object.
func (m *Model) TakesForms() bool { return m.Encoding == "multipart" }

// FormInput returns the JSON object that is equivalent to a form, for checks and prices; the provider receives the
// form itself. A field has the type that the input schema gives to it, a file becomes its name, and a repeated field
// becomes a list.
func (m *Model) FormInput(contentType string, form []byte) (json.RawMessage, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return nil, errors.New("the form has no boundary")
	}
	fields := map[string]any{}
	reader := multipart.NewReader(bytes.NewReader(form), params["boundary"])
	for range maxParts + 1 {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && len(fields) > 0 {
			return json.Marshal(fields)
		}
		if err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
		name := part.FormName()
		if name == "" {
			return nil, errors.New("a part of the form has no name")
		}
		value, err := m.fieldValue(name, part)
		if err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
		fields[name] = joined(fields[name], value)
	}
	return nil, fmt.Errorf("the form has more than %d parts", maxParts)
}

// joined adds a value to a field; a repeated field becomes a list.
func joined(before, value any) any {
	switch v := before.(type) {
	case nil:
		return value
	case []any:
		return append(v, value)
	default:
		return []any{before, value}
	}
}

func (m *Model) fieldValue(name string, part *multipart.Part) (any, error) {
	if file := part.FileName(); file != "" {
		_, err := io.Copy(io.Discard, part)
		return file, err
	}
	raw, err := io.ReadAll(part)
	if err != nil {
		return nil, err
	}
	text := string(raw)
	if !m.textual(name) && json.Valid(raw) {
		return json.RawMessage(raw), nil
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// textual reports whether the schema accepts text for a field or does not describe the field.
func (m *Model) textual(name string) bool {
	if m.input == nil {
		return true
	}
	property := resolved(m.input.compiled).Properties[name]
	if property == nil {
		return true
	}
	types := resolved(property).Types
	if types == nil || types.IsEmpty() {
		return true
	}
	for _, t := range types.ToStrings() {
		if t == "string" {
			return true
		}
	}
	return false
}
