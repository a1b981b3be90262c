// Package pools implements the operators' commands on pools of machines with ComfyUI servers. Every change is recorded with its actor and
// reason.
package pools

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/poolstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// Service reads and changes pools.
type Service struct {
	Store   *poolstore.Store
	Servers *serverstore.Store
	Workers *livestore.Workers
}

// Actions are what operators do to pools.
var Actions = action.Group[*Service]{
	Use:   "pool",
	Short: "Start machines with ComfyUI servers when segments need them, and stop them when they have no work",
	Long: `A pool starts machines with ComfyUI servers when segments of graphs need them, and stops them when they have had no
work for a while. Its YAML file has commands, addresses of a webhook, a Deployment of Kubernetes, or the kind process,
whose machines are ComfyUI processes of workers with --comfyui-pool. A machine of the first two registers its server
itself, with the token that its start gets. POOL is the name of a pool.`,
	Example: `  millrace pool apply pool.yaml --reason "machines by demand"
  millrace pool list
  millrace pool show sdxl
  millrace pool pause sdxl --reason "the provider has an outage"
  millrace pool rm sdxl --reason "moved to another provider"`,
	Actions: []action.For[*Service]{apply, list, show, Change},
}

// View is a pool as operators see it.
type View struct {
	Pool     string         `json:"pool"`
	State    string         `json:"state"` // running, paused or removed
	Min      int            `json:"min"`
	Max      int            `json:"max"`
	Machines []pool.Machine `json:"machines"`
	Ended    []pool.Ended   `json:"ended"` // the last machines that stopped
	Failures int            `json:"failures,omitempty"`
	Problem  string         `json:"problem,omitempty"`
	Classes  string         `json:"classes,omitempty"` // digest of the definitions of its machines
	Spent    string         `json:"spent_today_usd"`
	Budget   string         `json:"budget_usd,omitempty"` // of a day
	Labels   []string       `json:"labels"`
	Outcome  string         `json:"outcome,omitempty"` // of apply: created, changed or same
}

func view(p pool.Pool) View {
	v := View{
		Pool: p.Name, State: "running", Min: p.Spec.Min, Max: p.Spec.Max, Machines: append([]pool.Machine{}, p.Machines...),
		Ended: append([]pool.Ended{}, p.State.Ended...), Failures: p.Failures, Problem: p.Problem, Classes: p.Classes,
		Spent: amount.Dollars(p.SpentOn(time.Now())), Labels: append([]string{}, p.Spec.Labels...),
	}
	if p.Spec.Budget > 0 {
		v.Budget = amount.Dollars(p.Spec.Budget)
	}
	switch {
	case p.Removed:
		v.State = "removed"
	case p.Paused:
		v.State = "paused"
	}
	return v
}

type applyParams struct {
	Description description `name:"description" arg:"FILE" required:"true"`
}

var apply = action.Of[*Service, applyParams, View]{
	Spec: action.Spec{
		ID: "adminApplyPool", Route: "PUT /pools", Reason: action.Optional, Schema: "AdminPool",
		Summary: "Describe a pool of machines. The same description again changes nothing.",
		Detail: `The keys are those of the YAML file; definitions is the answer of a machine to /object_info. Workers run the commands of pools
and scale Deployments where the operator of the workers allows it, with MILLRACE_POOL_COMMANDS.`,
		Commands: []action.Command{{Use: "apply FILE", Short: "Describe a pool; the same file again changes nothing"}},
	},
	Do: func(ctx context.Context, o *Service, p applyParams, by operate.Attribution) (View, error) {
		d := p.Description
		spec := d.spec()
		if err := pool.CheckName(d.Pool); err != nil {
			return View{}, err
		}
		if err := spec.Check(); err != nil {
			return View{}, err
		}
		rules, _, err := o.Workers.Rules(ctx)
		if err != nil {
			return View{}, err
		}
		classes, err := o.keep(ctx, d.Definitions.body)
		if err != nil {
			return View{}, err
		}
		by.Reason = cmp.Or(by.Reason, "applied")
		now, done, err := o.Store.Apply(ctx, d.Pool, spec, classes, by, func(existing []pool.Pool) error {
			return checkMax(existing, d.Pool, spec, rules.Machines)
		})
		if err != nil {
			return View{}, err
		}
		v := view(now)
		switch {
		case done.Created:
			v.Outcome = "created"
		case done.Changed:
			v.Outcome = "changed"
		default:
			v.Outcome = "same"
		}
		return v, nil
	},
	Show: func(out *terminal.Printer, _ applyParams, v View) {
		text := map[string]string{"created": "is created", "changed": "has changed", "same": "has this description already"}[v.Outcome]
		out.Printf("pool %s %s\n", v.Pool, text)
	},
}.Untyped()

