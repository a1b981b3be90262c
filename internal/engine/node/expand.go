package node

import "slices"

// Expansion is a graph that replaces the node that returns it. Its nodes read values and the outputs of each other.
// Build it with Add.
type Expansion struct {
	Nodes []ExpandedNode // node 1 is the first
}

// ExpandedNode is one node of an expansion.
type ExpandedNode struct {
	Class   string
	Inputs  Args   // values; a From is a link
	Display string // id of the node that clients see instead; "" = the node that expands
}

// From refers to an output of a node of an expansion. Use it for an input of another node, or for an output of the
// node that expands.
type From struct {
	Node int // number of the node
	Slot int
}

// Add adds a node and returns its number.
func (e *Expansion) Add(class string, inputs Args) int {
	e.Nodes = append(e.Nodes, ExpandedNode{Class: class, Inputs: inputs})
	return len(e.Nodes)
}

// expands reports whether a call returned a graph.
func expands(results []Result) bool {
	return slices.ContainsFunc(results, func(res Result) bool { return res.Expand != nil })
}

// Mapped reports whether the class is called for each element of a list, in which case its outputs become lists.
func (inv Invocation) Mapped() bool { return inv.mapped() }

// Join joins the results of the calls of a class, whose outputs must all be values.
func Join(class *Class, mapped bool, results []Result) Result {
	for i := range results {
		for _, value := range results[i].Outputs {
			_, is := blockerIn(value)
			results[i].Blocked = results[i].Blocked || is
		}
	}
	return join(class, mapped, results)
}
