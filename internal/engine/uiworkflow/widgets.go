package uiworkflow

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// widgetTypes are the types of inputs that the editor shows as fields.
var widgetTypes = []node.Type{node.Int, node.Float, node.String, node.Boolean, node.Combo}

// controls are the changes that the editor may make to a seed after a run. It saves the choice as a value after the
// seed's.
var controls = []string{"fixed", "increment", "decrement", "randomize"}

// widgets returns the inputs of a class that the editor shows as fields, in their order on the screen: required
// inputs, then optional ones.
func widgets(class *node.Class) []node.Input {
	var all []node.Input
	for _, section := range []node.Section{node.Required, node.Optional} {
		for _, in := range class.Inputs {
			if in.Section == section && !in.ForceInput && slices.Contains(widgetTypes, in.Type) {
				all = append(all, in)
			}
		}
	}
	return all
}

func isWidget(class *node.Class, name string) bool {
	return slices.ContainsFunc(widgets(class), func(in node.Input) bool { return in.Name == name })
}

// values sets the inputs whose values the widgets of a node hold. Some nodes save these values by name, most in
// order.
func values(n *savedNode, class *node.Class, inputs map[string]any) error {
	raw, named := bytes.TrimSpace(n.Values), n.Named
	if isObject(raw) {
		if err := json.Unmarshal(raw, &named); err != nil {
			return invalid("Node %s: its values cannot be read.", n.ID)
		}
	}
	if len(named) > 0 {
		for _, in := range widgets(class) {
			if value, ok := named[in.Name]; ok {
				inputs[in.Name] = value
			}
		}
		return nil
	}
	if len(raw) == 0 || string(raw) == "null" || isObject(raw) {
		return nil
	}
	var listed []json.RawMessage
	if err := json.Unmarshal(raw, &listed); err != nil {
		return invalid("Node %s: its values cannot be read.", n.ID)
	}
	all := widgets(class)
	for _, in := range all {
		if len(listed) == 0 {
			return nil // inputs that only a newer version of the class has keep their defaults
		}
		inputs[in.Name] = listed[0]
		listed = listed[1:]
		if controlled(in) && len(listed) > 0 && isControl(listed[0]) {
			listed = listed[1:]
		}
	}
	return nil
}

// controlled reports whether the editor shows a control of the next value beside an input.
func controlled(in node.Input) bool {
	return in.Control != nil && in.Control != false || in.Type == node.Int && (in.Name == "seed" || in.Name == "noise_seed")
}

func isControl(raw json.RawMessage) bool {
	var text string
	return json.Unmarshal(raw, &text) == nil && slices.Contains(controls, text)
}
