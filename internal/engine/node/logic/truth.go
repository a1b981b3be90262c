package logic

import (
	"context"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxConditions is the largest number of values that And and Or take.
const maxConditions = 10

// Not reports whether a value counts as false.
func Not() *node.Class {
	return &node.Class{
		Name: "ComfyNotNode", DisplayName: "Not", Category: "utilities/logic", Module: moduleLogic,
		Description: "True where the value counts as false: nothing, false, zero, an empty text, list or object.",
		Inputs:      []node.Input{{Name: "value", Type: node.Any, Tooltip: "The value."}},
		Outputs:     []node.Output{{Type: node.Boolean}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			value, given := call.Args["value"]
			if !given {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input value is missing")
			}
			holds, err := node.Truth(value)
			if err != nil {
				return node.Result{}, err
			}
			return declare.One(!holds, nil)
		},
	}
}

// And reports whether all values count as true.
func And() *node.Class {
	return conditions("ComfyAndNode", "And", "True where all values count as true.", true)
}

// Or reports whether any value counts as true.
func Or() *node.Class {
	return conditions("ComfyOrNode", "Or", "True where any of the values counts as true.", false)
}

// conditions is And if all is true, otherwise Or. Values after the one that decides the result are ignored.
func conditions(name, display, description string, all bool) *node.Class {
	group := node.Autogrow{Each: node.Input{Name: "value", Type: node.Any}, Prefix: "value", Min: 1, Max: maxConditions}
	return &node.Class{
		Name: name, DisplayName: display, Category: "utilities/logic", Module: moduleLogic, Description: description,
		Inputs: []node.Input{{
			Name: "values", Type: node.AutogrowType, Tooltip: "The values.", Extra: map[string]any{"template": group},
		}},
		Outputs: []node.Output{{Type: node.Boolean}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			for i := range maxConditions {
				value, given := call.Args[valuesPrefix+group.Prefix+strconv.Itoa(i)]
				if !given {
					continue
				}
				holds, err := node.Truth(value)
				if err != nil {
					return node.Result{}, err
				}
				if holds != all {
					return declare.One(!all, nil)
				}
			}
			return declare.One(all, nil)
		},
	}
}
