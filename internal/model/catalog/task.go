package catalog

import (
	"encoding/json"
	"reflect"
)

// Usurped returns a violation for every member of a body that the entry's task has of its own: its id, and
// constants with another value. Where several models share an address, these say what is run and for whom, so
// they are checked even where the body is not (strict_mode).
func (m *Model) Usurped(body []byte) []Violation { return render(body, m.usurped(body)) }

func (m *Model) usurped(body []byte) []violation {
	if m.Encoding != EncodingTasks {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	var found []violation
	for name, raw := range members {
		own, constant := m.Task.Members[name]
		if name == m.Task.ID || constant && !equalJSON(raw, own) {
			found = append(found, extraField(nil, name))
		}
	}
	return found
}

// equalJSON reports whether a value as the caller wrote it is the entry's.
func equalJSON(raw json.RawMessage, own any) bool {
	encoded, err := json.Marshal(own)
	if err != nil {
		return false
	}
	var given, wanted any
	return json.Unmarshal(raw, &given) == nil && json.Unmarshal(encoded, &wanted) == nil && reflect.DeepEqual(given, wanted)
}
