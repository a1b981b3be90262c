package callable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/fault"
)

var errNoValue = errors.New("it takes the output of another node")

// definition holds what an input's definition says besides the fields of node.Input.
type definition struct {
	Step      json.Number `json:"step"`
	Tooltip   string      `json:"tooltip"`
	Display   string      `json:"display_name"`
	Multiline bool        `json:"multiline"`
	Many      bool        `json:"multiselect"`
}

func definitionOf(in node.Input) (d definition) {
	d = definition{Tooltip: in.Tooltip, Display: in.DisplayName, Multiline: in.Multiline, Step: numberOf(in.Step)}
	if len(in.Declared) > 1 {
		_ = json.Unmarshal(in.Declared[1], &d) // a definition may hold anything
	}
	return d
}

// input returns the input that a field would be, without its name. Its default is the value that the graph has.
func (d *deriver) input(f field) (Input, error) {
	n, ok := d.graph.Node(f.node)
	if !ok {
		return Input{}, errors.New("its node does not run")
	}
	value, given := n.Input(f.input)
	class, known := d.class(n)
	if !known {
		return withDefault(Input{Kind: kindOfValue(value)}.bounded(), value, given), nil
	}
	declared, ok := d.declared(n, class, f.input)
	if !ok {
		return Input{}, fmt.Errorf("class %s has no field %q", class.Name, clipped(f.input))
	}
	kind, err := kindOf(class, declared, value)
	if err != nil {
		return Input{}, err
	}
	about := definitionOf(declared)
	in := Input{Kind: kind, Description: fault.Shorten(about.Tooltip, maxDescription), Title: about.Display}
	switch {
	case kind == Choice:
		in.Choices = choicesOf(n, declared)
		if text, ok := value.(string); ok && !slices.Contains(in.Choices, text) {
			in.Choices = append([]string{text}, in.Choices...) // a server that has it may come
		}
	case kind == Integer || kind == Number:
		in.Minimum, in.Maximum, in.Step = numberOf(declared.Min), numberOf(declared.Max), about.Step
	case kind == Text:
		in.Multiline = about.Multiline
	case kind.IsFile():
		in.Choices = declared.Options
		return in, nil // the file of a drawing is an example that the account does not have
	}
	if !given && declared.Default != nil {
		value, given = decoded(declared.Default), true
	}
	return withDefault(in.bounded(), value, given), nil
}

// maxDescription bounds the description of an input, in bytes.
const maxDescription = 1000

// declared returns the declaration of a node's input, including an input that a selected choice adds.
func (d *deriver) declared(n *graph.Node, class *node.Class, name string) (node.Input, bool) {
	if in, ok := class.Input(name); ok && in.Section != node.Hidden {
		return in, true
	}
	resolved := node.Class{Inputs: slices.Clone(class.Inputs)}
	if remote.Resolve(resolved.Inputs) != nil {
		return node.Input{}, false
	}
	for _, in := range resolved.Declared(n.Input) {
		if in.Name == name {
			return in, true
		}
	}
	return node.Input{}, false
}

// kindOf returns the kind of an input of a class. An input that only takes links has none.
func kindOf(class *node.Class, in node.Input, value any) (Kind, error) {
	first, _, union := strings.Cut(string(in.Type), ",")
	if in.Folder != "" {
		return fileKind(class, in), nil
	}
	if union && value == nil {
		return "", errNoValue
	}
	switch node.Type(first) {
	case node.Int:
		return Integer, nil
	case node.Float:
		return Number, nil
	case node.String:
		return Text, nil
	case node.Boolean:
		return Boolean, nil
	case node.DynamicComboType:
		return Choice, nil
	case node.Combo:
		switch {
		case definitionOf(in).Many:
			return Any, nil
		case len(in.Options) == 0 && slices.Contains(class.Checked, in.Name): // only the server knows the choices, or they are no texts
			if value == nil {
				return Text, nil
			}
			return kindOfValue(value), nil
		}
		return Choice, nil
	default:
		if value != nil { // a field of a kind of its own, such as a box or a curve
			return Any, nil
		}
		return "", errNoValue
	}
}

// fileKind returns the kind of files that an input chooses.
func fileKind(class *node.Class, in node.Input) Kind {
	makes := func(types ...node.Type) bool {
		return slices.ContainsFunc(class.Outputs, func(out node.Output) bool { return slices.Contains(types, out.Type) })
	}
	switch {
	case in.Extra["audio_upload"] == true:
		return Audio
	case in.Extra["video_upload"] == true:
		return Video
	case in.Extra["image_upload"] == true && makes(node.Mask) && !makes(node.Image):
		return Mask
	case in.Extra["image_upload"] == true || makes(node.Image) && !strings.Contains(class.Name, "3D"):
		return Image
	case strings.Contains(class.Name, "3D") || strings.Contains(in.Name, "model") || strings.Contains(in.Name, "mesh"):
		return Model
	}
	return File
}

