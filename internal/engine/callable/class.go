package callable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// ClassPrefix begins the names of the classes by which graphs call deployments: Deployment.portrait.
const ClassPrefix = "Deployment."

// Version is a version of a deployment that nodes of another graph call. Inline changes its nodes.
type Version struct {
	Deployment string // its name
	Number     int
	Nodes      []*graph.Node
	Schema     *Schema
}

// nodeTypes are the types of the values by kind, as graphs spell them. Nodes give pictures, masks, sounds and videos to each other; other
// files have names.
var nodeTypes = map[Kind]node.Type{
	Text: node.String, Integer: node.Int, Number: node.Float, Boolean: node.Boolean, Any: node.Any, Image: node.Image, Mask: node.Mask,
	Audio: node.Audio, Video: node.Video, Model: node.String, File: node.String,
}

// Class returns the class by which graphs call the version. Its inputs and outputs are those of the deployment.
func (v Version) Class(classes Classes) (*node.Class, error) {
	type widget struct {
		Default   json.RawMessage `json:"default,omitempty"`
		Min       json.Number     `json:"min,omitempty"`
		Max       json.Number     `json:"max,omitempty"`
		Step      json.Number     `json:"step,omitempty"`
		Multiline bool            `json:"multiline,omitempty"`
		Tooltip   string          `json:"tooltip,omitempty"`
	}
	name := ClassPrefix + v.Deployment
	d := node.Definition{
		Name: name, DisplayName: &v.Deployment, Description: fmt.Sprintf("Runs the deployment %s, now version %d.", v.Deployment, v.Number),
		Category: "deployments", PythonModule: "deployments", InputOrder: node.Order{Required: []string{}},
		OutputIsList: make([]bool, len(v.Schema.Outputs)),
	}
	for _, in := range v.Schema.Inputs {
		spec := []any{nodeTypes[in.Kind], widget{in.Default, in.Minimum, in.Maximum, in.Step, in.Multiline, in.Description}}
		if in.Kind == Choice {
			spec[0] = in.Choices
		}
		inputs, names := &d.Input.Optional, &d.InputOrder.Optional
		if in.Required() {
			inputs, names = &d.Input.Required, &d.InputOrder.Required
		}
		*inputs, *names = append(*inputs, node.Defined{Name: in.Name, Spec: spec}), append(*names, in.Name)
	}
	for _, out := range v.Schema.Outputs {
		made, _ := v.reads(out, classes)
		d.Output, d.OutputName = append(d.Output, made), append(d.OutputName, out.Name)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	document := remote.ParseDocument("", []string{name}, map[string]json.RawMessage{name: raw})
	all, err := remote.Merge([]*remote.Document{document})
	if len(all) == 0 {
		return nil, errors.Join(err, errors.New(document.Problem()))
	}
	return all[0], nil
}

// reads returns what the node of an output saves or shows: its type, and its value or the link to it; nil = it cannot be told.
func (v Version) reads(out Output, classes Classes) (node.Type, any) {
	n := v.find(out.Node)
	class, ok := classes.Lookup(n.Class)
	if !ok {
		return node.Any, nil
	}
	in, _ := shown(class)
	value, _ := n.Input(in.Name)
	first, _, _ := strings.Cut(string(in.Type), ",")
	if first == "" {
		first = string(node.Any)
	}
	return node.Type(first), value
}

// find returns the node of an id; the zero node if there is none.
func (v Version) find(id string) *graph.Node {
	if at := slices.IndexFunc(v.Nodes, func(n *graph.Node) bool { return n.ID == id }); at >= 0 {
		return v.Nodes[at]
	}
	return &graph.Node{}
}

// Inline returns nodes in which the graph of the version stands in the place of n, one of them. Values that an input does not accept
// are a *graph.PromptError. What the version saves or shows is the value of its outputs, and is not saved.
func (v Version) Inline(nodes []*graph.Node, n *graph.Node, classes Classes) ([]*graph.Node, error) {
	in := &inlining{Version: v, at: n, classes: classes, sources: map[string]any{}, taken: map[string]bool{}}
	if err := in.give(); err != nil {
		return nil, err
	}
	read := make([]any, len(v.Schema.Outputs))
	for slot, out := range v.Schema.Outputs {
		_, read[slot] = v.reads(out, classes)
	}
	for _, other := range nodes {
		for i, given := range other.Inputs {
			if slot, ok := slotOf(given.Value, n.ID); ok && slot >= 0 && slot < len(read) {
				other.Inputs[i].Value = in.moved(read[slot])
			}
		}
	}
	var inside []*graph.Node
	for _, one := range v.Nodes {
		if in.taken[one.ID] {
			one.Title = fmt.Sprintf("%s@%d: %s", v.Deployment, v.Number, cmp.Or(one.Title, one.Class))
			one.ID = in.placed(one.ID)
			inside = append(inside, one)
		}
	}
	at := slices.Index(nodes, n)
	return slices.Concat(nodes[:at], inside, nodes[at+1:]), in.failed
}

// inlining is the state of Inline.
type inlining struct {
	Version
	at      *graph.Node // the node that calls the version
	classes Classes
	sources map[string]any  // links that stand in the place of nodes of the version that load files
	taken   map[string]bool // nodes of the version that are needed
	failed  error
}

// give sets the inputs of the version to the values of the calling node.
func (in *inlining) give() error {
	refused := &graph.NodeError{Node: in.at.ID, Class: in.at.Class, DependentOutputs: []string{}}
	for _, one := range in.Schema.Inputs {
		value, given := in.at.Input(one.Name)
		_, linked := linkOf(value)
		reason := ""
		switch {
		case !given && one.Required():
			reason = "a value is required"
		case !given:
			value = constant(one.Default) // for nodes that have no value of their own
		case !linked:
			reason = one.check(marshal(value))
		}
		if reason != "" {
			refused.Errors = append(refused.Errors, graph.InputError{
				Type: "custom_validation_failed", Message: reason, Details: one.Name, ExtraInfo: map[string]any{"input_name": one.Name},
			})
			continue
		}
		for _, target := range one.Targets {
			n := in.find(target.Node)
			if linked && nodeTypes[one.Kind] != node.String && one.Kind.IsFile() {
				in.sources[target.Node] = value
			} else if _, has := n.Input(target.Input); given || !has {
				n.Set(target.Input, value)
			}
		}
	}
	if refused.Errors != nil {
		return (&graph.Accepted{NodeErrors: graph.NodeErrors{refused}}).Refuse()
	}
	return nil
}

// slotOf returns the slot of a link to a node.
func slotOf(value any, id string) (int, bool) {
	if from, ok := linkOf(value); !ok || from != id {
		return 0, false
	}
	number, _ := value.([]any)[1].(json.Number)
	slot, err := number.Int64()
	return int(slot), err == nil
}

// moved returns a value of the version as the other graph has it: a link leads to the node in its new place, which is needed then.
func (in *inlining) moved(value any) any {
	id, linked := linkOf(value)
	if !linked && value != nil {
		return value
	}
	source, replaced := in.sources[id]
	if linked && !replaced {
		in.take(id)
		return []any{in.placed(id), value.([]any)[1]}
	}
	loader := in.find(id)
	class, known := in.classes.Lookup(loader.Class)
	slot, _ := slotOf(value, id)
	switch {
	case replaced && slot == 0:
		return source
	case in.taken[id]:
		return []any{in.placed(id), 0}
	case replaced && known && slot == 1 && len(class.Outputs) > 1 && class.Outputs[slot].Type == node.Mask:
		in.taken[id], loader.Class = true, "SolidMask" // the mask that a picture without transparency has
		loader.Inputs = []graph.Given{{Name: "value", Value: 0}, {Name: "width", Value: 64}, {Name: "height", Value: 64}}
		return []any{in.placed(id), 0}
	}
	in.failed = invalid("%s cannot be called by node %s: a value that it needs comes from no node.", in.at.Class, in.at.ID)
	return nil
}

// take marks a node of the version as needed, with those that it reads.
func (in *inlining) take(id string) {
	if in.taken[id] {
		return
	}
	in.taken[id] = true
	n := in.find(id)
	for i := range n.Inputs {
		if _, linked := linkOf(n.Inputs[i].Value); linked {
			n.Inputs[i].Value = in.moved(n.Inputs[i].Value)
		}
	}
}

// placed returns the id in the other graph of a node of the version, as the editor names the nodes of subgraphs.
func (in *inlining) placed(id string) string { return in.at.ID + ":" + id }

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
