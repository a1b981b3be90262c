package callable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Source says where the inputs of a graph come from.
type Source string

// The sources, in the order in which Derive tries them.
const (
	FromNames    Source = "named"    // what the command names
	FromApp      Source = "app"      // App Mode of the editor
	FromSubgraph Source = "subgraph" // the inputs of the drawing's only subgraph
)

// The largest numbers of inputs and outputs of a graph.
const (
	maxInputs  = 200
	maxOutputs = 200
)

// Derived is a graph that can be called.
type Derived struct {
	Graph    json.RawMessage // in API format
	Schema   *Schema
	Source   Source
	Warnings []string // what was left out, and why
	Lacks    []string // classes of the graph that are not known; their definitions were not used
}

// Derive makes a document callable. The document is a drawing or a graph in API format. Inputs and outputs that the command names replace
// those that the drawing shows. Everything that cannot be derived is fault.Invalid with CodeInvalidWorkflow, and the message lists the
// choices.
func Derive(document []byte, limits graph.Limits, classes Classes, named Named) (*Derived, error) {
	d, err := read(document, limits, classes)
	if err != nil {
		return nil, err
	}
	inputs, outputs, source, err := d.choose(named)
	if err != nil {
		return nil, err
	}
	out := &Derived{Graph: d.drawing.Prompt, Source: source, Lacks: d.lacks()}
	s := &Schema{Inputs: []Input{}, Outputs: []Output{}}
	if s.Outputs, err = d.outputs(outputs); err != nil {
		return nil, err
	}
	if s.Inputs, err = d.inputs(inputs, source); err != nil {
		return nil, err
	}
	out.Schema, out.Warnings = s, d.warnings
	return out, nil
}

// deriver holds a document while its schema is derived.
type deriver struct {
	drawing  *uiworkflow.Drawing
	graph    *graph.Graph
	classes  Classes
	used     map[string]bool // nodes that an output node needs
	entries  map[string]int  // number of entries by the node that shows them
	warnings []string
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, format, args...)
}

func read(document []byte, limits graph.Limits, classes Classes) (*deriver, error) {
	text, err := uiworkflow.Text(document)
	if err != nil {
		return nil, err
	}
	d := &deriver{classes: classes}
	if d.drawing, err = uiworkflow.Read(text, classes); err != nil {
		return nil, err
	}
	if d.graph, err = graph.Parse(d.drawing.Prompt, limits); err != nil {
		return nil, err
	}
	d.used = d.reachable()
	return d, nil
}

func (d *deriver) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *deriver) class(n *graph.Node) (*node.Class, bool) {
	if n == nil {
		return nil, false
	}
	return d.classes.Lookup(n.Class)
}

func (d *deriver) lacks() (names []string) {
	for _, n := range d.graph.Nodes {
		if _, ok := d.class(n); !ok && !slices.Contains(names, n.Class) {
			names = append(names, n.Class)
		}
	}
	slices.Sort(names)
	return names
}

