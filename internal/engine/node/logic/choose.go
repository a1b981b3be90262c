package logic

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// matched is the type of inputs and outputs that share one type, which their links determine.
const matched node.Type = "COMFY_MATCHTYPE_V3"

// Switch passes one of two values on; only the chosen value is computed.
func Switch() *node.Class {
	return &node.Class{
		Name: "ComfySwitchNode", DisplayName: "If/Else Switch", Category: "utilities/logic", Module: moduleLogic,
		Description:   "Passes one of two values on. What leads to the other one does not run.",
		SearchAliases: []string{"if", "condition", "choose", "select branch"},
		Experimental:  true,
		Inputs: []node.Input{
			{Name: "switch", Type: node.Boolean, Tooltip: "Which value is passed on."},
			branch("on_false", "Passed on when the switch is off."),
			branch("on_true", "Passed on when the switch is on."),
		},
		Outputs: []node.Output{{Type: matched, Name: "output", MatchTemplate: "switch"}},
		LazyNeeds: func(args node.Args) []string {
			return []string{chosen(args)}
		},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			call.Bool("switch")
			name := chosen(call.Args)
			if value, ok := call.Args[name]; ok {
				return declare.One(value, nil)
			}
			return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input %s is not connected", name)
		},
	}
}

func branch(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: matched, MatchTemplate: "switch", Lazy: true, Tooltip: tooltip}
}

func chosen(args node.Args) string {
	if on, err := node.Truth(args["switch"]); on && err == nil {
		return "on_true"
	}
	return "on_false"
}
