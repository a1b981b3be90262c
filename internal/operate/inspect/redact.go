package inspect

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// secretName matches the keys whose values are never shown. Events are recorded without secrets; this protects
// secrets that a client put in an unexpected field.
var secretName = regexp.MustCompile(`(?i)^(x-)?(api[-_]?key.*|.*[-_]api[-_]?key.*|authorization|auth[-_]token.*` +
	`|access[-_]token|bearer|token|password|passwd|secret|.*[-_]secret|credentials?)$`)

// redacted replaces a secret.
const redacted = `"[redacted]"`

// Redact replaces the values of keys that name secrets in a JSON text, including those within the submission,
// which is stored as a string. It keeps the order of keys. Text that is not JSON becomes null.
func Redact(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out bytes.Buffer
	r := redactor{dec: dec, out: &out}
	if err := r.value(""); err != nil {
		return json.RawMessage("null")
	}
	return out.Bytes()
}

type redactor struct {
	dec *json.Decoder
	out *bytes.Buffer
}

func (r redactor) value(key string) error {
	if secretName.MatchString(key) {
		var dropped json.RawMessage
		r.out.WriteString(redacted)
		return r.dec.Decode(&dropped)
	}
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return r.composite(t)
	case string:
		if inner, ok := document(key, t); ok {
			t = string(inner)
		}
		return r.write(t)
	default:
		return r.write(t)
	}
}

// document redacts the submission within its event.
func document(key, text string) (json.RawMessage, bool) {
	if key != "inline" || !json.Valid([]byte(text)) {
		return nil, false
	}
	return Redact(json.RawMessage(text)), true
}

func (r redactor) composite(open json.Delim) error {
	r.out.WriteRune(rune(open))
	for first := true; r.dec.More(); first = false {
		if !first {
			r.out.WriteByte(',')
		}
		key := ""
		if open == '{' {
			token, err := r.dec.Token()
			if err != nil {
				return err
			}
			var ok bool
			if key, ok = token.(string); !ok {
				return io.ErrUnexpectedEOF
			}
			if err := r.write(key); err != nil {
				return err
			}
			r.out.WriteByte(':')
		}
		if err := r.value(key); err != nil {
			return err
		}
	}
	end, err := r.dec.Token()
	if err != nil {
		return err
	}
	r.out.WriteString(end.(json.Delim).String()) // More has reported the end of the composite
	return nil
}

func (r redactor) write(v any) error {
	raw, err := ordered.JSON(v)
	r.out.Write(raw)
	return err
}

// IsSecret reports whether values with this key are not shown.
func IsSecret(key string) bool { return secretName.MatchString(key) }
