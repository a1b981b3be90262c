package logic

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Gate passes a value on, or keeps all nodes that read it from running.
func Gate() *node.Class {
	return &node.Class{
		Name: "MillraceGate", DisplayName: "Gate", Category: "logic", Module: moduleMillrace,
		Description: "Passes a value on while it is open. Closed, it keeps whatever reads it from running, and the job goes on. " +
			"Millrace has it in addition to the classes of the self-hosted runtime.",
		SearchAliases: []string{"block", "stop", "skip", "blocker"},
		Experimental:  true,
		Inputs: []node.Input{
			{Name: "value", Type: node.Any, Tooltip: "What is passed on."},
			{Name: "open", Type: node.Boolean, Default: true, Tooltip: "Whether it is passed on."},
			{Name: "message", Type: node.String, Section: node.Optional, Default: "", Tooltip: "The message when it is not; nothing when empty."},
		},
		Outputs: []node.Output{{Type: node.Any, Name: "value"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			open, message := call.Bool("open"), node.Given(call, "message", call.String, "")
			switch {
			case !call.Has("value"):
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input value is missing")
			case open:
				return declare.One(call.Args["value"], nil)
			}
			return declare.One(node.Blocker{Message: message}, nil)
		},
	}
}
