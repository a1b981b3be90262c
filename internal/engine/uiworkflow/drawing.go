package uiworkflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Drawing is a workflow as the editor saves it: its prompt, and the fields of the prompt by the names that the drawing
// gives them.
type Drawing struct {
	Prompt json.RawMessage
	App    App

	id string // of the graph
	c  converter
	u  *unfolder
	// readers are the inputs that read an output, by the id of the output's node in the unfolded workflow
	readers map[string][]reader
	byID    map[string][]string // ids in the unfolded workflow by the id within their own graph
}

// App is what the author chose in the editor's App Mode.
type App struct {
	Inputs  []AppInput
	Outputs []string // ids of nodes
}

// AppInput names a field: a widget of a node. The node is an id, the path of ids to a node of a subgraph, or
// GRAPH:NODE:WIDGET.
type AppInput struct{ Node, Widget string }

// UnmarshalJSON implements json.Unmarshaler. It reads what it understands and leaves out anything else.
func (a *App) UnmarshalJSON(raw []byte) error {
	var saved struct {
		Inputs  []json.RawMessage `json:"inputs"`
		Outputs []json.RawMessage `json:"outputs"`
	}
	if json.Unmarshal(raw, &saved) != nil {
		return nil //nolint:nilerr // a drawing without choices
	}
	for _, entry := range saved.Inputs {
		var parts []json.RawMessage
		if json.Unmarshal(entry, &parts) == nil && len(parts) >= 2 {
			a.Inputs = append(a.Inputs, AppInput{Node: idOf(parts[0]), Widget: idOf(parts[1])})
		}
	}
	for _, entry := range saved.Outputs {
		a.Outputs = append(a.Outputs, idOf(entry))
	}
	return nil
}

// idOf returns an id, which the editor writes as a number or a text.
func idOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(raw))
}

// Field is an input of a node of the prompt that the drawing shows as a field.
type Field struct {
	Node, Input string   // in the prompt
	Labels      []string // names that the author gave the input, or the inputs of subgraphs through which it is set
	Title       string   // that the author gave the node that shows the field; "" = none
	Of          string   // the id of that node
	Fed         bool     // the output of another node is its value
}

// reader is an input of a node that reads an output.
type reader struct {
	node, input string
	slot        int // of the output
}

func newDrawing(w workflow, u *unfolder, c converter) *Drawing {
	d := &Drawing{id: w.ID, c: c, u: u, readers: map[string][]reader{}, byID: map[string][]string{}}
	if len(w.Extra.App) > 0 {
		_ = d.App.UnmarshalJSON(w.Extra.App) // it never fails
	}
	for _, n := range u.flat.Nodes {
		id := n.ID.String()
		for _, in := range n.Inputs {
			if in.Link != nil {
				l := c.links[*in.Link]
				d.readers[l.from] = append(d.readers[l.from], reader{id, in.Name, l.slot})
			}
		}
		d.byID[last(id)] = append(d.byID[last(id)], id)
	}
	for id := range u.hosts {
		d.byID[last(id)] = append(d.byID[last(id)], id)
	}
	return d
}

func last(path string) string { return path[strings.LastIndex(path, ":")+1:] }

// Nodes returns the nodes of the prompt that a node of the drawing stands for. A node of a subgraph that is used more
// than once stands for several.
func (d *Drawing) Nodes(id string) []string {
	return slices.DeleteFunc(d.find(id, ""), func(id string) bool { return d.c.inputs[id] == nil })
}

// find returns the ids in the unfolded workflow of the nodes that an id names.
func (d *Drawing) find(id, widget string) []string {
	if _, host := d.u.hosts[id]; host || d.c.nodes[id] != nil {
		return []string{id}
	}
	parts := strings.Split(id, ":")
	if widget != "" && len(parts) > 2 && strings.HasSuffix(id, ":"+widget) {
		return d.find(strings.TrimSuffix(id, ":"+widget), "")
	}
	switch {
	case len(parts) == 1:
		found := slices.Clone(d.byID[id])
		slices.Sort(found)
		return found
	case parts[0] == d.id:
		return d.find(strings.Join(parts[1:], ":"), "")
	case d.u.definitions[parts[0]] != nil:
		var found []string
		for path, h := range d.u.hosts {
			inner := path + ":" + strings.Join(parts[1:], ":")
			if _, nested := d.u.hosts[inner]; h.within.ID == parts[0] && (nested || d.c.nodes[inner] != nil) {
				found = append(found, inner)
			}
		}
		slices.Sort(found)
		return found
	}
	return nil
}