// outputNodes returns the nodes that end a run: those whose class says so, and those of unknown classes that no other node
// reads.
func (d *deriver) outputNodes() (ids []string) {
	read := map[string]bool{}
	for _, n := range d.graph.Nodes {
		for _, in := range n.Inputs {
			if id, ok := linkOf(in.Value); ok {
				read[id] = true
			}
		}
	}
	for _, n := range d.graph.Nodes {
		class, known := d.class(n)
		if known && class.OutputNode || !known && !read[n.ID] {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// linkOf returns the node that a link of a graph reads.
func linkOf(value any) (string, bool) {
	list, _ := value.([]any)
	if len(list) != 2 {
		return "", false
	}
	id, ok := list[0].(string)
	return id, ok
}

// reachable returns the nodes that the output nodes need.
func (d *deriver) reachable() map[string]bool {
	used := map[string]bool{}
	for open := d.outputNodes(); len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		n, ok := d.graph.Node(id)
		if used[id] || !ok {
			continue
		}
		used[id] = true
		for _, in := range n.Inputs {
			if from, ok := linkOf(in.Value); ok {
				open = append(open, from)
			}
		}
	}
	return used
}

// entry is an input or output before it has a name.
type entry struct {
	name string // given by the command; "" = found by name
	at   uiworkflow.AppInput

	label string // by which the drawing calls it; "" = by its field
}

func (e entry) String() string {
	if e.at.Widget == "" {
		return e.at.Node
	}
	return e.at.Node + "." + e.at.Widget
}

// choose returns the entries of the inputs and outputs, and where the inputs come from.
func (d *deriver) choose(named Named) (inputs, outputs []entry, source Source, err error) {
	if inputs, outputs, err = named.entries(); err != nil {
		return nil, nil, "", err
	}
	app := d.drawing.App
	switch {
	case len(inputs) > 0:
		source = FromNames
	case len(app.Inputs) > 0:
		source = FromApp
		for _, at := range app.Inputs {
			inputs = append(inputs, entry{at: at})
		}
	default:
		for _, shown := range d.drawing.Alone() {
			inputs = append(inputs, entry{at: shown.AppInput, label: shown.Label})
		}
		source = FromSubgraph
	}
	if len(outputs) == 0 && len(app.Inputs) > 0 {
		for _, id := range app.Outputs {
			outputs = append(outputs, entry{at: uiworkflow.AppInput{Node: id}})
		}
	}
	switch {
	case len(inputs) == 0 && len(named.Outputs) > 0:
		source = FromNames // the command names a graph without inputs
	case len(inputs) == 0:
		return nil, nil, "", invalid("The drawing shows no inputs: it has neither inputs of App Mode nor exactly one subgraph. Name them, "+
			"for instance --input %s; there are: %s.", d.example(), d.choices())
	case len(inputs) > maxInputs:
		return nil, nil, "", invalid("There are %d inputs; at most %d are allowed.", len(inputs), maxInputs)
	}
	if len(outputs) > maxOutputs {
		return nil, nil, "", invalid("There are %d outputs; at most %d are allowed.", len(outputs), maxOutputs)
	}
	return inputs, outputs, source, nil
}

// Candidate is a field of a graph that can become an input, or a node that can become an output.
type Candidate struct {
	Node  string          `json:"node"`
	Input string          `json:"input,omitempty"` // "" = an output
	Title string          `json:"title"`           // of the node
	Kind  Kind            `json:"kind"`
	Value json.RawMessage `json:"value,omitempty"` // that the graph has
}

// Candidates returns what can become inputs and outputs of a document, in the order of the graph.
func Candidates(document []byte, limits graph.Limits, classes Classes) (inputs, outputs []Candidate, err error) {
	d, err := read(document, limits, classes)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range d.outputNodes() {
		outputs = append(outputs, Candidate{Node: id, Title: d.titleOf(id), Kind: d.outputKind(id)})
	}
	return d.candidates(), outputs, nil
}

func (d *deriver) candidates() (all []Candidate) {
	for _, n := range d.graph.Nodes {
		if !d.used[n.ID] {
			continue
		}
		for _, in := range n.Inputs {
			if _, link := in.Value.([]any); link {
				continue
			}
			made, err := d.input(field{node: n.ID, input: in.Name})
			if err == nil {
				all = append(all, Candidate{n.ID, in.Name, d.titleOf(n.ID), made.Kind, made.Default})
			}
		}
	}
	return all
}

// choices lists the candidates, in a document with many only the first.
func (d *deriver) choices() string {
	var texts []string
	for _, c := range d.candidates() {
		texts = append(texts, fmt.Sprintf("%s.%s (%s)", c.Node, c.Input, c.Title))
	}
	if texts == nil {
		return "none, because no node has a value that could be given"
	}
	return listed(texts)
}

// example returns what a command could name: a text if there is one.
func (d *deriver) example() string {
	all := d.candidates()
	if len(all) == 0 {
		return "prompt=6.text"
	}
	at := max(0, slices.IndexFunc(all, func(c Candidate) bool { return c.Kind == Text }))
	return fold(all[at].Input) + "=" + all[at].Node + "." + all[at].Input
}

// field is an input of a node of the graph.
type field struct {
	node, input string
	labels      []string
	title       string // that the author gave the node that shows the field
	of          string // the id of that node
	fed         bool
}

// fields returns the inputs of nodes that an entry sets.
func (d *deriver) fields(e entry) (found []field) {
	for _, f := range d.drawing.Fields(e.at) {
		found = append(found, field{f.Node, f.Input, f.Labels, f.Title, f.Of, f.Fed})
	}
	n, ok := d.graph.Node(e.at.Node)
	if found != nil || !ok {
		return found
	}
	value, given := n.Input(e.at.Widget)
	if !given && !d.declares(n, e.at.Widget) {
		return nil
	}
	_, fed := value.([]any)
	return []field{{node: n.ID, input: e.at.Widget, title: n.Title, of: n.ID, fed: fed}}
}

// declares reports whether the class of a node has an input of that name which takes a value.
func (d *deriver) declares(n *graph.Node, name string) bool {
	class, ok := d.class(n)
	if !ok {
		return false
	}
	in, ok := class.Input(name)
	_, err := kindOf(class, in, nil)
	return ok && err == nil
}

// titleOf returns the title of a node: the one that its author gave it, or that of its class.
func (d *deriver) titleOf(id string) string {
	if title := d.drawing.Title(id); title != "" {
		return title
	}
	n, ok := d.graph.Node(id)
	if !ok {
		return ""
	}
	if n.Title != "" {
		return n.Title
	}
	if class, ok := d.class(n); ok && class.DisplayName != "" {
		return class.DisplayName
	}
	return n.Class
}

// inputs makes the inputs of the entries. An entry of a drawing that cannot be an input is left out with a warning; one
// that the command names is an error.
func (d *deriver) inputs(entries []entry, source Source) ([]Input, error) {
	var made []Input
	var names []naming
	taken := map[Target]string{}
	d.entries = map[string]int{}
	for _, e := range entries {
		if found := d.fields(e); len(found) > 0 {
			d.entries[found[0].of]++
		}
	}
	for _, e := range entries {
		in, n, reason := d.make(e, taken)
		switch {
		case reason == "":
			made, names = append(made, in), append(names, n)
		case source == FromNames:
			return nil, invalid("Input %s: %s; there are: %s.", e, reason, d.choices())
		default:
			d.warn("Input %s is left out: %s.", e, reason)
		}
	}
	if err := resolve(names, "--input"); err != nil {
		return nil, err
	}
	for i := range made {
		made[i].Name = names[i].name
	}
	if made == nil && source != FromNames {
		return nil, invalid("None of the inputs that the drawing shows is there: %s Name inputs, for instance --input %s; there are: %s.",
			strings.Join(d.warnings, " "), d.example(), d.choices())
	}
	return made, nil
}

// make returns the input of an entry and its possible names, or the reason why it cannot be one.
func (d *deriver) make(e entry, taken map[Target]string) (Input, naming, string) {
	found := d.fields(e)
	if len(found) == 0 {
		return Input{}, naming{}, d.absent(e)
	}
	var in Input
	unused := true
	for i, f := range found {
		if f.fed {
			return in, naming{}, "the output of another node is its value"
		}
		target := Target{f.node, f.input}
		if other, twice := taken[target]; twice {
			return in, naming{}, "it sets the same value as " + other
		}
		one, err := d.input(f)
		if err != nil {
			return in, naming{}, err.Error()
		}
		if i == 0 {
			in = one
		} else {
			in = in.narrowed(one)
		}
		unused = unused && !d.used[f.node]
	}
	if unused {
		return in, naming{}, "no output depends on it"
	}
	for _, f := range found {
		target := Target{f.node, f.input}
		taken[target] = e.String()
		in.Targets = append(in.Targets, target)
	}
	n := d.naming(e, found[0])
	in.Title = n.title()
	return in, n, ""
}

// absent returns why an entry has no field.
func (d *deriver) absent(e entry) string {
	nodes := d.drawing.Nodes(e.at.Node)
	if _, ok := d.graph.Node(e.at.Node); ok || len(nodes) > 0 {
		return fmt.Sprintf("node %s has no field %q that takes a value", clipped(e.at.Node), clipped(e.at.Widget))
	}
	return fmt.Sprintf("the drawing has no node %s that runs", clipped(e.at.Node))
}

// saves reports whether a node saves files under a name, instead of showing something.
func (d *deriver) saves(id string) bool {
	n, _ := d.graph.Node(id)
	_, named := n.Input("filename_prefix")
	return named
}

// outputs makes the outputs of the entries. If there is no entry, they are the nodes that save files, or else those that
// show something.
func (d *deriver) outputs(entries []entry) ([]Output, error) {
	all := d.outputNodes()
	if len(all) == 0 {
		return nil, invalid("The graph has no output: no node saves or shows anything.")
	}
	var made []Output
	var names []naming
	for _, e := range entries {
		nodes := d.drawing.Nodes(e.at.Node)
		if _, ok := d.graph.Node(e.at.Node); ok && len(nodes) == 0 {
			nodes = []string{e.at.Node}
		}
		switch {
		case len(nodes) == 0 && e.name != "", len(nodes) > 1:
			return nil, invalid("Output %s: %s.", e, "it is not one node of the drawing")
		case len(nodes) == 0:
			d.warn("Output %s is left out: the drawing has no node %s that runs.", e, clipped(e.at.Node))
		case !slices.Contains(all, nodes[0]):
			d.warn("Output %s is left out: the node neither saves nor shows anything.", e)
		case !slices.ContainsFunc(made, func(o Output) bool { return o.Node == nodes[0] }):
			made, names = append(made, Output{Node: nodes[0]}), append(names, d.outputNaming(e, nodes[0]))
		}
	}
	if made == nil {
		if savers := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !d.saves(id) }); len(savers) > 0 {
			all = savers
		}
		for _, id := range all[:min(len(all), maxOutputs)] {
			made = append(made, Output{Node: id})
			names = append(names, d.outputNaming(entry{at: uiworkflow.AppInput{Node: id}}, id))
		}
	}
	if err := resolve(names, "--output"); err != nil {
		return nil, err
	}
	for i := range made {
		made[i].Name, made[i].Title, made[i].Kind = names[i].name, names[i].title(), d.outputKind(made[i].Node)
	}
	return made, nil
}
