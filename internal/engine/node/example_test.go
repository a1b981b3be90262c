package node_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// A class is plain data and a function. It runs once for each element of a list.
func ExampleClass() {
	upper := &node.Class{
		Name: "Upper", Module: "nodes",
		Inputs:  []node.Input{{Name: "text", Type: node.String}},
		Outputs: []node.Output{{Type: node.String, Name: "text"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{strings.ToUpper(call.String("text"))}}, nil
		},
	}
	registry, err := node.NewRegistry(upper)
	if err != nil {
		panic(err)
	}
	class, _ := registry.Lookup("Upper")
	for _, text := range []node.Value{"one", node.List{"two", "three"}, int64(4)} {
		result, err := node.Invocation{Class: class, Inputs: node.Args{"text": text}}.Run(context.Background(), node.Call{})
		fmt.Println(result.Outputs, err)
	}
	// Output:
	// [ONE] <nil>
	// [[TWO THREE]] <nil>
	// [] input text is missing or has the wrong type
}
