// Package uiworkflow turns a workflow as ComfyUI's editor saves it into a prompt. The editor saves positions, colours
// and the values of widgets in their order on the screen; a prompt has inputs by name. The package promises that it
// refuses a workflow which it cannot convert faithfully, with the reason; it never guesses. Whether the prompt is
// valid is left to package graph.
package uiworkflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Classes looks up the node classes that can run; node.Registry is one.
type Classes interface {
	Lookup(name string) (*node.Class, bool)
}

// Text returns the JSON in a file: the file itself, or the text of a PNG, which has at most 32 MiB. It does not check
// that the text is JSON.
func Text(file []byte) ([]byte, error) {
	if bytes.HasPrefix(file, pngSignature) {
		return pngWorkflow(file)
	}
	return file, nil
}

// Prompt returns the prompt in a text, which is a prompt, a body of POST /prompt, or a workflow as the editor saves
// it. Any other text is Invalid, and so is a saved workflow with a node whose class cannot run. The caller bounds the
// text's size and depth.
func Prompt(data []byte, classes Classes) (json.RawMessage, error) {
	d, err := Read(data, classes)
	if err != nil {
		return nil, err
	}
	if d.c.unknown != nil {
		return nil, d.c.unknown
	}
	return d.Prompt, nil
}

// Read reads a text as Prompt does, and returns with the prompt what the drawing says about its fields. A node whose
// class is not known is kept if the drawing names its values. Of a prompt, the drawing has no fields.
func Read(data []byte, classes Classes) (*Drawing, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "The file holds neither a workflow in JSON nor a PNG.")
	}
	if nodes, ok := top["nodes"]; ok && !isObject(nodes) { // a prompt may have a node with that id
		return convert(data, classes)
	}
	if inner, ok := top["prompt"]; ok && isObject(inner) {
		return &Drawing{Prompt: inner, u: &unfolder{}}, nil
	}
	return &Drawing{Prompt: bytes.TrimSpace(data), u: &unfolder{}}, nil
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, format, args...)
}

// workflow holds the parts of a saved workflow that a prompt needs.
type workflow struct {
	ID          string       `json:"id"`
	Nodes       []*savedNode `json:"nodes"`
	Links       []link       `json:"links"`
	Definitions struct {
		Subgraphs []*subgraph `json:"subgraphs"`
	} `json:"definitions"`
	Extra struct {
		App json.RawMessage `json:"linearData"` // what the author chose in App Mode; see App
	} `json:"extra"`
}

type savedNode struct {
	ID      json.Number                `json:"id"`
	Type    string                     `json:"type"`
	Title   string                     `json:"title"`
	Mode    int                        `json:"mode"`
	Inputs  []savedInput               `json:"inputs"`
	Outputs []savedOutput              `json:"outputs"`
	Values  json.RawMessage            `json:"widgets_values"`
	Named   map[string]json.RawMessage `json:"widgets_values_named"` // the same values by name, as newer versions of the editor save them

	Properties struct {
		Proxies [][]any `json:"proxyWidgets"` // for the node of a subgraph: the inner node and the name of each widget that it shows
	} `json:"properties"`

	set map[string]json.RawMessage // inputs whose values come from the subgraph around the node
}

type savedInput struct {
	Label  string          `json:"label"` // by which the author calls the input
	Name   string          `json:"name"`
	Type   any             `json:"type"`
	Link   *int64          `json:"link"`
	Widget json.RawMessage `json:"widget"` // set if the input is also a field
}

func (in savedInput) isField() bool { return len(in.Widget) > 0 && string(in.Widget) != "null" }

type savedOutput struct {
	Type any `json:"type"`
}

// Modes that keep a node from running.
const (
	muted    = 2
	bypassed = 4
)

// link is an edge. The editor saves it as [id, from node, from slot, to node, to slot, type], within subgraphs as an
// object.
type link struct {
	id     int64
	from   string
	slot   int
	to     string
	toSlot int
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *link) UnmarshalJSON(raw []byte) error {
	if isObject(raw) {
		var named struct {
			ID     json.Number `json:"id"`
			From   json.Number `json:"origin_id"`
			Slot   json.Number `json:"origin_slot"`
			To     json.Number `json:"target_id"`
			ToSlot json.Number `json:"target_slot"`
		}
		if err := json.Unmarshal(raw, &named); err != nil {
			return fmt.Errorf("a link names nodes and slots by number")
		}
		return l.read(named.ID, named.From, named.Slot, named.To, named.ToSlot)
	}
	var all []any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil || len(all) < 5 {
		return fmt.Errorf("a link is a list of at least five values")
	}
	var parts [5]json.Number
	for i := range parts {
		number, ok := all[i].(json.Number)
		if !ok {
			return fmt.Errorf("a link names nodes and slots by number")
		}
		parts[i] = number
	}
	return l.read(parts[0], parts[1], parts[2], parts[3], parts[4])
}

