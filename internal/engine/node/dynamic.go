package node

import (
	"encoding/json"
	"slices"
	"strconv"
)

// AutogrowType is the type of an input that stands for a variable number of inputs. A prompt names each of them
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

// MarshalJSON implements json.Marshaler. It returns the template in a definition.
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

// DynamicComboType is the type of an input that chooses one of several sets of inputs. A prompt gives the choice
// under the name of the input, and each input of the chosen set as "<input>.<name>".
const DynamicComboType Type = "COMFY_DYNAMICCOMBO_V3"

// optionsKey is the option of a DynamicComboType input that holds its Choices.
const optionsKey = "options"

// Choices are the choices of an input of DynamicComboType. They belong under "options" in Input.Extra.
type Choices []Choice

// Choice is a choice and the inputs that a node has if it makes this choice.
type Choice struct {
	Key    string
	Inputs []Input
}

// MarshalJSON implements json.Marshaler. It returns the choice in a definition.
func (c Choice) MarshalJSON() ([]byte, error) {
	var s Sections
	for _, in := range c.Inputs {
		defined := Defined{in.Name, in.Spec(in.Options, true)}
		if in.Section == Optional {
			s.Optional = append(s.Optional, defined)
		} else {
			s.Required = append(s.Required, defined)
		}
	}
	return Object{{"key", c.Key}, {"inputs", s}}.MarshalJSON()
}

// of returns the inputs of a choice.
func (c Choices) of(key any) ([]Input, bool) {
	for _, choice := range c {
		if choice.Key == key {
			return choice.Inputs, true
		}
	}
	return nil, false
}

// Declared returns the inputs of the class for a node; given returns the value that the node gives to an input. An
// input of AutogrowType is replaced by its required and given inputs, in order. An input of DynamicComboType counts
// if the node makes one of its choices; the inputs of that choice follow it.
func (c *Class) Declared(given func(name string) (any, bool)) []Input {
	if !slices.ContainsFunc(c.Inputs, Input.dynamic) {
		return c.Inputs
	}
	var inputs []Input
	for _, in := range c.Inputs {
		inputs = in.appendTo(inputs, given)
	}
	return inputs
}

func (in Input) dynamic() bool { return in.Type == AutogrowType || in.Type == DynamicComboType }

// appendTo appends the input, or the inputs that it stands for.
func (in Input) appendTo(inputs []Input, given func(name string) (any, bool)) []Input {
	if a, ok := in.autogrow(); ok {
		for i, name := range a.names() {
			each := a.Each
			each.Name = in.Name + "." + name
			if each.Section = Optional; i < a.Min {
				each.Section = Required
			}
			if _, is := given(each.Name); is || i < a.Min {
				inputs = append(inputs, each)
			}
		}
		return inputs
	}
	if in.Type != DynamicComboType {
		return append(inputs, in)
	}
	choices, _ := in.Extra[optionsKey].(Choices)
	key, _ := given(in.Name)
	chosen, ok := choices.of(key)
	if !ok {
		return inputs
	}
	inputs = append(inputs, in)
	for _, each := range chosen {
		each.Name = in.Name + "." + each.Name
		inputs = each.appendTo(inputs, given)
	}
	return inputs
}
