package node

import (
	"encoding/json"
	"slices"
	"strconv"
)

// AutogrowType is the type of an input that stands for a variable number of inputs. In a prompt each of them is named
// "<input>.<name>".
const AutogrowType Type = "COMFY_AUTOGROW_V3"

// templateKey is the option of an AutogrowType input that holds its Autogrow.
const templateKey = "template"

// Autogrow declares the inputs that an input of AutogrowType stands for. It belongs under "template" in Input.Extra.
type Autogrow struct {
	Each   Input    // declaration of each of the inputs; its name appears in the definition only
	Names  []string // names of the inputs in order; nil = Prefix followed by a number from 0
	Prefix string
	Min    int // number of required inputs
	Max    int // highest number of inputs, if they are numbered
}

// MarshalJSON implements json.Marshaler: the template in a definition.
func (a Autogrow) MarshalJSON() ([]byte, error) {
	section := "required"
	if a.Each.Section == Optional {
		section = "optional"
	}
	template := map[string]any{
		"input": map[string]any{section: map[string]any{a.Each.Name: a.Each.Spec(a.Each.Options, true)}},
		"min":   a.Min,
	}
	if a.Names != nil {
		template["names"] = a.Names
	} else {
		template["prefix"], template["max"] = a.Prefix, a.Max
	}
	return json.Marshal(template)
}

// names returns the possible names of the inputs, in order.
func (a Autogrow) names() []string {
	if a.Names != nil {
		return a.Names
	}
	names := make([]string, a.Max)
	for i := range names {
		names[i] = a.Prefix + strconv.Itoa(i)
	}
	return names
}

func (in Input) autogrow() (Autogrow, bool) {
	if in.Type != AutogrowType {
		return Autogrow{}, false
	}
	a, ok := in.Extra[templateKey].(Autogrow)
	return a, ok
}

// Declared returns the inputs of the class for a node; given reports whether the node gives a value to an input. An
// input of AutogrowType is replaced by its required and given inputs, in order.
func (c *Class) Declared(given func(name string) bool) []Input {
	dynamic := func(in Input) bool { return in.Type == AutogrowType }
	if !slices.ContainsFunc(c.Inputs, dynamic) {
		return c.Inputs
	}
	var inputs []Input
	for _, in := range c.Inputs {
		a, ok := in.autogrow()
		if !ok {
			inputs = append(inputs, in)
			continue
		}
		for i, name := range a.names() {
			each := a.Each
			each.Name = in.Name + "." + name
			if each.Section = Optional; i < a.Min {
				each.Section = Required
			}
			if i < a.Min || given(each.Name) {
				inputs = append(inputs, each)
			}
		}
	}
	return inputs
}
