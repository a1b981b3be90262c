package callable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// Template is a graph ready to be filled with values. It is immutable, so that one Template serves all calls of a version.
type Template struct {
	Schema *Schema

	names map[string]int // indexes of inputs by name
	parts []part
	size  int
}

// part is text of the graph followed by the value of an input.
type part struct {
	text     []byte
	input    int    // index in Schema.Inputs; -1 = the text is the end of the graph
	original []byte // the value without one of a call: the graph's, or the default; nil = every call gives one
}

// Prepare returns the template of a graph and its schema. A target that the graph does not have is an error.
func Prepare(graph json.RawMessage, s *Schema) (*Template, error) { return prepare(graph, s, "") }

// prepare is Prepare for a graph in which each id, and each link to one, begins with prefix.
func prepare(graph json.RawMessage, s *Schema, prefix string) (*Template, error) {
	t := &Template{Schema: s, names: make(map[string]int, len(s.Inputs)), size: len(graph)}
	targets := map[string]map[string]int{}
	for i, in := range s.Inputs {
		t.names[in.Name] = i
		for _, target := range in.Targets {
			if targets[target.Node] == nil {
				targets[target.Node] = map[string]int{}
			}
			targets[target.Node][target.Input] = i
		}
	}
	nodes, err := ordered.Members(graph)
	if err != nil {
		return nil, fmt.Errorf("read the graph: %w", err)
	}
	for i := range nodes {
		nodes[i].Name = prefix + nodes[i].Name
	}
	w := &templateWriter{schema: s, prefix: prefix}
	w.object(nodes, func(id string, raw json.RawMessage) {
		id = id[len(prefix):]
		inputs := targets[id]
		delete(targets, id)
		if inputs == nil && prefix == "" {
			w.text.Write(raw)
			return
		}
		w.node(raw, inputs)
	})
	for id := range targets {
		return nil, fmt.Errorf("the graph has no node %q", id)
	}
	t.parts = append(w.parts, part{text: w.text.Bytes(), input: -1})
	return t, w.err
}

// templateWriter copies a graph and cuts it where values go.
type templateWriter struct {
	schema *Schema
	prefix string
	text   bytes.Buffer
	parts  []part
	err    error
}

func (w *templateWriter) object(members []ordered.Member, value func(name string, raw json.RawMessage)) {
	w.text.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.text.Write(keyOf(m.Name))
		value(m.Name, m.Raw)
	}
	w.text.WriteByte('}')
}

func keyOf(name string) []byte {
	key, _ := json.Marshal(name) // a text has always a JSON form
	return append(key, ':')
}

func (w *templateWriter) members(raw json.RawMessage) []ordered.Member {
	all, err := ordered.Members(raw)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("read the graph: %w", err)
	}
	return all
}

func (w *templateWriter) node(raw json.RawMessage, targets map[string]int) {
	found := false
	w.object(w.members(raw), func(name string, raw json.RawMessage) {
		if name != "inputs" {
			w.text.Write(raw)
			return
		}
		found = true
		w.inputs(raw, targets)
	})
	if !found && len(targets) > 0 && w.err == nil {
		w.err = fmt.Errorf("a node of the graph has no inputs")
	}
}

// inputs copies the inputs of a node, first those that the graph gives a value, then the others.
func (w *templateWriter) inputs(raw json.RawMessage, targets map[string]int) {
	w.text.WriteByte('{')
	first := true
	for _, m := range w.members(raw) {
		i, target := targets[m.Name]
		if !first {
			w.text.WriteByte(',')
		}
		first = false
		w.text.Write(keyOf(m.Name))
		if !target {
			w.text.Write(w.moved(m.Raw))
			continue
		}
		delete(targets, m.Name)
		w.cut(part{input: i, original: w.moved(m.Raw)})
	}
	for name, i := range targets {
		if !first {
			w.text.WriteByte(',')
		}
		first = false
		w.text.Write(keyOf(name))
		w.cut(part{input: i, original: constant(w.schema.Inputs[i].Default)})
	}
	w.text.WriteByte('}')
}

// moved returns the value of an input of the graph. A link leads to the node with the prefix.
func (w *templateWriter) moved(value json.RawMessage) json.RawMessage {
	var link []json.RawMessage
	var id string
	if w.prefix == "" || value[0] != '[' || json.Unmarshal(value, &link) != nil || len(link) != 2 || json.Unmarshal(link[0], &id) != nil {
		return value
	}
	return marshal([]any{w.prefix + id, link[1]})
}

// constant returns a value as a graph holds it: a plain list would be read as a link.
func constant(value json.RawMessage) json.RawMessage {
	if bytes.HasPrefix(bytes.TrimSpace(value), []byte("[")) {
		return slices.Concat([]byte(`{"__value__":`), value, []byte("}"))
	}
	return value
}

func (w *templateWriter) cut(p part) {
	p.text = bytes.Clone(w.text.Bytes())
	w.text.Reset()
	w.parts = append(w.parts, p)
}

// Fill returns the graph with values that Check accepted; inputs without a value have the graph's own or their default. The caller has
// replaced each value that Check returned as a file by the name of a stored file or a reference to an asset. links are values of a graph
// in which the template stands in the place of a node.
func (t *Template) Fill(values, links map[string]json.RawMessage) json.RawMessage {
	b := make([]byte, 0, t.size+256)
	for _, p := range t.parts {
		b = append(b, p.text...)
		if p.input < 0 {
			break
		}
		name := t.Schema.Inputs[p.input].Name
		if link, linked := links[name]; linked {
			b = append(b, link...)
		} else if value, given := values[name]; given {
			b = append(b, constant(value)...)
		} else {
			b = append(b, p.original...)
		}
	}
	return b
}