func kindOfValue(value any) Kind {
	switch v := value.(type) {
	case string:
		return Text
	case bool:
		return Boolean
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return Integer
		}
		return Number
	}
	return Any
}

// choicesOf returns the choices of an input. A choice that adds inputs is offered only if the graph already has those inputs.
func choicesOf(n *graph.Node, in node.Input) []string {
	if in.Type != node.DynamicComboType {
		return slices.Clone(in.Options)
	}
	one := []node.Input{in}
	if remote.Resolve(one) != nil {
		return nil
	}
	choices, _ := one[0].Extra["options"].(node.Choices)
	var keys []string
	for _, choice := range choices {
		lacks := func(inner node.Input) bool {
			_, given := n.Input(in.Name + "." + inner.Name)
			return inner.Section == node.Required && inner.Type != node.AutogrowType && !given
		}
		if !slices.ContainsFunc(choice.Inputs, lacks) {
			keys = append(keys, choice.Key)
		}
	}
	return keys
}

// numberOf returns a bound or step of a definition, or "".
func numberOf(value any) json.Number {
	switch v := value.(type) {
	case int:
		return json.Number(strconv.Itoa(v))
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case uint64:
		return json.Number(strconv.FormatUint(v, 10))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return ""
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		return v
	}
	return ""
}

// The bounds of numbers whose class declares none: what a graph can hold.
const (
	least     = "-9223372036854775808"
	most      = "9223372036854775807"
	leastReal = "-1.7976931348623157e+308"
	mostReal  = "1.7976931348623157e+308"
)

// bounded returns the input with bounds.
func (in Input) bounded() Input {
	switch in.Kind {
	case Integer:
		in.Minimum, in.Maximum = cmp.Or(in.Minimum, least), cmp.Or(in.Maximum, most)
	case Number:
		in.Minimum, in.Maximum = cmp.Or(in.Minimum, leastReal), cmp.Or(in.Maximum, mostReal)
	default: // other values have no bounds
	}
	return in
}

// decoded returns a value of a definition as a graph holds it.
func decoded(value any) (out any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	_ = json.Unmarshal(raw, &out)
	return out
}

// withDefault sets the default of an input if the input accepts the value; otherwise the input is required.
func withDefault(in Input, value any, given bool) Input {
	if inner, ok := value.(map[string]any); ok && in.Kind == Any && inner["__value__"] != nil {
		value = inner["__value__"]
	}
	raw, err := json.Marshal(value)
	if given && err == nil && in.check(raw) == "" {
		in.Default = raw
	}
	return in
}

// narrowed returns an input that accepts what both accept.
func (in Input) narrowed(other Input) Input {
	if in.Kind != other.Kind {
		return in
	}
	if a, ok := parseNumber(string(in.Minimum)); ok {
		if b, ok := parseNumber(string(other.Minimum)); ok && b.Cmp(a) > 0 {
			in.Minimum = other.Minimum
		}
	}
	if a, ok := parseNumber(string(in.Maximum)); ok {
		if b, ok := parseNumber(string(other.Maximum)); ok && b.Cmp(a) < 0 {
			in.Maximum = other.Maximum
		}
	}
	if in.Kind == Choice {
		in.Choices = slices.DeleteFunc(slices.Clone(in.Choices), func(choice string) bool { return !slices.Contains(other.Choices, choice) })
	}
	if in.Default != nil && in.check(in.Default) != "" {
		in.Default = nil
	}
	return in
}

// outputKind returns the kind of what an output node saves or shows, by the types of the values that it reads.
func (d *deriver) outputKind(id string) Kind {
	n, _ := d.graph.Node(id)
	class, ok := d.class(n)
	if !ok {
		return File
	}
	_, kind := shown(class)
	return kind
}

// shown returns the input whose value a node of a class saves or shows, and the kind of the value.
func shown(class *node.Class) (node.Input, Kind) {
	for _, in := range class.Inputs {
		switch {
		case in.Type == node.Video:
			return in, Video
		case in.Type == node.Image:
			return in, Image
		case in.Type == node.Mask:
			return in, Mask
		case in.Type == node.Audio:
			return in, Audio
		case strings.HasPrefix(string(in.Type), "MESH"), strings.Contains(string(in.Type), "FILE_3D"), in.Type == "VOXEL":
			return in, Model
		case in.Type == node.Any, in.Type == node.String && in.ForceInput:
			return in, Text
		}
	}
	return node.Input{}, File
}