// Fields returns the inputs of the prompt that a field of the drawing sets. It returns none if the drawing has no such
// field.
func (d *Drawing) Fields(at AppInput) []Field {
	var fields []Field
	for _, id := range d.find(at.Node, at.Widget) {
		fields = append(fields, d.fields(id, at.Widget, maxNesting)...)
	}
	return fields
}

func (d *Drawing) fields(id, widget string, depth int) []Field {
	h, isHost := d.u.hosts[id]
	n := d.c.nodes[id]
	if isHost && depth > 0 {
		return d.hostFields(id, h, widget, depth-1)
	}
	switch {
	case n == nil:
		return nil
	case n.Type == "PrimitiveNode":
		fields := d.read(id, 0, depth-1)
		for i := range fields {
			fields[i].Title, fields[i].Of, fields[i].Labels = n.Title, id, append(d.labels(id, widget), fields[i].Labels...)
		}
		return fields
	}
	inputs := d.c.inputs[id]
	if class, ok := d.c.classes.Lookup(n.Type); inputs == nil || ok && !isWidget(class, widget) {
		return nil
	}
	value, given := inputs[widget]
	_, fed := value.([]any)
	if _, known := d.c.classes.Lookup(n.Type); !known && !given {
		return nil
	}
	return []Field{{Node: id, Input: widget, Labels: d.labels(id, widget), Title: d.title(n), Of: id, Fed: fed}}
}

// hostFields returns the fields that a field of the node of a subgraph sets.
func (d *Drawing) hostFields(id string, h host, widget string, depth int) []Field {
	if slot := h.within.slot(h.savedNode, widget); slot >= 0 {
		fields := d.read(inletOf(id+":", slot), 0, depth)
		for i := range fields {
			fields[i].Labels = append(d.labels(id, widget), fields[i].Labels...)
		}
		return fields
	}
	for _, proxy := range h.Properties.Proxies {
		if len(proxy) >= 2 && fmt.Sprint(proxy[1]) == widget && fmt.Sprint(proxy[0]) != "-1" {
			return d.fields(id+":"+fmt.Sprint(proxy[0]), widget, depth)
		}
	}
	return nil
}

// read returns the fields that read an output, through reroutes.
func (d *Drawing) read(id string, slot, depth int) []Field {
	var fields []Field
	if depth < 0 {
		return nil
	}
	for _, r := range d.readers[id] {
		switch n := d.c.nodes[r.node]; {
		case r.slot != slot:
		case n.Type == "Reroute":
			fields = append(fields, d.read(r.node, 0, depth-1)...)
		default:
			fields = append(fields, d.fields(r.node, r.input, depth-1)...)
		}
	}
	return fields
}

// labels returns the names that an author gave an input: on its node, then on the inputs of the subgraphs around it
// through which it is set.
func (d *Drawing) labels(id, name string) (labels []string) {
	for range maxNesting {
		n := d.c.nodes[id]
		if h, ok := d.u.hosts[id]; ok {
			n = h.savedNode
			if slot := h.within.slot(n, name); slot >= 0 && slot < len(h.within.Inputs) {
				labels = append(labels, h.within.Inputs[slot].Label)
			}
		}
		if n == nil {
			break
		}
		at := slices.IndexFunc(n.Inputs, func(in savedInput) bool { return in.Name == name })
		if at < 0 {
			break
		}
		labels = append(labels, n.Inputs[at].Label)
		if n.Inputs[at].Link == nil {
			break
		}
		path, slot, within := strings.Cut(d.c.links[*n.Inputs[at].Link].from, ":in ")
		h, known := d.u.hosts[path]
		if !within || !known {
			break
		}
		if id, name = path, h.inputAt(slot); name == "" {
			break
		}
	}
	return slices.DeleteFunc(labels, func(label string) bool { return label == "" })
}

