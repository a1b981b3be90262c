package remote

import (
	"encoding/json"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// Resolve gives the dynamic inputs of a class the choices and inputs that their definitions declare, so that this
// process can check and run the class. Where a server runs a class, the server checks them.
func Resolve(inputs []node.Input) error {
	for i := range inputs {
		if err := resolve(&inputs[i]); err != nil {
			return fmt.Errorf("input %s: %w", inputs[i].Name, err)
		}
	}
	return nil
}

func resolve(in *node.Input) error {
	spec := in.Declared
	if len(spec) < 2 {
		return nil
	}
	if in.Type == node.DynamicComboType {
		choices, err := choicesOf(spec[1])
		in.Section, in.Extra = node.Required, map[string]any{"options": choices}
		return err
	}
	if in.Type == node.AutogrowType {
		grow, err := autogrowOf(spec[1])
		in.Section, in.Extra = node.Required, map[string]any{"template": grow}
		return err
	}
	return nil
}

// choicesOf reads the choices of an input of DynamicComboType.
func choicesOf(raw json.RawMessage) (node.Choices, error) {
	var declared struct {
		Options []struct {
			Key    string          `json:"key"`
			Inputs json.RawMessage `json:"inputs"`
		} `json:"options"`
	}
	if err := json.Unmarshal(raw, &declared); err != nil {
		return nil, err
	}
	choices := make(node.Choices, len(declared.Options))
	for i, o := range declared.Options {
		inputs, err := inputsOf(o.Inputs)
		if err != nil {
			return nil, fmt.Errorf("choice %s: %w", o.Key, err)
		}
		choices[i] = node.Choice{Key: o.Key, Inputs: inputs}
	}
	return choices, nil
}

// autogrowOf reads the inputs that an input of AutogrowType stands for.
func autogrowOf(raw json.RawMessage) (node.Autogrow, error) {
	var declared struct {
		Template struct {
			Input  json.RawMessage `json:"input"`
			Names  []string        `json:"names"`
			Prefix string          `json:"prefix"`
			Min    int             `json:"min"`
			Max    int             `json:"max"`
		} `json:"template"`
	}
	if err := json.Unmarshal(raw, &declared); err != nil {
		return node.Autogrow{}, err
	}
	t := declared.Template
	inputs, err := inputsOf(t.Input)
	if err == nil && len(inputs) != 1 {
		err = fmt.Errorf("the template must have one input, not %d", len(inputs))
	}
	if err != nil {
		return node.Autogrow{}, err
	}
	return node.Autogrow{Each: inputs[0], Names: t.Names, Prefix: t.Prefix, Min: t.Min, Max: t.Max}, nil
}

// inputsOf reads the required and optional inputs of a part of a definition.
func inputsOf(raw json.RawMessage) ([]node.Input, error) {
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sections); err != nil {
		return nil, err
	}
	var inputs []node.Input
	for _, section := range []node.Section{node.Required, node.Optional} {
		members, err := ordered.Members(sections[map[node.Section]string{node.Required: "required", node.Optional: "optional"}[section]])
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			in := parseInput(m, section)
			if err := resolve(&in.Input); err != nil {
				return nil, err
			}
			inputs = append(inputs, in.Input)
		}
	}
	return inputs, nil
}
