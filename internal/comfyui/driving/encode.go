package driving

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// submittedNode is a node of the submitted graph.
type submittedNode struct {
	Class  string          `json:"class_type"`
	Inputs json.RawMessage `json:"inputs"`
	Meta   json.RawMessage `json:"_meta,omitempty"`
}

// unknownClass takes the place of the classes that a server lacks, in nodes that do not run.
const unknownClass = "EmptyImage"

// encode returns the prompt with its nodes and their inputs in the order of the submission, which some classes see, and then the
// added ones. If a class asks for the prompt, the other nodes of the graph are in it too; they do not run.
func (c *compiled) encode() ([]byte, error) {
	submitted, err := ordered.Members(c.r.Graph)
	if err != nil {
		return nil, fmt.Errorf("read the submitted graph: %w", err)
	}
	var out []ordered.Member
	seen := map[string]bool{}
	add := func(id string, node any) error {
		raw, err := encodeJSON(node)
		out, seen[id] = append(out, ordered.Member{Name: id, Raw: raw}), true
		return err
	}
	for _, m := range submitted {
		var node submittedNode
		if json.Unmarshal(m.Raw, &node) != nil || node.Class == "" || seen[m.Name] {
			continue
		}
		if n, ok := c.prompt[m.Name]; ok {
			n.order, n.Meta = namesOf(node.Inputs), node.Meta
			if err := add(m.Name, n); err != nil {
				return nil, err
			}
			continue
		}
		if !c.whole() {
			continue
		}
		if !c.offers(node.Class) {
			node.Class = unknownClass
		}
		if err := add(m.Name, node); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.prompt), byNumber) {
		if !seen[id] {
			if err := add(id, c.prompt[id]); err != nil {
				return nil, err
			}
		}
	}
	return ordered.Object(out), nil
}

// byNumber orders ids so that "9" is before "10".
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// namesOf returns the names of the members of an object, in its order.
func namesOf(raw json.RawMessage) []string {
	members, err := ordered.Members(raw)
	if err != nil {
		return nil
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}

func encodeJSON(value any) ([]byte, error) {
	raw, err := ordered.JSON(value)
	if err != nil {
		return nil, fmt.Errorf("encode the prompt: %w", err)
	}
	return raw, nil
}

// MarshalJSON implements json.Marshaler. The inputs are in their order, and then those that have none.
func (n promptNode) MarshalJSON() ([]byte, error) {
	var inputs []ordered.Member
	rest := maps.Clone(n.Inputs)
	for _, name := range append(slices.Clone(n.order), slices.Sorted(maps.Keys(n.Inputs))...) {
		value, ok := rest[name]
		if !ok {
			continue
		}
		delete(rest, name)
		raw, err := encodeJSON(value)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, ordered.Member{Name: name, Raw: raw})
	}
	return json.Marshal(submittedNode{Class: n.Class, Inputs: ordered.Object(inputs), Meta: n.Meta})
}

// whole reports whether a node pack's class asks for the prompt. ComfyUI's own classes do not count: they only write the prompt into
// files, and copyFile replaces it there.
func (c *compiled) whole() bool {
	for _, n := range c.nodes {
		class, _ := c.r.Classes.Lookup(n.Class)
		if class.OfPack() && slices.ContainsFunc(class.Inputs, func(in node.Input) bool {
			return in.Section == node.Hidden && (in.Type == "PROMPT" || in.Type == "DYNPROMPT")
		}) {
			return true
		}
	}
	return false
}

// targets returns the nodes of the prompt among which the output nodes run; nil = all.
func (c *compiled) targets() []string {
	if !c.whole() {
		return nil
	}
	return slices.SortedFunc(maps.Keys(c.prompt), byNumber)
}
