package catalog

import (
	"encoding/json"
	"reflect"
)

// TaskConflicts returns a violation for every member of a body that belongs to the entry's task: the task's id, and
// constants with another value. If several models share an address, these members select the model and the task, so
// they are checked even in strict_mode, where the rest of the body is not.
func (m *Model) TaskConflicts(body []byte) []Violation { return render(body, m.taskConflicts(body)) }

func (m *Model) taskConflicts(body []byte) []violation {
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

// equalJSON reports whether the caller's value equals the entry's.
func equalJSON(raw json.RawMessage, own any) bool {
	encoded, err := json.Marshal(own)
	if err != nil {
		return false
	}
	var given, wanted any
	return json.Unmarshal(raw, &given) == nil && json.Unmarshal(encoded, &wanted) == nil && reflect.DeepEqual(given, wanted)
}
