package queues

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type statusParams struct {
	Account string `name:"account" help:"name or id of an account; default: all"`
}

var status = action.Of[Service, statusParams, namedStates]{
	Spec: action.Spec{
		ID: "adminQueues", Route: "GET /queues", Summary: "List the queues: mode, queued and running jobs.",
		Schema: "AdminQueue", Member: "queues", List: true,
		Commands: []action.Command{{
			Use: "status [--account ACCOUNT]", Short: "Show the state of queues, with its time and reason",
			Long: `Show the mode of all queues together, and of each account whose queue is not open or has jobs.`,
		}},
	},
	Do: func(ctx context.Context, q Service, p statusParams, _ operate.Attribution) (namedStates, error) {
		if p.Account == "" {
			all, err := q.States(ctx)
			if err != nil {
				return namedStates{}, err
			}
			return q.named(ctx, all...)
		}
		a, err := operate.Account(ctx, q.pool, p.Account)
		if err != nil {
			return namedStates{}, err
		}
		st, err := q.gates.State(ctx, a.ID)
		if err != nil {
			return namedStates{}, err
		}
		return q.named(ctx, st)
	},
	Show: func(out *terminal.Printer, _ statusParams, r namedStates) { printStates(out, r) },
	JSON: func(r namedStates) any { return r.states },
	Body: func(r namedStates) any { return r.states },
}.Untyped()

// namedStates are the states of queues with the names of their accounts.
type namedStates struct {
	states []gate.State
	names  map[string]string
}

func (q Service) named(ctx context.Context, states ...gate.State) (namedStates, error) {
	names, err := operate.AccountNames(ctx, q.pool)
	if err == nil {
		names[gate.All] = "(all)"
	}
	return namedStates{states, names}, err
}

func printStates(out *terminal.Printer, r namedStates) {
	out.Columns([]string{"ACCOUNT", "MODE", "QUEUED", "RUNNING", "SINCE", "BY", "REASON"}, func(row func(...any)) {
		for _, st := range r.states {
			name, since := st.Account, "-"
			if n, ok := r.names[st.Account]; ok {
				name = n
			}
			if st.Since != nil {
				since = st.Since.UTC().Format(time.DateTime)
			}
			row(name, st.Mode, st.Queued, st.Running, since, st.Actor, st.Reason)
		}
	})
}
