// Package graph works on node graphs in API format. It parses them within bounds, validates them with the errors that
// clients of ComfyUI know, plans which nodes run on which inputs, and schedules the plan in batches. It does no I/O
// except for looking up the caller's files through node.Files during validation. It leaves storage, events and the
// running of nodes to others.
package graph

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Limits bound what Parse accepts; a zero field means its default.
type Limits struct {
	MaxNodes  int // inclusive; default 5,000
	MaxInputs int // inputs of all nodes together, inclusive; default 20 × MaxNodes. Links are part of the workflow's history
	MaxBytes  int // default 32 MiB
	MaxDepth  int // nesting of objects and lists; default 64
}

// AnySize bounds only the bytes and the nesting of a graph, for graphs whose size another check bounds, or did when they were stored.
var AnySize = Limits{MaxNodes: math.MaxInt32}

func (l Limits) withDefaults() Limits {
	l.MaxNodes = cmp.Or(l.MaxNodes, 5000)
	l.MaxInputs = cmp.Or(l.MaxInputs, 20*l.MaxNodes)
	l.MaxBytes = cmp.Or(l.MaxBytes, 32<<20)
	l.MaxDepth = cmp.Or(l.MaxDepth, 64)
	return l
}

// Graph is a parsed prompt. Its nodes are in document order.
type Graph struct {
	Nodes []*Node
	byID  map[string]*Node

	size     int  // of the prompt, in bytes
	replaced bool // an asset reference was replaced by a name
}

// Node is one node of a prompt as it was written.
type Node struct {
	ID        string
	Class     string // "" = none
	Title     string // of _meta, "" = none
	Inputs    []Given
	HasInputs bool // the key "inputs" is present and an object

	given *GivenValue // set for a node of an expansion that stands for a given value
}

// classIn returns the class of a node. A given value has a class with one output of the value's type.
func (n *Node) classIn(classes *node.Registry) (*node.Class, bool) {
	if n.given != nil {
		return &node.Class{Outputs: []node.Output{{Type: n.given.Type}}}, true
	}
	return classes.Lookup(n.Class)
}

// Given is the value of an input in a prompt: decoded JSON, numbers as json.Number.
type Given struct {
	Name  string
	Value any
}

// Node returns the node of that id.
func (g *Graph) Node(id string) (*Node, bool) {
	n, ok := g.byID[id]
	return n, ok
}

// Input returns the value of the input of that name.
func (n *Node) Input(name string) (any, bool) {
	if i := n.find(name); i >= 0 {
		return n.Inputs[i].Value, true
	}
	return nil, false
}

// declared returns the inputs that a class declares for this node. For a class of a server, links that the class does
// not declare count too: only the server knows how such inputs depend on one another.
func (n *Node) declared(class *node.Class) []node.Input {
	inputs := class.Declared(n.Input)
	if !class.Remote {
		return inputs
	}
	inputs = slices.Clone(inputs)
	for _, given := range n.Inputs {
		known := func(in node.Input) bool { return in.Name == given.Name }
		if _, _, good := asReference(given.Value); good && !slices.ContainsFunc(inputs, known) {
			inputs = append(inputs, node.Input{Name: given.Name, Type: node.Any, Section: node.Optional})
		}
	}
	return inputs
}

func (n *Node) set(name string, value any) {
	if i := n.find(name); i >= 0 {
		n.Inputs[i].Value = value
	}
}

func (n *Node) find(name string) int {
	return slices.IndexFunc(n.Inputs, func(in Given) bool { return in.Name == name })
}

// reference is a link in a prompt: [node id, slot].
type reference struct {
	node string
	slot int
}

// asReference reads a value as a link. ComfyUI takes every list for a link; a valid link is a node id and a whole
// slot number.
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

// Accepted is a validated graph: at least one of its outputs can run.
type Accepted struct {
	Graph      *Graph
	Outputs    []string   // ids of the outputs that run, in document order
	NodeErrors NodeErrors // the errors of the other outputs
	count      int
}

// NodeCount returns the number of nodes that run: the accepted outputs and all nodes that they need.
func (a *Accepted) NodeCount() int { return a.count }

// Bytes returns the largest allowed size of a workflow.
func (l Limits) Bytes() int { return l.withDefaults().MaxBytes }

// Most returns the largest allowed number of nodes of a workflow.
func (l Limits) Most() int { return l.withDefaults().MaxNodes }
