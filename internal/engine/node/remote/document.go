package remote

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// document returns the definition as the first server wrote it, with the choices of the others added.
func (d *Definition) document() (*node.Document, error) {
	return node.NewDocument(func(choices func(input string) []byte) ([]byte, error) {
		m := merger{files: map[string]bool{}, choices: choices}
		for i := range d.inputs {
			if in := &d.inputs[i]; in.Folder != "" && in.Type == node.Combo {
				m.files[in.Name] = true
			}
		}
		if len(m.files) == 0 && len(d.others) == 0 {
			return d.raw, nil
		}
		return m.definition(d.raw, d.others)
	})
}

// merger merges definitions of one class.
type merger struct {
	files   map[string]bool // inputs that offer files
	choices func(input string) []byte
}

// edit copies an object with some of its members changed. Members keep their order and, unless changed, their bytes.
func edit(raw json.RawMessage, change func(name string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	all, err := ordered.Members(raw)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		value, err := change(m.Name, m.Raw)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// find returns a member of an object, or nil.
func find(raw json.RawMessage, name string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all[name]
}

func each(all []json.RawMessage, name string) []json.RawMessage {
	var out []json.RawMessage
	for _, raw := range all {
		if value := find(raw, name); value != nil {
			out = append(out, value)
		}
	}
	return out
}

func (m *merger) definition(raw json.RawMessage, others []json.RawMessage) (json.RawMessage, error) {
	return edit(raw, func(name string, value json.RawMessage) (json.RawMessage, error) {
		if name != "input" {
			return value, nil
		}
		return m.sections(value, each(others, name), true)
	})
}

// sections merges the sections of inputs. Only top-level inputs of the class offer files.
func (m *merger) sections(raw json.RawMessage, others []json.RawMessage, top bool) (json.RawMessage, error) {
	return edit(raw, func(section string, inputs json.RawMessage) (json.RawMessage, error) {
		if section == "hidden" || string(inputs) == "null" {
			return inputs, nil
		}
		return edit(inputs, func(name string, spec json.RawMessage) (json.RawMessage, error) {
			var file []byte
			if top && m.files[name] {
				file = m.choices(name)
			}
			var same []json.RawMessage
			for _, other := range others { // an input may be optional on one server and required on another
				for _, s := range []string{"required", "optional"} {
					if value := find(find(other, s), name); value != nil {
						same = append(same, value)
					}
				}
			}
			return m.spec(spec, same, file)
		})
	})
}

// spec merges the specifications of an input: [type, {options}], or [[choice, …], {options}].
func (m *merger) spec(raw json.RawMessage, others []json.RawMessage, file []byte) (json.RawMessage, error) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return raw, nil //nolint:nilerr // a value that is not a specification stays as it is
	}
	if isList(parts[0]) {
		parts[0] = m.list(parts[0], elements(others, 0), file)
		return joined(parts), nil
	}
	if len(parts) < 2 || !bytes.HasPrefix(bytes.TrimSpace(parts[1]), []byte("{")) {
		return raw, nil // options that are not an object stay as they are
	}
	options, err := edit(parts[1], func(name string, value json.RawMessage) (json.RawMessage, error) {
		if name != "options" || !isList(value) {
			return value, nil
		}
		lists := each(elements(others, 1), name)
		if objects(value) {
			return m.alternatives(value, lists)
		}
		return m.list(value, lists, file), nil
	})
	if err != nil {
		return nil, err
	}
	parts[1] = options
	return joined(parts), nil
}

// elements returns the element at an index of each specification that has one.
func elements(specs []json.RawMessage, i int) []json.RawMessage {
	var out []json.RawMessage
	for _, raw := range specs {
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) == nil && len(parts) > i {
			out = append(out, parts[i])
		}
	}
	return out
}

func isList(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) }

// objects reports whether a list contains objects: the alternatives of a dynamic combo.
func objects(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && len(list) > 0 && bytes.HasPrefix(list[0], []byte("{"))
}

// list merges choices: those of the first server in their order, then those that only other servers have.
func (m *merger) list(raw json.RawMessage, others []json.RawMessage, file []byte) json.RawMessage {
	if file != nil {
		return file
	}
	var all []json.RawMessage
	seen := map[string]bool{}
	for _, list := range append([]json.RawMessage{raw}, others...) {
		var choices []json.RawMessage
		if json.Unmarshal(list, &choices) != nil {
			continue
		}
		for _, choice := range choices {
			if !seen[string(choice)] {
				seen[string(choice)] = true
				all = append(all, choice)
			}
		}
	}
	return joined(all)
}

// alternatives merges the alternatives of a dynamic combo by their keys, and the inputs of each.
func (m *merger) alternatives(raw json.RawMessage, others []json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	byKey := map[string][]json.RawMessage{}
	for _, list := range append([]json.RawMessage{raw}, others...) {
		var alternatives []json.RawMessage
		if json.Unmarshal(list, &alternatives) != nil {
			continue
		}
		for _, a := range alternatives {
			key := string(find(a, "key"))
			if byKey[key] == nil {
				all = append(all, a)
			}
			byKey[key] = append(byKey[key], a)
		}
	}
	for i, a := range all {
		same := byKey[string(find(a, "key"))][1:]
		merged, err := edit(a, func(name string, value json.RawMessage) (json.RawMessage, error) {
			if name != "inputs" {
				return value, nil
			}
			return m.sections(value, each(same, name), false)
		})
		if err != nil {
			return nil, err
		}
		all[i] = merged
	}
	return joined(all), nil
}

// joined returns a list as JSON.
func joined(parts []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(rawBytes(parts), []byte(",")), []byte("]"))
}

func rawBytes(parts []json.RawMessage) [][]byte {
	out := make([][]byte, len(parts))
	for i := range parts {
		out[i] = parts[i]
	}
	return out
}
