package graph

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Parse reads a prompt in API format: one JSON object of nodes by id, within the limits and without repeated keys.
// Anything else is fault.Invalid with CodeInvalid, and a graph in the editor's save format fault.Invalid with
// CodeUIFormat. Parse accepts unknown classes and bad inputs, which Validate refuses.
func Parse(raw json.RawMessage, limits Limits) (*Graph, error) {
	limits = limits.withDefaults()
	if len(raw) > limits.MaxBytes {
		return nil, invalid("the workflow is larger than %d bytes", limits.MaxBytes)
	}
	if depth(raw) > limits.MaxDepth {
		return nil, invalid("the workflow is nested deeper than %d levels", limits.MaxDepth)
	}
	if err := json.Unmarshal(raw, &json.RawMessage{}); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "the workflow is not valid JSON: %s", err)
	}
	text := bytes.TrimSpace(raw)
	if text[0] != '{' {
		return nil, invalid("the workflow must be a JSON object of nodes by id")
	}
	members, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	if isUIFormat(members) {
		return nil, fault.New(fault.Invalid, fault.CodeWorkflowFormatUI,
			"the workflow is in the editor's save format; export it in API format")
	}
	if len(members) > limits.MaxNodes {
		return nil, invalid("the workflow has %d nodes; at most %d are allowed", len(members), limits.MaxNodes)
	}
	g, err := parseNodes(members, limits.MaxInputs)
	if err != nil {
		return nil, err
	}
	g.size = len(raw)
	return g, nil
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, format, args...)
}

// maxName bounds the ids and classes of nodes, in bytes, because errors, events and messages repeat them.
const maxName = 256

func parseNodes(members []member, maxInputs int) (*Graph, error) {
	g := &Graph{Nodes: make([]*Node, len(members)), byID: make(map[string]*Node, len(members))}
	for i, m := range members {
		n := &Node{ID: m.key}
		if err := n.parse(m.value); err != nil {
			return nil, err
		}
		if n.ID == "" {
			return nil, invalid("the id of a node must not be empty")
		}
		if !named(n.ID) || !named(n.Class) {
			return nil, invalid("node %.64q: its id or class is longer than %d bytes or contains a NUL", n.ID, maxName)
		}
		if maxInputs -= len(n.Inputs); maxInputs < 0 {
			return nil, invalid("the nodes of the workflow have too many inputs in total")
		}
		g.Nodes[i], g.byID[n.ID] = n, n
	}
	return g, nil
}

func named(name string) bool { return len(name) <= maxName && !strings.ContainsRune(name, 0) }

// parse fills a node. A node that is not an object has no class, which Validate reports.
func (n *Node) parse(value []byte) error {
	if value[0] != '{' {
		return nil
	}
	fields, err := membersOf(value)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch f.key {
		case "class_type":
			n.Class, _ = textOf(f.value)
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

func (n *Node) parseInputs(value []byte) error {
	if value[0] != '{' {
		return nil
	}
	members, err := membersOf(value)
	if err != nil {
		return err
	}
	n.HasInputs = true
	n.Inputs = make([]Given, len(members))
	for i, m := range members {
		decoded, err := decode(m.value)
		if err != nil {
			return err
		}
		n.Inputs[i] = Given{Name: m.key, Value: decoded}
	}
	return nil
}

func titleOf(value []byte) string {
	if value[0] != '{' {
		return ""
	}
	fields, err := membersOf(value)
	if err != nil {
		return "" // nothing depends on the title, so a bad one is ignored
	}
	for _, f := range fields {
		if f.key == "title" {
			title, _ := textOf(f.value)
			return shortened(title)
		}
	}
	return ""
}

// isUIFormat recognises the editor's save format, which has the lists "nodes" and "links".
func isUIFormat(members []member) bool {
	nodes, links := false, false
	for _, m := range members {
		nodes = nodes || m.key == "nodes" && m.value[0] == '['
		links = links || m.key == "links"
	}
	return nodes && links
}

// depth returns the nesting of objects and lists. For text that is not JSON the number has no meaning.
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
