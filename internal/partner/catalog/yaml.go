package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// problem is a mistake in an entry file, with its YAML node.
type problem struct {
	node *yaml.Node
	msg  string
}

func (p *problem) Error() string { return p.msg }

// maxNodes bounds an entry file after its anchors are expanded, so that a few lines cannot expand without end.
const maxNodes = 500_000

// ordered writes a YAML node as JSON, with members in the order of the file.
func ordered(node *yaml.Node) (json.RawMessage, error) {
	var b bytes.Buffer
	w := jsonWriter{out: &b, left: maxNodes}
	if err := w.node(node); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type jsonWriter struct {
	out  *bytes.Buffer
	left int
}

func (w *jsonWriter) node(n *yaml.Node) error {
	if w.left--; w.left < 0 {
		return &problem{n, "the file is too large after its anchors are expanded"}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return w.node(n.Content[0])
	case yaml.AliasNode:
		return w.node(n.Alias)
	case yaml.SequenceNode:
		return w.sequence(n)
	case yaml.MappingNode:
		return w.mapping(n)
	default:
		return w.scalar(n)
	}
}

func (w *jsonWriter) sequence(n *yaml.Node) error {
	w.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.node(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *jsonWriter) mapping(n *yaml.Node) error {
	w.out.WriteByte('{')
	for i, pair := range pairs(n) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.string(pair.key.Value)
		w.out.WriteByte(':')
		if err := w.node(pair.value); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *jsonWriter) string(s string) {
	encoded, err := json.Marshal(s)
	if err == nil { // encoding a string cannot fail
		w.out.Write(encoded)
	}
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		w.out.WriteString("null")
	case "!!bool":
		w.out.WriteString(strings.ToLower(n.Value))
	case "!!int":
		var v int64
		if err := n.Decode(&v); err != nil {
			return &problem{n, "the number is out of range"}
		}
		w.out.WriteString(strconv.FormatInt(v, 10))
	case "!!float":
		var v float64
		if err := n.Decode(&v); err != nil {
			return &problem{n, "the value is not a number"}
		}
		encoded, err := json.Marshal(v)
		if err != nil { // .nan, .inf
			return &problem{n, "the number is not finite"}
		}
		w.out.Write(encoded)
	default:
		w.string(n.Value)
	}
	return nil
}

// pair is one member of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the members of a mapping, including those of merge keys (<<); the mapping's own members take
// precedence.
func pairs(n *yaml.Node) []pair {
	var own, merged []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, mergedPairs(value)...)
			continue
		}
		own, seen[key.Value] = append(own, pair{key, value}), true
	}
	for _, p := range merged {
		if !seen[p.key.Value] {
			own, seen[p.key.Value] = append(own, p), true
		}
	}
	return own
}

func mergedPairs(value *yaml.Node) []pair {
	value = followed(value)
	switch value.Kind {
	case yaml.MappingNode:
		return pairs(value)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range value.Content {
			all = append(all, mergedPairs(item)...)
		}
		return all
	default:
		return nil
	}
}

func followed(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// at returns the node at a location, or its nearest ancestor.
func at(root *yaml.Node, location []string) *yaml.Node {
	n := followed(root)
	for _, step := range location {
		next := child(n, step)
		if next == nil {
			return n
		}
		n = followed(next)
	}
	return n
}

func child(n *yaml.Node, step string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(n.Content) {
			return nil
		}
		return n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for _, p := range pairs(n) {
		if p.key.Value == step {
			return p.value
		}
	}
	return nil
}

// pathOf returns the field path of a node below root, "models[2].poll.url", or "".
func pathOf(root, wanted *yaml.Node) string {
	path, _ := findPath(root, wanted, "")
	return strings.TrimPrefix(path, ".")
}

func findPath(n, wanted *yaml.Node, path string) (string, bool) {
	if same(n, wanted) {
		return path, true
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			step := path + "." + n.Content[i].Value
			if same(n.Content[i], wanted) {
				return step, true
			}
			if found, ok := findPath(n.Content[i+1], wanted, step); ok {
				return found, true
			}
		}
	case yaml.SequenceNode, yaml.DocumentNode:
		for i, item := range n.Content {
			step := path
			if n.Kind == yaml.SequenceNode {
				step = fmt.Sprintf("%s[%d]", path, i)
			}
			if found, ok := findPath(item, wanted, step); ok {
				return found, true
			}
		}
	case yaml.AliasNode, yaml.ScalarNode: // an alias is reported at the definition of its anchor
	}
	return "", false
}

// same compares nodes by line and column, because decoding copies nodes.
func same(a, b *yaml.Node) bool {
	return a.Line == b.Line && a.Column == b.Column && a.Kind == b.Kind && a.Value == b.Value
}

// located formats an error with its file, line and field.
func located(file string, root *yaml.Node, err error) error {
	var p *problem
	if !errors.As(err, &p) || p.node == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if path := pathOf(root, p.node); path != "" {
		return fmt.Errorf("%s:%d: %s: %s", file, p.node.Line, path, p.msg)
	}
	return fmt.Errorf("%s:%d: %s", file, p.node.Line, p.msg)
}
