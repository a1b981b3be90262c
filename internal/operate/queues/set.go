package queues

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type setParams struct {
	Account string    `name:"account" form:"queue" resolve:"queue" help:"name or id of an account; default: all"`
	Mode    gate.Mode `name:"mode" choices:"open,paused,draining,stopped" required:"true"`
}

// Set changes the mode of a queue.
var Set = action.Of[Service, setParams, namedStates]{
	Spec: action.Spec{
		ID: "adminSetQueue", Route: "PUT /queues/{account}", Summary: "Open, pause, drain or stop a queue; the account * names all.",
		Page: "/queues", Reason: action.Required, Schema: "AdminQueue",
		Commands: []action.Command{
			{
				Use: "pause [--account ACCOUNT] --reason TEXT", Short: "Accept jobs and keep them waiting", Set: map[string]string{"mode": "paused"},
				Label: "Pause", Warning: "New jobs are accepted and wait. Running jobs continue.",
			},
			{
				Use: "drain [--account ACCOUNT] --reason TEXT", Short: "Refuse new jobs and run the waiting ones",
				Set:   map[string]string{"mode": "draining"},
				Label: "Drain", Warning: "New jobs are refused. Waiting jobs start.",
			},
			{
				Use: "stop [--account ACCOUNT] --reason TEXT", Short: "Refuse new jobs and keep the waiting ones",
				Set:   map[string]string{"mode": "stopped"},
				Label: "Stop", Danger: true, Warning: "New jobs are refused, and waiting jobs keep waiting. Running jobs continue.",
			},
			{
				Use: "resume [--account ACCOUNT] --reason TEXT", Short: "Accept jobs and start them", Set: map[string]string{"mode": "open"},
				Label: "Open", Warning: "New jobs are accepted and start.",
			},
		},
	},
	Do: func(ctx context.Context, q Service, p setParams, by operate.Attribution) (namedStates, error) {
		st, err := q.gates.Set(ctx, gate.Change{Account: p.Account, Mode: p.Mode, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
		if err != nil {
			return namedStates{}, err
		}
		return q.named(ctx, st)
	},
	Show: func(out *terminal.Printer, _ setParams, r namedStates) { printStates(out, r) },
	Body: func(r namedStates) any { return r.states[0] },
	JSON: func(r namedStates) any { return r.states[0] },
	Back: func(setParams, namedStates) string { return "/queues" },
}.Untyped()
