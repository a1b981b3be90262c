// Package redact overwrites known secrets in the answers of third parties. A party that received a credential may
// repeat it in a header, in an error or in the middle of a result. Bytes that pass through this package no longer
// contain the secret, neither plain nor encoded as base64, for a URL or for a JSON string. A secret is overwritten by
// as many bytes as it has, so that lengths and offsets stay true and every other byte is unchanged. The caller
// decides which values are secret.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// Shortest is the length in bytes of the shortest secret. A shorter value would occur by chance in pictures and in
// base64.
const Shortest = 8

// mask overwrites a secret.
const mask = "*"

// Secrets are the values to overwrite, in every form in which they are recognized. The zero value overwrites nothing.
type Secrets struct {
	forms []form
}

// form is one way to write a secret, with the bytes of the same length that replace it.
type form struct {
	text, fill []byte
}

// New returns the secrets with these values. Values shorter than Shortest are ignored.
func New(values ...string) *Secrets {
	s := &Secrets{}
	known := map[string]bool{}
	add := func(text, fill string) {
		if len(text) >= Shortest && !known[text] {
			known[text] = true
			s.forms = append(s.forms, form{[]byte(text), []byte(fill)})
		}
	}
	for _, value := range values {
		if len(value) < Shortest {
			continue
		}
		for _, text := range escaped(value) {
			add(text, strings.Repeat(mask, len(text)))
		}
		stars := strings.Repeat(mask, len(value))
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				add(within(encoding, before, value), within(encoding, before, stars))
			}
		}
	}
	return s
}

// escaped returns a value in plain form, as in URLs and as in JSON strings.
func escaped(value string) []string {
	query, path := url.QueryEscape(value), url.PathEscape(value)
	forms := []string{value, query, path, lowerEscapes(query), lowerEscapes(path)}
	var plain bytes.Buffer
	for _, escapeHTML := range []bool{false, true} {
		plain.Reset()
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(value); err == nil {
			quoted := strings.TrimSuffix(plain.String(), "\n")
			inner := quoted[1 : len(quoted)-1]
			forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
		}
	}
	return forms
}

// lowerEscapes writes the hexadecimal digits of percent escapes in lower case.
func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], bytes.ToLower(out[i+1:i+3]))
		}
	}
	return string(out)
}

// within returns the digits of base64 that depend on a value alone, if the given number of bytes of a group of three
// precede it. Digits that also depend on neighbouring bytes are left out.
func within(encoding *base64.Encoding, before int, value string) string {
	const bits = 6 // bits of a digit
	digits := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + bits - 1) / bits
	last := (before + len(value)) * 8 / bits
	return digits[first:last]
}

// String returns a text with the secrets overwritten.
func (s *Secrets) String(text string) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	from, out := []byte(text), []byte(text)
	s.overwrite(from, out)
	return string(out)
}

// Bytes returns a message with the secrets overwritten. A message without secrets is returned unchanged.
func (s *Secrets) Bytes(message []byte) []byte {
	if s == nil || len(s.forms) == 0 {
		return message
	}
	out := bytes.Clone(message)
	s.overwrite(message, out)
	return out
}

// Found reports whether a text contains a secret.
func (s *Secrets) Found(text string) bool { return s.String(text) != text }

// overwrite overwrites every secret of from at the same offset of out. Overlapping forms are all overwritten, because
// they are searched in from.
func (s *Secrets) overwrite(from, out []byte) {
	for _, f := range s.forms {
		for at := 0; ; {
			i := bytes.Index(from[at:], f.text)
			if i < 0 {
				break
			}
			copy(out[at+i:], f.fill)
			at += i + 1
		}
	}
}

// unfinished returns the length of the longest end of p with which a secret may begin.
func (s *Secrets) unfinished(p []byte) int {
	longest := 0
	for _, f := range s.forms {
		for n := min(len(f.text)-1, len(p)); n > longest; n-- {
			if bytes.HasSuffix(p, f.text[:n]) {
				longest = n
			}
		}
	}
	return longest
}
