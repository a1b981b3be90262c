package segment

import (
	"cmp"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// matchType is the declared type of inputs and outputs that take the type of the value at the other end of their
// link.
const matchType node.Type = "COMFY_MATCHTYPE_V3"

// typeFinder finds the types of values, including those of outputs declared as any type.
type typeFinder struct {
	plan    *graph.Plan
	classes *node.Registry
	known   map[graph.Link]node.Type // of outputs; "" while one is looked at
}

func concrete(t node.Type) bool {
	return t != "" && t != node.Any && t != matchType && !strings.Contains(string(t), ",")
}

// ofEdge returns the type of the value on a link: the type of the output or, if that is not known, the type that the
// reader declares.
func (t *typeFinder) ofEdge(reader int, input string, link graph.Link) node.Type {
	kind := t.ofOutput(link)
	if concrete(kind) {
		return kind
	}
	if class, ok := t.classes.Lookup(t.plan.Nodes[reader].Class); ok {
		if declared := declaredType(class, &t.plan.Nodes[reader], input); concrete(declared) {
			return declared
		}
	}
	return cmp.Or(kind, node.Any)
}

// ofOutput returns the declared type of an output. An output that takes the type of an input gets the type of the
// value that this input reads.
func (t *typeFinder) ofOutput(link graph.Link) node.Type {
	if kind, ok := t.known[link]; ok {
		return kind
	}
	t.known[link] = ""
	kind := t.lookUp(link)
	t.known[link] = kind
	return kind
}

func (t *typeFinder) lookUp(link graph.Link) node.Type {
	pn := &t.plan.Nodes[link.Unit]
	class, ok := t.classes.Lookup(pn.Class)
	if !ok || link.Slot >= len(class.Outputs) {
		return ""
	}
	out := class.Outputs[link.Slot]
	if concrete(out.Type) || out.MatchTemplate == "" {
		return out.Type
	}
	for _, in := range class.Inputs {
		from, linked := pn.Links[in.Name]
		if !linked || in.MatchTemplate != out.MatchTemplate {
			continue
		}
		if kind := t.ofOutput(from); concrete(kind) { // this recursion ends: plans have no cycles, and each output is looked up once
			return kind
		}
	}
	return out.Type
}

// declaredType returns the type of an input as the class declares it for a node.
func declaredType(class *node.Class, pn *graph.PlanNode, name string) node.Type {
	if in, ok := class.Input(name); ok {
		return in.Type
	}
	for _, in := range class.Declared(inputValues(pn)) {
		if in.Name == name {
			return in.Type
		}
	}
	return ""
}

// inputValues returns the values that a node of a plan gives to its inputs. The value of a link is nil.
func inputValues(pn *graph.PlanNode) func(name string) (any, bool) {
	return func(name string) (any, bool) {
		if value, ok := pn.Constants[name]; ok {
			return value, true
		}
		_, ok := pn.Links[name]
		return nil, ok
	}
}
