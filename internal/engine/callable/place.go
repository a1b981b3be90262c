package callable

import (
	"encoding/json"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Given divides what a node gives to the inputs of a deployment: values, which Check checks, and links to other nodes and references to
// assets, which the graph with the node checks.
func Given(n *graph.Node) (values, links map[string]json.RawMessage) {
	values, links = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, in := range n.Inputs {
		object, _ := in.Value.(map[string]any)
		if _, linked := linkOf(in.Value); linked || object["__type"] == graph.AssetType {
			links[in.Name] = marshal(in.Value)
		} else {
			values[in.Name] = marshal(in.Value)
		}
	}
	return values, links
}

// Placed is the graph of a version in the place of a node of another graph.
type Placed struct {
	Nodes []*graph.Node
	Reads []any // by output: the value that readers of the node get, nil = none
}

// Place returns the graph of a version filled with values and links as it stands in the place of a node. Each of its ids begins with
// prefix. A linked picture, mask, sound or video takes the place of the node that loads the file. What the version saves or shows is
// the value of its output.
func Place(prompt json.RawMessage, s *Schema, prefix string, values, links map[string]json.RawMessage, classes Classes) (*Placed, error) {
	t, err := prepare(prompt, s, prefix)
	if err != nil {
		return nil, err
	}
	g, err := graph.Parse(t.Fill(values, links), graph.AnySize)
	if err != nil {
		return nil, err
	}
	p := &Placed{Nodes: g.Nodes, Reads: make([]any, len(s.Outputs))}
	for i, out := range s.Outputs {
		if n, ok := g.Node(prefix + out.Node); ok {
			if class, known := classes.Lookup(n.Class); known {
				in, _ := shown(class)
				p.Reads[i], _ = n.Input(in.Name)
			}
		}
	}
	for _, in := range s.Inputs {
		_, linked := links[in.Name]
		for _, target := range in.Targets {
			loader, ok := g.Node(prefix + target.Node)
			if !linked || !ok || !in.Kind.IsFile() || nodeTypes[in.Kind] == node.String || strings.HasPrefix(loader.Class, ClassPrefix) {
				continue
			}
			if value, _ := loader.Input(target.Input); value != nil {
				p.replace(loader, value, classes)
			}
		}
	}
	return p, nil
}

// replace lets readers of a node that loads a file read a link instead. The mask of a linked picture is that of a picture without
// transparency.
func (p *Placed) replace(loader *graph.Node, link any, classes Classes) {
	if _, linked := linkOf(link); !linked {
		return
	}
	class, known := classes.Lookup(loader.Class)
	if known && len(class.Outputs) > 1 && class.Outputs[1].Type == node.Mask {
		loader.Class, loader.Inputs = "SolidMask", []graph.Given{
			{Name: "value", Value: json.Number("0")}, {Name: "width", Value: json.Number("64")}, {Name: "height", Value: json.Number("64")},
		}
	}
	Redirect(p.Nodes, loader.ID, func(slot int) (any, bool) {
		if slot == 1 && loader.Class == "SolidMask" {
			return []any{loader.ID, json.Number("0")}, true
		}
		return link, slot == 0
	}, p.Reads...)
}

// Redirect replaces the links to a node. to returns the value for a slot, or false to leave the link as it is. Values that are given
// beside the nodes are replaced in place.
func Redirect(nodes []*graph.Node, id string, to func(slot int) (any, bool), values ...any) {
	moved := func(value any) any {
		if from, linked := linkOf(value); !linked || from != id {
			return value
		}
		slot, _ := value.([]any)[1].(json.Number)
		at, err := slot.Int64()
		if other, ok := to(int(at)); err == nil && ok {
			return other
		}
		return value
	}
	for _, n := range nodes {
		for i := range n.Inputs {
			n.Inputs[i].Value = moved(n.Inputs[i].Value)
		}
	}
	for i := range values {
		values[i] = moved(values[i])
	}
}

// Sources returns the nodes that a node reads.
func Sources(n *graph.Node) (ids []string) {
	for _, in := range n.Inputs {
		if id, linked := linkOf(in.Value); linked {
			ids = append(ids, id)
		}
	}
	return ids
}

// Encode returns nodes as a graph in API format.
func Encode(nodes []*graph.Node) (json.RawMessage, error) {
	all := make(node.Object, len(nodes))
	for i, n := range nodes {
		fields := node.Object{{Name: "class_type", Spec: n.Class}}
		if n.HasInputs {
			inputs := make(node.Object, len(n.Inputs))
			for k, given := range n.Inputs {
				inputs[k] = node.Defined{Name: given.Name, Spec: given.Value}
			}
			fields = append(fields, node.Defined{Name: "inputs", Spec: inputs})
		}
		if n.Title != "" {
			fields = append(fields, node.Defined{Name: "_meta", Spec: map[string]string{"title": n.Title}})
		}
		all[i] = node.Defined{Name: n.ID, Spec: fields}
	}
	return all.MarshalJSON()
}
