package node

import "slices"

// Expansion is a graph that takes the place of the node that returns it (node graph semantics, section
// 3.1). Its nodes read each other's outputs, and values. Build it with Add.
type Expansion struct {
	Nodes []ExpandedNode // in the order of their numbers, from 1
}

// ExpandedNode is one node of an expansion.
type ExpandedNode struct {
	Class   string
	Inputs  Args   // values, or a From for a link
	Display string // id of the node that clients are shown in its place; "" = the one that expands
}

// From is an output of a node of an expansion, as an input of another or as an output of the node that
// expands.
type From struct {
	Node int // its number
	Slot int
}

// Add adds a node and returns its number.
func (e *Expansion) Add(class string, inputs Args) int {
	e.Nodes = append(e.Nodes, ExpandedNode{Class: class, Inputs: inputs})
	return len(e.Nodes)
}

// expands reports whether any call returned a graph.
func expands(results []Result) bool {
	return slices.ContainsFunc(results, func(res Result) bool { return res.Expand != nil })
}

// Mapped reports whether the class is called for each element of a list, so that its outputs become lists.
func (inv Invocation) Mapped() bool { return inv.mapped() }

// Join makes one result of the calls of a class, once every output is a value.
func Join(class *Class, mapped bool, results []Result) Result {
	for i := range results {
		for _, value := range results[i].Outputs {
			_, is := blockerIn(value)
			results[i].Blocked = results[i].Blocked || is
		}
	}
	return join(class, mapped, results)
}
