// Package graph understands node graphs in API format: it parses them in bounds,
// validates them with the vocabulary that existing clients know, plans which nodes
// run on which inputs, and schedules the plan in batches. It is pure: the only
// outside it sees are the caller's file names through node.Files during validation.
// Storage, events and the running of nodes are not its business.
package graph

import (
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Codes of the failures of Parse, as the v2 contract spells them.
const (
	CodeInvalid  = "invalid_workflow"
	CodeUIFormat = "workflow_format_ui"
)

// Limits bound what Parse accepts; a zero field means its default.
type Limits struct {
	MaxNodes  int // inclusive; default 5,000
	MaxInputs int // of all nodes, inclusive; default 20 for each node of MaxNodes: links are part of a workflow's history
	MaxBytes  int // default 32 MiB
	MaxDepth  int // nesting of objects and lists; default 64
}

func (l Limits) withDefaults() Limits {
	if l.MaxNodes == 0 {
		l.MaxNodes = 5000
	}
	if l.MaxInputs == 0 {
		l.MaxInputs = 20 * l.MaxNodes
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 32 << 20
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = 64
	}
	return l
}

// Graph is a parsed prompt. Nodes stand in document order.
type Graph struct {
	Nodes []*Node
	byID  map[string]*Node
}

// Node is one node of a prompt as it was written.
type Node struct {
	ID        string
	Class     string // "" = none
	Title     string // of _meta, "" = none
	Inputs    []Given
	HasInputs bool // the key was there and an object

	given *Handed // of a node that stands for a value, in an expansion
}

// classIn returns the class of a node: that of a given value has one output of the value's type.
func (n *Node) classIn(classes *node.Registry) (*node.Class, bool) {
	if n.given != nil {
		return &node.Class{Outputs: []node.Output{{Type: n.given.Type}}}, true
	}
	return classes.Lookup(n.Class)
}

// Given is the value that a node gives to an input: decoded JSON, numbers as json.Number.
type Given struct {
	Name  string
	Value any
}

// Node returns the node of that id.
func (g *Graph) Node(id string) (*Node, bool) {
	n, ok := g.byID[id]
	return n, ok
}

// Input returns the value given to the input of that name.
func (n *Node) Input(name string) (any, bool) {
	if i := n.find(name); i >= 0 {
		return n.Inputs[i].Value, true
	}
	return nil, false
}

// declared returns the inputs that a class declares for this node.
func (n *Node) declared(class *node.Class) []node.Input {
	return class.Declared(func(name string) bool { return n.find(name) >= 0 })
}

func (n *Node) set(name string, value any) {
	if i := n.find(name); i >= 0 {
		n.Inputs[i].Value = value
	}
}

func (n *Node) find(name string) int {
	return slices.IndexFunc(n.Inputs, func(in Given) bool { return in.Name == name })
}

// reference is a link as a prompt writes it: [node id, slot].
type reference struct {
	node string
	slot int
}

// asReference reads a value as a link. Every list stands for a link; a good one is
// a node id and a whole slot number (node graph semantics, section 1.4).
func asReference(value any) (ref reference, isList, good bool) {
	list, isList := value.([]any)
	if len(list) != 2 {
		return reference{}, isList, false
	}
	id, isText := list[0].(string)
	number, isNumber := list[1].(json.Number)
	if !isText || !isNumber {
		return reference{}, true, false
	}
	slot, err := number.Int64()
	if err != nil || int64(int(slot)) != slot {
		return reference{}, true, false
	}
	return reference{node: id, slot: int(slot)}, true, true
}

// plain returns decoded JSON as a node.Value: numbers without a fraction become int64.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, member := range v {
			object[key] = plain(member)
		}
		return object
	default:
		return v
	}
}

// Accepted is a graph of which at least one output can run.
type Accepted struct {
	Graph      *Graph
	Outputs    []string   // that run, in document order
	NodeErrors NodeErrors // why the other outputs do not
	count      int
}

// NodeCount returns how many nodes the accepted outputs need, themselves included.
func (a *Accepted) NodeCount() int { return a.count }

// Most returns how many nodes a workflow may have.
func (l Limits) Most() int { return l.withDefaults().MaxNodes }
