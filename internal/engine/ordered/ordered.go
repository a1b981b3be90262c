// Package ordered reads and writes JSON objects whose members keep their order: in a graph, and in the definition of a class, the
// order has a meaning that a map would lose.
package ordered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Member is a member of a JSON object.
type Member struct {
	Name string
	Raw  json.RawMessage
}

// errNotAnObject is an array, text, number or boolean in place of an object.
var errNotAnObject = errors.New("not an object")

// Members reads a JSON object; null and nothing have no members. A name that occurs twice has two members.
func Members(raw json.RawMessage) ([]Member, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errNotAnObject, err)
	}
	var out []Member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		m := Member{}
		m.Name, _ = key.(string)
		if err := dec.Decode(&m.Raw); err != nil {
			return nil, fmt.Errorf("read a member: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// Object writes an object of the members. It is the inverse of Members.
func Object(members []Member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(m.Name)...), ':'), m.Raw...)
	}
	return append(b, '}')
}

// quoted returns a name as JSON.
func quoted(name string) []byte {
	raw, err := JSON(name)
	if err != nil {
		panic(err) // a text always has a JSON form
	}
	return raw
}

// JSON is json.Marshal without the escapes that only web pages need.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
