package node

import (
	"encoding/json"
	"slices"
	"strconv"
)

// AutogrowType is the type of an input that stands for several: the prompt gives each of them as
// "<input>.<name>" (node graph semantics, section 2).
const AutogrowType Type = "COMFY_AUTOGROW_V3"

// templateKey is the option of an AutogrowType input that holds its Autogrow.
const templateKey = "template"

// Autogrow declares which inputs an input of AutogrowType stands for. Put it under "template" of Input.Extra.
type Autogrow struct {
	Each   Input    // what every one of them is; its name is shown in the definition only
	Names  []string // of the inputs in order; nil = Prefix with a number from 0
	Prefix string
	Min    int // so many of them are required
	Max    int // how many there can be, if they are numbered
}

// MarshalJSON implements json.Marshaler: the template as definitions show it.
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

// names returns the names that the inputs can have, in order.
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

// Declared returns the inputs of the class for a node that gives the inputs of which given is true:
// an input that stands for several is replaced by those, in order, that are required or given.
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