func (l *link) read(id, from, slot, to, toSlot json.Number) (err error) {
	l.from, l.to = from.String(), to.String()
	if l.id, err = id.Int64(); err != nil {
		return err
	}
	if l.slot, err = strconv.Atoi(slot.String()); err != nil {
		return err
	}
	l.toSlot, err = strconv.Atoi(toSlot.String())
	return err
}

// converter indexes the parts of a workflow by the ids with which they refer to one another.
type converter struct {
	classes Classes
	nodes   map[string]*savedNode
	links   map[int64]link
	inputs  map[string]map[string]any // of the nodes of the prompt
	unknown error                     // names the first node whose class is not known; nil = all are
}

// promptNode is a node of a prompt.
type promptNode struct {
	Inputs map[string]any `json:"inputs"`
	Class  string         `json:"class_type"`
	Meta   struct {
		Title string `json:"title"`
	} `json:"_meta"`
}

func convert(data []byte, classes Classes) (*Drawing, error) {
	var w workflow
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow,
			"The workflow does not have the form in which the editor saves one: %s.", err.Error())
	}
	u, err := unfold(w)
	if err != nil {
		return nil, err
	}
	c := converter{classes: classes, nodes: map[string]*savedNode{}, links: map[int64]link{}, inputs: map[string]map[string]any{}}
	for _, n := range u.flat.Nodes {
		c.nodes[n.ID.String()] = n
	}
	for _, l := range u.flat.Links {
		c.links[l.id] = l
	}
	prompt := map[string]promptNode{}
	for _, n := range u.flat.Nodes {
		if virtual(n.Type) || n.Mode == muted || n.Mode == bypassed {
			continue
		}
		made, err := c.node(n)
		if err != nil {
			return nil, err
		}
		prompt[n.ID.String()], c.inputs[n.ID.String()] = made, made.Inputs
	}
	d := newDrawing(w, u, c)
	d.Prompt, err = json.Marshal(prompt)
	return d, err
}

// virtual reports whether a node exists only in the editor.
func virtual(class string) bool {
	return slices.Contains([]string{"Note", "MarkdownNote", "Reroute", "PrimitiveNode"}, class)
}

func (c *converter) node(n *savedNode) (promptNode, error) {
	made := promptNode{Class: n.Type, Inputs: map[string]any{}}
	made.Meta.Title = n.Title
	class, ok := c.classes.Lookup(n.Type)
	switch {
	case !ok:
		err := invalid("Node %s is of class %.100q, which this installation cannot run.", n.ID, n.Type)
		if !byName(n, made.Inputs) {
			return promptNode{}, err
		}
		c.unknown = cmp.Or(c.unknown, err)
		class = unknownClass(n)
	default:
		if n.Title == "" {
			made.Meta.Title = class.DisplayName
		}
		if err := values(n, class, made.Inputs); err != nil {
			return promptNode{}, err
		}
	}
	for name, value := range n.set {
		if isWidget(class, name) {
			made.Inputs[name] = value
		}
	}
	for _, in := range n.Inputs {
		if in.Link == nil {
			continue
		}
		from, slot, ok := c.source(*in.Link, len(c.nodes))
		if ok {
			made.Inputs[in.Name] = []any{from, slot}
		} else if !isWidget(class, in.Name) {
			delete(made.Inputs, in.Name)
		}
	}
	return made, nil
}

// unknownClass returns a class with the fields that a drawing shows of a node.
func unknownClass(n *savedNode) *node.Class {
	class := &node.Class{Name: n.Type}
	for _, in := range n.Inputs {
		if in.isField() {
			class.Inputs = append(class.Inputs, node.Input{Name: in.Name, Type: node.String})
		}
	}
	return class
}

// source returns the output that a link finally reads: reroutes and bypassed nodes pass on their inputs. A link from
// a primitive or to a muted node has no source. steps bounds the nodes on the way.
func (c *converter) source(id int64, steps int) (from string, slot int, ok bool) {
	l, known := c.links[id]
	n := c.nodes[l.from]
	if !known || n == nil || steps < 0 {
		return "", 0, false
	}
	switch {
	case n.Type == "Reroute":
		if len(n.Inputs) == 1 && n.Inputs[0].Link != nil {
			return c.source(*n.Inputs[0].Link, steps-1)
		}
		return "", 0, false
	case n.Mode == bypassed:
		if in := n.passes(l.slot); in != nil {
			return c.source(*in.Link, steps-1)
		}
		return "", 0, false
	case n.Mode == muted, virtual(n.Type):
		return "", 0, false
	}
	return l.from, l.slot, true
}

// passes returns the linked input that stands for an output of a bypassed node: the input at the same index if its
// type is the output's, otherwise the first input of that type.
func (n *savedNode) passes(slot int) *savedInput {
	if slot < 0 || slot >= len(n.Outputs) {
		return nil
	}
	matches := func(in savedInput) bool { return in.Link != nil && in.Type == n.Outputs[slot].Type }
	if slot < len(n.Inputs) && matches(n.Inputs[slot]) {
		return &n.Inputs[slot]
	}
	if at := slices.IndexFunc(n.Inputs, matches); at >= 0 {
		return &n.Inputs[at]
	}
	return nil
}
