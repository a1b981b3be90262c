package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Parse reads a prompt in API format: an object of nodes by id. What is no such object,
// exceeds the limits, repeats a key or is followed by more is fault.Invalid with
// CodeInvalid; a graph in the editor's save format is fault.Invalid with CodeUIFormat.
// Unknown classes and bad inputs are found by Validate.
func Parse(raw json.RawMessage, limits Limits) (*Graph, error) {
	limits = limits.withDefaults()
	if len(raw) > limits.MaxBytes {
		return nil, invalid("the workflow is larger than %d bytes", limits.MaxBytes)
	}
	if depth(raw) > limits.MaxDepth {
		return nil, invalid("the workflow is nested deeper than %d levels", limits.MaxDepth)
	}
	if kindOf(raw) != '{' {
		return nil, invalid("the workflow must be a JSON object of nodes by id")
	}
	members, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	if isUIFormat(members) {
		return nil, fault.New(fault.Invalid, CodeUIFormat,
			"the workflow is in the editor's save format; export it in API format")
	}
	if len(members) > limits.MaxNodes {
		return nil, invalid("the workflow has %d nodes; at most %d are allowed", len(members), limits.MaxNodes)
	}
	return parseNodes(members)
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, CodeInvalid, format, args...)
}

func parseNodes(members []member) (*Graph, error) {
	g := &Graph{Nodes: make([]*Node, len(members)), byID: make(map[string]*Node, len(members))}
	for i, m := range members {
		n := &Node{}
		if err := n.parse(m); err != nil {
			return nil, err
		}
		g.Nodes[i], g.byID[n.ID] = n, n
	}
	return g, nil
}

// parse fills a node. A node that is no object has no class, which Validate reports.
func (n *Node) parse(m member) error {
	n.ID = m.key
	if kindOf(m.value) != '{' {
		return nil
	}
	fields, err := membersOf(m.value)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch f.key {
		case "class_type":
			n.Class = stringOr(f.value, "")
		case "_meta":
			n.Title = titleOf(f.value)
		case "inputs":
			if err := n.parseInputs(f.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Node) parseInputs(raw json.RawMessage) error {
	if kindOf(raw) != '{' {
		return nil
	}
	members, err := membersOf(raw)
	if err != nil {
		return err
	}
	n.HasInputs = true
	n.Inputs = make([]Given, len(members))
	for i, m := range members {
		n.Inputs[i].Name = m.key
		d := json.NewDecoder(bytes.NewReader(m.value))
		d.UseNumber()
		if err := d.Decode(&n.Inputs[i].Value); err != nil {
			return notJSON(err)
		}
	}
	return nil
}

func stringOr(raw json.RawMessage, or string) string {
	var s string
	if kindOf(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		return or
	}
	return s
}

func titleOf(raw json.RawMessage) string {
	var meta struct {
		Title json.RawMessage `json:"title"`
	}
	if kindOf(raw) != '{' || json.Unmarshal(raw, &meta) != nil {
		return ""
	}
	return stringOr(meta.Title, "")
}

// isUIFormat recognises the editor's save format (v2 facts: workflow_format_ui).
func isUIFormat(members []member) bool {
	nodes, links := false, false
	for _, m := range members {
		nodes = nodes || m.key == "nodes" && kindOf(m.value) == '['
		links = links || m.key == "links"
	}
	return nodes && links
}

// member is one key of an object with its value.
type member struct {
	key   string
	value json.RawMessage
}

// membersOf reads one object in document order. Repeated keys are refused: readers
// disagree on which of them counts.
func membersOf(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	var members []member
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		m := member{}
		m.key, _ = token.(string) // the decoder lets only strings stand here
		if seen[m.key] {
			return nil, invalid("the key %.64q stands twice in one object", m.key)
		}
		seen[m.key] = true
		if err := d.Decode(&m.value); err != nil {
			return nil, notJSON(err)
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("more follows after the end of the workflow")
	}
	return members, nil
}

func notJSON(err error) error {
	return fault.Wrap(err, fault.Invalid, CodeInvalid, "the workflow is not valid JSON")
}

// kindOf returns the first byte of a value, which tells its kind; 0 = nothing there.
func kindOf(raw json.RawMessage) byte {
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 {
		return trimmed[0]
	}
	return 0
}

// depth returns how deep objects and lists nest. Text that is no JSON gets some number.
func depth(raw []byte) int {
	open, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}
