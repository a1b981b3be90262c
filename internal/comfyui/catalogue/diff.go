package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is one difference between two definitions of a class.
type Difference struct {
	What   string `json:"what"`   // "input width: max", "outputs", …
	Native string `json:"native"` // "" = not there
	Server string `json:"server"`
}

// Diff compares the definition of a native class with that of a server, as far as graphs depend on it: inputs, their
// types, bounds and choices, and outputs. It ignores display names, texts and the choice of files.
func Diff(native, server json.RawMessage) ([]Difference, error) {
	a, err := parseDefinition(native)
	if err != nil {
		return nil, fmt.Errorf("native definition: %w", err)
	}
	b, err := parseDefinition(server)
	if err != nil {
		return nil, fmt.Errorf("definition of the server: %w", err)
	}
	var found differences
	found.add("outputs", fmt.Sprint(a.Output), fmt.Sprint(b.Output))
	found.add("outputs that are lists", fmt.Sprint(a.Lists), fmt.Sprint(b.Lists))
	found.add("takes lists", fmt.Sprint(a.TakesLists), fmt.Sprint(b.TakesLists))
	found.add("is an output node", fmt.Sprint(a.OutputNode), fmt.Sprint(b.OutputNode))
	both := maps.Clone(a.inputs)
	maps.Copy(both, b.inputs)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		found.addInput("input "+name, a.inputs[name], b.inputs[name])
	}
	return found, nil
}

// definition holds the members of a class that Diff compares.
type definition struct {
	Input map[string]map[string]json.RawMessage `json:"input"`

	Output     []any  `json:"output"`
	Lists      []bool `json:"output_is_list"`
	TakesLists bool   `json:"is_input_list"`
	OutputNode bool   `json:"output_node"`

	inputs map[string]*input
}

// input is one declared input.
type input struct {
	section string
	kind    string
	choices []string
	options map[string]any
}

func parseDefinition(raw json.RawMessage) (*definition, error) {
	d := &definition{inputs: map[string]*input{}}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, err
	}
	for _, section := range []string{"required", "optional"} {
		for name, spec := range d.Input[section] {
			in, err := parseInput(section, spec)
			if err != nil {
				return nil, fmt.Errorf("input %s: %w", name, err)
			}
			d.inputs[name] = in
		}
	}
	return d, nil
}

// parseInput reads [type, {options}]. In older combos, the type is the list of choices.
func parseInput(section string, raw json.RawMessage) (*input, error) {
	var spec []json.RawMessage
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, err
	}
	in := &input{section: section, options: map[string]any{}}
	if len(spec) > 1 {
		if err := json.Unmarshal(spec[1], &in.options); err != nil {
			return nil, err
		}
	}
	if len(spec) == 0 || json.Unmarshal(spec[0], &in.kind) == nil {
		in.choices = texts(in.options["options"])
		return in, nil
	}
	var choices []any
	if err := json.Unmarshal(spec[0], &choices); err != nil {
		return nil, err
	}
	in.kind, in.choices = "COMBO", texts(choices)
	return in, nil
}

func texts(value any) []string {
	list, _ := value.([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// differences collects the differences between two definitions.
type differences []Difference

func (d *differences) add(what, native, server string) {
	if native != server {
		*d = append(*d, Difference{what, native, server})
	}
}

func (d *differences) addInput(what string, native, server *input) {
	if native == nil || server == nil {
		d.add(what, native.describe(), server.describe())
		return
	}
	d.add(what+": section", native.section, server.section)
	d.add(what+": type", native.kind, server.kind)
	for _, option := range []string{"default", "min", "max"} {
		d.add(what+": "+option, shorten(native.options[option]), shorten(server.options[option]))
	}
	if native.kind == "COMBO" && !native.ofFiles() && !server.ofFiles() {
		d.add(what+": choices", only(native.choices, server.choices), only(server.choices, native.choices))
	}
}

func (in *input) describe() string {
	if in == nil {
		return ""
	}
	return in.section + " " + in.kind
}

// ofFiles reports whether the choices are uploaded files, which differ on every server.
func (in *input) ofFiles() bool {
	for option := range in.options {
		if strings.HasSuffix(option, "_upload") {
			return true
		}
	}
	return false
}

// only returns the choices of one definition that the other does not have.
func only(one, other []string) string {
	rest := slices.DeleteFunc(slices.Clone(one), func(choice string) bool { return slices.Contains(other, choice) })
	return strings.Join(rest, ", ")
}

func shorten(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
