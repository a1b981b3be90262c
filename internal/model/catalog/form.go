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
	// maxParts bounds the parts of a form; models take a dozen fields and a few pictures.
	maxParts = 256
)

// IsForm reports a content type of forms.
func IsForm(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == multipartForm
}

// TakesForms reports whether the provider's own format is a form, so that a caller may send one as well
// as a JSON object (router facts, section 2: multipart only for some models).
func (m *Model) TakesForms() bool { return m.Encoding == "multipart" }

// FormInput returns the JSON object that a form stands for, by which it is checked and priced; the form
// itself is what is sent. Fields are of the types that the input schema gives them, a file is its name,
// and a field that stands several times is a list.
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
			return nil, fmt.Errorf("the form is broken: %w", err)
		}
		name := part.FormName()
		if name == "" {
			return nil, errors.New("a part of the form has no name")
		}
		value, err := m.fieldValue(name, part)
		if err != nil {
			return nil, fmt.Errorf("the form is broken: %w", err)
		}
		fields[name] = joined(fields[name], value)
	}
	return nil, fmt.Errorf("a form has at most %d parts", maxParts)
}

// joined is a field that may stand several times.
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

// textual reports whether the schema takes text for a field, or says nothing of it.
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
