package classes

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// mostListed is how many values CreateList takes.
const mostListed = 10

// Lists are the classes of lists.
func Lists() []*node.Class {
	return []*node.Class{{
		Name: "CreateList", DisplayName: "Create List", Category: "utilities", Module: "comfy_extras.nodes_toolkit", InputIsList: true,
		Inputs: []node.Input{{
			Name: "inputs", Type: node.AutogrowType,
			Extra: map[string]any{"template": node.Autogrow{Each: node.Input{Name: "input", Type: node.Any}, Prefix: "input", Min: 1, Max: mostListed}},
		}},
		Outputs: []node.Output{{Type: node.Any, Name: "list", IsList: true}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			all := node.List{}
			for i := range mostListed {
				all = append(all, call.Lists[fmt.Sprintf("inputs.input%d", i)]...)
			}
			return node.Result{Outputs: []node.Value{all}}, nil
		},
	}}
}