// checkMax refuses a pool of processes that may have more machines, together with the others of its kind, than the workers can run. That
// number is not known, and 0, while no worker can run one. A pool whose maximum is not raised is not refused.
func checkMax(existing []pool.Pool, name string, spec pool.Spec, machines int) error {
	if spec.Of() != pool.Process || machines == 0 {
		return nil
	}
	sum, parts := spec.Max, []string{fmt.Sprintf("%d of the pool %s", spec.Max, name)}
	for _, p := range existing {
		switch {
		case p.Removed || p.Of() != pool.Process:
		case p.Name != name:
			sum, parts = sum+p.Spec.Max, append(parts, fmt.Sprintf("%d of the pool %s", p.Spec.Max, p.Name))
		case p.Spec.Max >= spec.Max:
			return nil
		}
	}
	if sum > machines {
		return fault.New(fault.Invalid, fault.CodeInvalidPool, "max: the workers with --comfyui-pool can run %d machines, one for each GPU "+
			"or --comfyui-count, and not %d: %s", machines, sum, strings.Join(parts, ", "))
	}
	return nil
}

// keep stores the definitions of a description and returns their digest.
func (o *Service) keep(ctx context.Context, body []byte) (string, error) {
	if len(body) == 0 {
		return "", nil
	}
	classes, err := comfyui.ParseClasses(body)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidPool, "definitions: this is not the answer of a server to /object_info")
	}
	stored, err := placement.EncodeClasses(classes)
	if err != nil {
		return "", err
	}
	return classes.Digest, o.Servers.KeepClasses(ctx, classes.Digest, stored)
}

func (o *Service) find(ctx context.Context, name string) (View, error) {
	p, err := o.Store.Pool(ctx, name)
	if err == nil && p.Over() {
		err = poolstore.NotFound(name)
	}
	return view(p), err
}

// Pools returns the pools.
func (o *Service) Pools(ctx context.Context) ([]View, error) {
	all, err := o.Store.Pools(ctx)
	views := []View{}
	for _, p := range all {
		views = append(views, view(p))
	}
	return views, err
}

var list = action.Of[*Service, struct{}, []View]{
	Spec: action.Spec{
		ID: "adminPools", Route: "GET /pools", Schema: "AdminPool", Member: "pools", List: true, Summary: "List the pools of machines.",
		Commands: []action.Command{{Use: "list", Short: "List the pools and how many machines they have"}},
	},
	Do: func(ctx context.Context, o *Service, _ struct{}, _ operate.Attribution) ([]View, error) {
		return o.Pools(ctx)
	},
	Show: func(out *terminal.Printer, _ struct{}, all []View) { print(out, all...) },
}.Untyped()

func print(out *terminal.Printer, all ...View) {
	out.Columns([]string{"POOL", "STATE", "MACHINES", "JOINED", "MIN", "MAX", "SPENT TODAY", "FAILURES", "PROBLEM"}, func(row func(...any)) {
		for _, v := range all {
			joined := 0
			for _, m := range v.Machines {
				if m.Phase == pool.Joined {
					joined++
				}
			}
			row(v.Pool, v.State, len(v.Machines), joined, v.Min, v.Max, "$"+v.Spent, v.Failures, terminal.OrDash(v.Problem))
		}
	})
}

