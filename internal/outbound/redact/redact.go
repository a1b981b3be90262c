// Package redact overwrites known secrets in the answers of third parties. A party that received a credential may
// repeat it in a header, in an error or in the middle of a result. Bytes that pass through this package no longer
// contain the secret, neither plain nor as base64, and each of its characters may be escaped as in a JSON string or a URL. A
// secret is overwritten by as many bytes as it has, so that lengths and offsets stay true and every other byte is unchanged.
// The caller decides which values are secret.
package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// Shortest is the length in bytes of the shortest secret. A shorter value would occur by chance in pictures and in
// base64.
const Shortest = 8

// mask overwrites a secret.
const mask = "*"

// Secrets are the values to overwrite, in every form in which they are recognized. The zero value overwrites nothing.
type Secrets struct {
	forms  []form
	starts [256]bool // bytes with which a form may begin, also an escaped one
	reach  int       // length of the longest escaped form
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
			s.starts[text[0]] = true
			s.reach = max(s.reach, len(text)*maxEscape)
		}
	}
	for i := range len(escapes) {
		s.starts[escapes[i]] = true
	}
	for _, value := range values {
		if len(value) < Shortest {
			continue
		}
		stars := strings.Repeat(mask, len(value))
		add(value, stars)
		add(strings.ReplaceAll(value, " ", "+"), stars) // in a query
		for slashes := `\\`; strings.Contains(value, `\`) && len(slashes) <= maxSlashes; slashes += slashes {
			// In JSON, a backslash before a letter reads as the escape of another character.
			text := strings.ReplaceAll(value, `\`, slashes)
			add(text, strings.Repeat(mask, len(text)))
		}
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				add(within(encoding, before, value), within(encoding, before, stars))
			}
		}
	}
	return s
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
	if bytes.IndexByte(from, escapes[0]) < 0 && bytes.IndexByte(from, escapes[1]) < 0 {
		return
	}
	for at, first := range from {
		if !s.starts[first] {
			continue
		}
		for _, f := range s.forms {
			if n, matched := f.escaped(from[at:]); matched == len(f.text) && n > matched {
				copy(out[at:], strings.Repeat(mask, n))
			}
		}
	}
}

// unfinished returns the length of the longest end of p with which a secret may begin, and how many bytes of the secret it has.
func (s *Secrets) unfinished(p []byte) (length, matched int) {
	for at := max(0, len(p)-s.reach); at < len(p); at++ {
		if !s.starts[p[at]] {
			continue
		}
		for _, f := range s.forms {
			end := p[at:]
			if n, matched := f.escaped(end); n == len(end) && matched < len(f.text) {
				return n, matched
			}
			if len(end) < len(f.text) && bytes.HasPrefix(f.text, end) {
				return len(end), len(end)
			}
		}
	}
	return 0, 0
}
