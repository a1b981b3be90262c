package logic

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// moduleMillrace is the module of classes that the self-hosted runtime does not have.
	moduleMillrace = "millrace.nodes_loop"
	// maxTimes bounds how often a class is repeated; maxArguments bounds its arguments in bytes.
	maxTimes     = 500
	maxArguments = 64 << 10
)

// Repeat runs a class several times, each time on the result of the previous run. It expands to a chain of nodes,
// which clients see one by one.
func Repeat() *node.Class {
	return &node.Class{
		Name: "MillraceRepeat", DisplayName: "Repeat Node", Category: "logic", Module: moduleMillrace,
		Description: "Runs a node class several times in a row: what one gives is what the next one takes. " +
			"Expands to a chain of nodes. Millrace has it in addition to the classes of the self-hosted runtime.",
		SearchAliases: []string{"loop", "for", "iterate", "again"},
		Experimental:  true,
		Inputs: []node.Input{
			{Name: "value", Type: node.Any, Tooltip: "What the first node takes, and what is passed on when there is none."},
			{Name: "node_class", Type: node.String, Default: "ImageInvert", Tooltip: "The class to run."},
			{Name: "input", Type: node.String, Default: "image", Tooltip: "The input that takes the value."},
			{Name: "times", Type: node.Int, Default: 2, Min: 0, Max: maxTimes, Tooltip: "How many nodes."},
			{Name: "output", Type: node.Int, Section: node.Optional, Default: 0, Min: 0, Max: 63, Tooltip: "The output that the next one takes."},
			{
				Name: "arguments", Type: node.String, Section: node.Optional, Default: "{}", Multiline: true,
				Tooltip: "A JSON object with the other inputs of the class.",
			},
		},
		Outputs: []node.Output{{Type: node.Any, Name: "value"}},
		Cost:    func(node.Args, int64) time.Duration { return expanding },
		Run:     repeat,
	}
}

// expanding is the cost of checking, planning and storing an expansion.
const expanding = 5 * time.Millisecond

func repeat(_ context.Context, call *node.Call) (node.Result, error) {
	class, input, times := call.String("node_class"), call.String("input"), call.Int("times")
	output, arguments := node.Given(call, "output", call.Int, 0), node.Given(call, "arguments", call.String, "{}")
	if !call.Has("value") {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input value is missing")
	}
	if times < 0 || times > maxTimes || output < 0 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeInputRange, "times must be from 0 to %d, and output must be 0 or more", maxTimes)
	}
	others, err := argumentsOf(arguments)
	if err != nil {
		return node.Result{}, err
	}
	value := call.Args["value"]
	if times == 0 {
		return declare.One(value, nil)
	}
	chain := &node.Expansion{}
	for range times {
		inputs := maps.Clone(others)
		inputs[input] = value
		value = node.From{Node: chain.Add(class, inputs), Slot: output}
	}
	return node.Result{Outputs: []node.Value{value}, Expand: chain}, nil
}

// argumentsOf reads a JSON object of inputs.
func argumentsOf(text string) (node.Args, error) {
	refused := func() (node.Args, error) {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "arguments must be one JSON object of at most %d bytes", maxArguments)
	}
	if len(text) > maxArguments {
		return refused()
	}
	args := node.Args{}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if err := d.Decode(&args); err != nil || args == nil || strings.TrimSpace(text[d.InputOffset():]) != "" {
		return refused()
	}
	for name, value := range args {
		args[name] = node.PlainJSON(value)
	}
	return args, nil
}
