package uiworkflow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// widgetTypes are the types of inputs that the editor shows as fields.
var widgetTypes = []node.Type{
	node.Int, node.Float, node.String, node.Boolean, node.Combo, node.DynamicComboType, node.Color, node.BoundingBox,
	"BOUNDING_BOXES", "COLORS", "CURVE", "COMPOSITOR", "IMAGECOMPARE", load3D, "AUDIO_RECORD", "WEBCAM",
}

// controls are the changes that the editor may make to a seed after a run. It saves the choice as a value after the
// seed's.
var controls = []string{"fixed", "increment", "decrement", "randomize"}

// load3D is the type of the field that shows a model in three dimensions. The editor saves the names of its buttons as values
// before it.
const load3D node.Type = "LOAD_3D"

var buttons = []string{"upload3dmodel", "uploadExtraResources", "clear"}

// widgets returns the inputs of a class that the editor shows as fields, in their order on the screen: required
// inputs, then optional ones. The inputs of every choice follow the input that makes the choice.
func widgets(class *node.Class) []node.Input {
	var all []node.Input
	for _, in := range fields(class) {
		all = append(all, withChoices(in)...)
	}
	return all
}

func withChoices(in node.Input) []node.Input {
	all := []node.Input{in}
	for _, choice := range choicesOf(in) {
		for _, inner := range within(in, choice) {
			all = append(all, withChoices(inner)...)
		}
	}
	return all
}

// fields returns the inputs that a class shows as fields whatever the others are.
func fields(class *node.Class) []node.Input {
	inputs := slices.Clone(class.Inputs)
	if err := remote.Resolve(inputs); err != nil {
		inputs = class.Inputs // choices that cannot be read have no fields
	}
	var all []node.Input
	for _, section := range []node.Section{node.Required, node.Optional} {
		for i, in := range inputs {
			if class.Inputs[i].Section == section && shown(in) {
				all = append(all, in)
			}
		}
	}
	if class.Remote { // their dynamic inputs are optional whatever the definition says; the inputs are in its order
		slices.SortStableFunc(all, func(a, b node.Input) int { return position(class, a.Name) - position(class, b.Name) })
	}
	return all
}

func position(class *node.Class, name string) int {
	return slices.IndexFunc(class.Inputs, func(in node.Input) bool { return in.Name == name })
}

func shown(in node.Input) bool {
	return !in.ForceInput && (slices.Contains(widgetTypes, in.Type) || strings.Contains(string(in.Type), ",") && in.Default != nil)
}

func choicesOf(in node.Input) node.Choices {
	choices, _ := in.Extra["options"].(node.Choices)
	return choices
}

// within returns the inputs of a choice that are shown as fields.
func within(in node.Input, choice node.Choice) (all []node.Input) {
	for _, inner := range choice.Inputs {
		if inner.Name = in.Name + "." + inner.Name; shown(inner) {
			all = append(all, inner)
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
	// Inputs that only a newer version of the class has are not listed and keep their defaults.
	for all := fields(class); len(all) > 0 && len(listed) > 0; {
		in := all[0]
		if in.Type == load3D && isText(listed[0], buttons...) {
			listed = listed[1:]
			continue
		}
		all, inputs[in.Name] = all[1:], listed[0]
		for _, choice := range choicesOf(in) {
			if isText(listed[0], choice.Key) {
				all = append(within(in, choice), all...)
			}
		}
		listed = listed[1:]
		if controlled(in) && len(listed) > 0 && isText(listed[0], controls...) {
			listed = listed[1:]
		}
		if in.Type == node.BoundingBox {
			listed = withoutCorners(listed)
		}
	}
	return nil
}

// withoutCorners drops the four numbers that the editor saves after a box: its corners once more.
func withoutCorners(listed []json.RawMessage) []json.RawMessage {
	for i := range min(4, len(listed)) {
		if json.Unmarshal(listed[i], new(float64)) != nil {
			return listed
		}
	}
	return listed[min(4, len(listed)):]
}

// byName sets the inputs of a node whose class is not known, from the fields that the drawing names. It returns false if
// the values do not show which field they belong to.
func byName(n *savedNode, inputs map[string]any) bool {
	raw := bytes.TrimSpace(n.Values)
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &named); named == nil { //nolint:errcheck // a list
		named = n.Named
	}
	for name, value := range named {
		inputs[name] = value
	}
	var listed []json.RawMessage
	if named != nil || len(raw) == 0 || json.Unmarshal(raw, &listed) != nil || len(listed) == 0 {
		return named != nil || len(listed) == 0
	}
	var names []string
	for _, in := range n.Inputs {
		if in.isField() {
			names = append(names, in.Name)
		}
	}
	for _, name := range names {
		if len(listed) == 0 {
			return false
		}
		inputs[name], listed = listed[0], listed[1:]
		if len(listed) > 0 && isText(listed[0], controls...) && strings.Contains(name, "seed") {
			listed = listed[1:]
		}
	}
	return len(listed) == 0
}

// controlled reports whether the editor shows a control of the next value beside an input.
func controlled(in node.Input) bool {
	var declared struct {
		Control any `json:"control_after_generate"`
	}
	if len(in.Declared) > 1 && json.Unmarshal(in.Declared[1], &declared) == nil && in.Control == nil {
		in.Control = declared.Control
	}
	name := in.Name[strings.LastIndex(in.Name, ".")+1:]
	return in.Control != nil && in.Control != false || in.Type == node.Int && (name == "seed" || name == "noise_seed")
}

// isText reports whether a value is one of the texts.
func isText(raw json.RawMessage, texts ...string) bool {
	var text string
	return json.Unmarshal(raw, &text) == nil && slices.Contains(texts, text)
}