type named struct {
	Pool string `name:"pool" arg:"POOL"`
}

var show = action.Of[*Service, named, View]{
	Spec: action.Spec{
		ID: "adminPool", Route: "GET /pools/{pool}", Schema: "AdminPool", Summary: "Get a pool with its machines.",
		Commands: []action.Command{{Use: "show POOL", Short: "Show a pool with its machines, and the last ones that stopped"}},
	},
	Do: func(ctx context.Context, o *Service, p named, _ operate.Attribution) (View, error) {
		return o.find(ctx, p.Pool)
	},
	Show: func(out *terminal.Printer, _ named, v View) {
		print(out, v)
		out.Columns([]string{"MACHINE", "ID", "STATE", "REQUESTED", "SECONDS", "OF WORK", "SEGMENTS", "CAUSE"}, func(row func(...any)) {
			for _, m := range v.Machines {
				row(m.ID, terminal.OrDash(m.Handle), m.Phase, m.RequestedAt.Format(time.DateTime), "-", "-", "-", terminal.OrDash(m.Cause))
			}
			for _, e := range v.Ended {
				began := e.At.Add(-time.Duration(e.Seconds) * time.Second)
				row(e.ID, terminal.OrDash(e.Handle), "stopped", began.Format(time.DateTime), e.Seconds, e.Work, e.Segments, "-")
			}
		})
	},
}.Untyped()

type changeParams struct {
	named

	State string `name:"state" choices:"paused,running,removed" required:"true"`
}

// Change pauses, resumes or removes a pool.
var Change = action.Of[*Service, changeParams, View]{
	Spec: action.Spec{
		ID: "adminChangePool", Route: "PATCH /pools/{pool}", Page: "/pools/:pool", Reason: action.Required, Schema: "AdminPool",
		Summary: "Pause, resume or remove a pool. The machines of a removed pool are stopped when their segments have ended.",
		Commands: []action.Command{
			{
				Use: "pause POOL --reason TEXT", Short: "Start no machines; those that run are stopped when idle",
				Set: map[string]string{"state": "paused"}, Label: "Pause", Warning: "No machine is started; those that run are stopped when idle.",
			},
			{
				Use: "resume POOL --reason TEXT", Short: "Start machines again", Set: map[string]string{"state": "running"},
				Label: "Resume", Warning: "Machines are started again when segments need them.",
			},
			{
				Use: "rm POOL --reason TEXT", Short: "Remove a pool; its machines are stopped when their segments have ended",
				Set: map[string]string{"state": "removed"}, Label: "Remove", Danger: true,
				Warning: "The machines of the pool are stopped when their segments have ended.",
			},
		},
	},
	Do: func(ctx context.Context, o *Service, p changeParams, by operate.Attribution) (View, error) {
		if v, err := o.find(ctx, p.Pool); err != nil || v.State == p.State {
			return v, err
		}
		err := o.Store.Change(ctx, p.Pool, by, func(now pool.Pool) []any {
			switch {
			case p.State == "removed" && !now.Removed:
				return []any{pool.RemovedV1{}}
			case p.State == "paused" && !now.Paused:
				return []any{pool.PausedV1{}}
			case p.State == "running" && now.Paused:
				return []any{pool.ResumedV1{}}
			}
			return nil
		})
		if err != nil {
			return View{}, err
		}
		now, err := o.Store.Pool(ctx, p.Pool)
		return view(now), err
	},
	Show: func(out *terminal.Printer, _ changeParams, v View) {
		out.Printf("pool %s is %s; it has %d machines\n", v.Pool, v.State, len(v.Machines))
	},
	Back: func(changeParams, View) string { return "/pools" },
}.Untyped()