// inputAt returns the name of the input of a subgraph at a slot.
func (h host) inputAt(slot string) string {
	for _, in := range h.Inputs {
		if fmt.Sprint(h.within.slot(h.savedNode, in.Name)) == slot {
			return in.Name
		}
	}
	var at int
	if _, err := fmt.Sscan(slot, &at); err == nil && at >= 0 && at < len(h.within.Inputs) {
		return h.within.Inputs[at].Name
	}
	return ""
}

// title returns the title that an author gave a node. Older versions of the editor save the name of the class as a title.
func (d *Drawing) title(n *savedNode) string {
	if class, ok := d.c.classes.Lookup(n.Type); n.Title == n.Type || ok && n.Title == class.DisplayName {
		return ""
	}
	return n.Title
}

// Shown is a field that a drawing shows as an input of the whole graph.
type Shown struct {
	AppInput
	Label string // the name of the subgraph's input; "" = the field has no other name than its own
}

// Alone returns the fields of the only subgraph of the drawing, in the order of its inputs; and in place of an input that
// another node sets, the field of that node, if it only holds a value such as the name of a picture. It returns nothing if
// there is not exactly one subgraph in the outermost graph.
func (d *Drawing) Alone() []Shown {
	var id string
	for path := range d.u.hosts {
		if !strings.Contains(path, ":") {
			if id != "" {
				return nil
			}
			id = path
		}
	}
	h, ok := d.u.hosts[id]
	if !ok {
		return nil
	}
	var inputs []Shown
	add := func(in Shown) {
		if len(d.Fields(in.AppInput)) > 0 && !slices.ContainsFunc(inputs, func(o Shown) bool { return d.same(o.AppInput, in.AppInput) }) {
			inputs = append(inputs, in)
		}
	}
	for _, name := range h.names() {
		in := slices.IndexFunc(h.Inputs, func(in savedInput) bool { return in.Name == name })
		if in < 0 || h.Inputs[in].Link == nil {
			add(Shown{AppInput: AppInput{id, name}})
		} else if at, ok := d.holder(*h.Inputs[in].Link); ok {
			labels := append(d.labels(id, name), name)
			add(Shown{at, labels[0]})
		}
	}
	for _, proxy := range h.Properties.Proxies {
		if len(proxy) >= 2 && fmt.Sprint(proxy[0]) != "-1" {
			add(Shown{AppInput: AppInput{id + ":" + fmt.Sprint(proxy[0]), fmt.Sprint(proxy[1])}})
		}
	}
	return inputs
}

// same reports whether two fields of the drawing set the same input.
func (d *Drawing) same(a, b AppInput) bool {
	for _, f := range d.Fields(a) {
		if slices.ContainsFunc(d.Fields(b), func(g Field) bool { return f.Node == g.Node && f.Input == g.Input }) {
			return true
		}
	}
	return false
}

// names returns the names of a subgraph's inputs.
func (h host) names() (names []string) {
	for _, in := range h.within.Inputs {
		names = append(names, in.Name)
	}
	if names == nil {
		for _, in := range h.Inputs {
			names = append(names, in.Name)
		}
	}
	return names
}

// holder returns the field of the node at the other end of a link, if the node only holds a value: it reads no other
// node, and has one field or one that chooses a file.
func (d *Drawing) holder(link int64) (AppInput, bool) {
	l := d.c.links[link]
	n := d.c.nodes[l.from]
	if n == nil {
		return AppInput{}, false
	}
	if n.Type == "PrimitiveNode" {
		return AppInput{l.from, "value"}, true
	}
	class, ok := d.c.classes.Lookup(n.Type)
	if !ok || slices.ContainsFunc(n.Inputs, func(in savedInput) bool { return in.Link != nil }) {
		return AppInput{}, false
	}
	all := fields(class)
	for _, in := range all {
		if in.Folder != "" || len(all) == 1 {
			return AppInput{l.from, in.Name}, true
		}
	}
	return AppInput{}, false
}

// Title returns the title that the author gave a node of the prompt, or "".
func (d *Drawing) Title(id string) string {
	if n := d.c.nodes[id]; n != nil {
		return d.title(n)
	}
	return ""
}
