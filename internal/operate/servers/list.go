package servers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// listed is all servers, in the order of their registration, and the segments that wait for one.
type listed struct {
	Servers []View `json:"servers"`
	Waiting []wait `json:"waiting"`
}

// wait is a segment that waits for a server.
type wait struct {
	Job     string    `json:"job"`
	Segment int       `json:"segment"`
	Account string    `json:"account"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"`
	Ahead   int       `json:"ahead"`
}

var list = action.Of[*Service, struct{}, listed]{
	Spec: action.Spec{
		ID: "adminServers", Route: "GET /servers", Schema: "AdminServers",
		Summary:  "List the ComfyUI servers, and the segments that wait for a server.",
		Commands: []action.Command{{Use: "list", Short: "List the servers with the result of their last check"}},
	},
	Do: func(ctx context.Context, o *Service, _ struct{}, _ operate.Attribution) (listed, error) {
		all, err := o.Store.Servers(ctx)
		if err != nil {
			return listed{}, err
		}
		waiting, err := o.Store.Waits(ctx)
		l := listed{make([]View, 0, len(all)), make([]wait, 0, len(waiting))}
		for _, s := range all {
			l.Servers = append(l.Servers, view(s))
		}
		for _, w := range waiting {
			l.Waiting = append(l.Waiting, wait{string(w.Job), w.Unit, w.Account, w.Since, w.Reason, w.Ahead})
		}
		return l, err
	},
	JSON: func(l listed) any { return l.Servers },
	Show: func(out *terminal.Printer, _ struct{}, l listed) { print(out, l.Servers...) },
}.Untyped()

var show = action.Of[*Service, named, View]{
	Spec: action.Spec{
		ID: "adminServer", Route: "GET /servers/{id}", Summary: "Get one server.", Schema: "AdminServer",
		Commands: []action.Command{{Use: "show REF", Short: "Show a server in detail", Always: true}},
	},
	Do: func(ctx context.Context, o *Service, p named, _ operate.Attribution) (View, error) {
		return o.find(ctx, p.ID)
	},
}.Untyped()

type changeParams struct {
	named
	Change string `name:"change" choices:"drain,resume,remove"`
}

func to(change string) map[string]string { return map[string]string{"change": change} }

// Change drains, resumes or removes a server.
var Change = action.Of[*Service, changeParams, View]{
	Spec: action.Spec{
		ID: "adminChangeServer", Route: "POST /servers/{id}/{change}", Summary: "Drain, resume or remove a server.",
		Page: "/servers/:id/:change", Reason: action.Required, Schema: "AdminServer", Refusal: map[int]string{409: registered},
		Commands: []action.Command{
			{
				Use: "drain REF --reason TEXT", Short: "Let a server finish its segments, and send it no new ones", Set: to("drain"),
				Label: "Drain", Warning: "The server finishes its running work and accepts no new work.",
			},
			{
				Use: "resume REF --reason TEXT", Short: "Send segments to a drained server again", Set: to("resume"),
				Label: "Resume", Warning: "The server accepts new work again.",
			},
			{
				Use: "remove REF --reason TEXT", Short: "Remove a server; its running segments finish", Set: to("remove"),
				Label: "Remove", Danger: true, Warning: "The server is removed from the registry. Its running work moves to another server.",
			},
		},
	},
	Do: func(ctx context.Context, o *Service, p changeParams, by operate.Attribution) (View, error) {
		s, err := o.Store.Server(ctx, p.ID)
		if err != nil {
			return View{}, err
		}
		if p.Change == "remove" {
			return view(s), o.Store.Remove(ctx, s.ID, by)
		}
		if err := o.Store.Drain(ctx, s.ID, p.Change == "drain", by); err != nil {
			return View{}, err
		}
		return o.find(ctx, string(s.ID))
	},
	Show: func(out *terminal.Printer, p changeParams, v View) {
		if p.Change == "remove" {
			out.Printf("removed %s\n", terminal.Clean(v.URL))
			return
		}
		print(out, v)
	},
	Back: func(changeParams, View) string { return "/servers" },
}.Untyped()

// print lists servers, one on each line.
func print(out *terminal.Printer, all ...View) {
	names := []string{"URL", "STATE", "VERSION", "DEVICE", "MEMORY", "RUNS", "WAITING", "LABELS", "SEEN", "PROBLEM"}
	out.Columns(names, func(row func(...any)) {
		for _, v := range all {
			device, memory, seen := "-", "-", "-"
			if len(v.Devices) > 0 {
				device = v.Devices[0].Name
			}
			if free, total := v.Memory(); total > 0 {
				memory = fmt.Sprintf("%.1f of %.1f GB free", float64(free)/1e9, float64(total)/1e9)
			}
			if v.SeenAt != nil {
				seen = v.SeenAt.UTC().Format(time.DateTime)
			}
			row(v.URL, v.State, terminal.OrDash(v.Version), device, memory, v.Running, v.Pending,
				terminal.OrDash(strings.Join(v.Labels, ",")), seen, terminal.OrDash(v.Trouble()))
		}
	})
}
