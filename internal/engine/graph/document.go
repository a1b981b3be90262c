package graph

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The functions below read JSON that is known to be valid, without copying it: with a general decoder for each value,
// one large document would cost as much as thousands of requests. Values are slices of the document without the white
// space around them.

// member is one key of an object with its value.
type member struct {
	key   string
	value []byte
}

// membersOf reads the members of an object in document order. It refuses repeated keys, because JSON readers disagree
// on which of them counts.
func membersOf(object []byte) ([]member, error) {
	var members []member
	at := skipSpace(object, 1)
	for object[at] != '}' {
		end := valueEnd(object, at)
		key, _ := textOf(object[at:end])
		start := skipSpace(object, skipSpace(object, end)+1) // after the colon
		end = valueEnd(object, start)
		members = append(members, member{key: key, value: object[start:end]})
		at = skipComma(object, end)
	}
	if key, ok := repeated(members); ok {
		return nil, invalid("the key %.64q appears twice in one object", key)
	}
	return members, nil
}

// pairwiseMembers is the largest number of members whose names are compared pair by pair.
const pairwiseMembers = 8

func repeated(members []member) (string, bool) {
	if len(members) <= pairwiseMembers {
		for i, m := range members {
			for _, other := range members[:i] {
				if other.key == m.key {
					return m.key, true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.key] {
			return m.key, true
		}
		seen[m.key] = true
	}
	return "", false
}

// decode decodes a value: numbers become json.Number, objects maps.
func decode(value []byte) (any, error) {
	switch value[0] {
	case '{':
		members, err := membersOf(value)
		if err != nil {
			return nil, err
		}
		object := make(map[string]any, len(members))
		for _, m := range members {
			if object[m.key], err = decode(m.value); err != nil {
				return nil, err
			}
		}
		return object, nil
	case '[':
		return decodeList(value)
	case '"':
		text, _ := textOf(value)
		return text, nil
	case 't', 'f':
		return value[0] == 't', nil
	case 'n':
		return nil, nil
	default:
		return json.Number(value), nil
	}
}

func decodeList(list []byte) (any, error) {
	elements := []any{}
	for at := skipSpace(list, 1); list[at] != ']'; {
		end := valueEnd(list, at)
		element, err := decode(list[at:end])
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
		at = skipComma(list, end)
	}
	return elements, nil
}

// textOf decodes a string; it returns false for any other value. Invalid Unicode becomes U+FFFD.
func textOf(value []byte) (string, bool) {
	if value[0] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	var text string
	return text, json.Unmarshal(value, &text) == nil
}

func skipSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n' {
		at++
	}
	return at
}

// skipComma moves from the end of a member or element to the next one, or to the closing bracket.
func skipComma(text []byte, at int) int {
	if at = skipSpace(text, at); text[at] == ',' {
		at = skipSpace(text, at+1)
	}
	return at
}

// valueEnd returns the end of the value that begins at the index.
func valueEnd(text []byte, at int) int {
	open := 0
	for {
		switch text[at] {
		case '"':
			at = stringEnd(text, at)
		case '{', '[':
			open++
			at++
		case '}', ']':
			open--
			at++
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
		default:
			at = scalarEnd(text, at)
		}
		if open == 0 {
			return at
		}
	}
}

func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// scalarEnd returns the end of a number or a literal, which may be followed by more text of the enclosing object or
// list.
func scalarEnd(text []byte, at int) int {
	for {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',', '}', ']':
			return at
		}
		at++
	}
}
