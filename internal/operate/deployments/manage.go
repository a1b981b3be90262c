package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type listParams struct {
	Account string `name:"account" resolve:"account" default:"local" help:"name or id of the account"`
}

var list = action.Of[*Service, listParams, []Deployment]{
	Spec: action.Spec{
		ID: "adminDeployments", Route: "GET /accounts/{account}/deployments", Schema: "AdminDeployment", Member: "deployments", List: true,
		Commands: []action.Command{{Use: "list", Short: "List the deployments of an account"}},
	},
	Do: func(ctx context.Context, o *Service, p listParams, _ operate.Attribution) ([]Deployment, error) {
		found, err := o.Deployments.List(ctx, p.Account)
		all := make([]Deployment, len(found))
		for i, d := range found {
			all[i] = o.summary(d)
			all[i].Versions = nil
			all[i].Count = len(d.Versions)
		}
		return all, err
	},
	Show: func(out *terminal.Printer, _ listParams, all []Deployment) {
		rows := make([][]terminal.Cell, len(all))
		for i, d := range all {
			rows[i] = terminal.Cells(d.Name, "", d.Answers(), fmt.Sprint(d.Count), d.UpdatedAt.Format(time.DateTime), d.Address)
			rows[i][1] = stateCell(d.State)
		}
		out.Table([]string{"NAME", "STATE", "ANSWERS", "VERSIONS", "CHANGED", "ADDRESS"}, rows)
	},
}.Untyped()

func stateCell(state string) terminal.Cell {
	style := terminal.Bad
	if state == string(deployment.Ready) {
		style = terminal.Good
	}
	return terminal.Cell{Text: state, Style: style}
}

var show = action.Of[*Service, owned, Deployment]{
	Spec: action.Spec{
		ID: "adminDeployment", Route: "GET /accounts/{account}/deployments/{deployment}", Schema: "AdminDeployment",
		Commands: []action.Command{{
			Use: "show NAME", Short: "Show a deployment, with the inputs and outputs of the version that answers or of NAME@VERSION",
		}},
	},
	Do: func(ctx context.Context, o *Service, p owned, _ operate.Attribution) (Deployment, error) {
		d, version, err := o.version(ctx, p)
		if err != nil {
			return Deployment{}, err
		}
		return o.described(ctx, d, version)
	},
	Show: func(out *terminal.Printer, _ owned, d Deployment) {
		out.Printf("%s: %s, answered by %s\n", d.Name, d.State, d.Answers())
		showMissing(out, d)
		for _, v := range d.Versions {
			if len(v.Drifted) > 0 && (v.Number == d.Live || d.Share != nil && v.Number == d.Share.Version) {
				out.Printf("since %s@%d was added, the definitions of these classes have changed: %s\n", d.Name, v.Number,
					strings.Join(v.Drifted, ", "))
			}
		}
		showSchema(out, d)
		out.Printf("address: %s\n", d.Address)
	},
}.Untyped()

// version returns the deployment and the version that parameters name; without one, the version that answers.
func (o *Service) version(ctx context.Context, p owned) (d deployment.Deployment, version int, err error) {
	name, version, err := p.Deployment.split()
	if err != nil {
		return d, 0, err
	}
	if d, err = o.Deployments.Find(ctx, p.Account, name); version == 0 {
		version = d.Live
	}
	return d, version, err
}

var versions = action.Of[*Service, owned, Deployment]{
	Spec: action.Spec{Commands: []action.Command{{Use: "versions NAME", Short: "List the versions of a deployment"}}},
	Do: func(ctx context.Context, o *Service, p owned, _ operate.Attribution) (Deployment, error) {
		d, err := o.Deployments.Find(ctx, p.Account, string(p.Deployment))
		return o.summary(d), err
	},
	JSON: func(d Deployment) any { return d.Versions },
	Show: func(out *terminal.Printer, _ owned, d Deployment) {
		rows := make([][]terminal.Cell, len(d.Versions))
		for i, v := range d.Versions {
			answers := ""
			switch {
			case v.Number == d.Live:
				answers = "answers"
			case d.Share != nil && v.Number == d.Share.Version:
				answers = fmt.Sprintf("answers %d %%", d.Share.Percent)
			}
			drift := strings.Join(v.Drifted, ", ")
			if drift != "" {
				drift = "changed on the servers: " + drift
			}
			rows[i] = terminal.Cells(fmt.Sprintf("%s@%d", d.Name, v.Number), answers, v.AddedAt.Format(time.DateTime), v.Actor,
				v.Digest.String()[:19], drift)
		}
		out.Table([]string{"VERSION", "", "ADDED", "BY", "DIGEST", ""}, rows)
	},
}.Untyped()

type promoteParams struct {
	owned

	Percent int  `name:"percent" min:"0" max:"100" default:"100" help:"share of calls that the version answers; 0 = end its share"`
	Force   bool `name:"force" help:"also if the version cannot run now; this is recorded"`
}

var promote = action.Of[*Service, promoteParams, Deployment]{
	Spec: action.Spec{
		ID: "adminPromoteDeployment", Route: "POST /accounts/{account}/deployments/{deployment}/promote", Schema: "AdminDeployment",
		Reason: action.Optional, Help: map[string]string{"deployment": "the version, such as portrait@2"},
		Commands: []action.Command{{
			Use: "promote NAME", Short: "Let the version NAME@VERSION answer calls, all of them or a share",
			Example: "  millrace deployments promote portrait@2 --percent 10",
		}},
	},
	Do: func(ctx context.Context, o *Service, p promoteParams, by operate.Attribution) (Deployment, error) {
		name, version, err := p.Deployment.version()
		if err != nil {
			return Deployment{}, err
		}
		d, err := o.Deployments.Promote(ctx, deployment.Promotion{
			Account: p.Account, Name: name, Version: version, Percent: p.Percent, Force: p.Force, By: by,
		})
		return o.summary(d), err
	},
	Show: func(out *terminal.Printer, _ promoteParams, d Deployment) {
		out.Printf("answered by %s\n", d.Answers())
	},
}.Untyped()

// Verbs are the changes of a deployment that take nothing but its name, by what commands and pages call them.
var Verbs = map[string]func(*deployment.Service, context.Context, string, string, operate.Attribution) (deployment.Deployment, error){
	"rollback": (*deployment.Service).RollBack, "stop": (*deployment.Service).Stop, "start": (*deployment.Service).Start,
	"delete": (*deployment.Service).Delete,
}

// verb returns the action of one of the Verbs.
func verb(name, method, short string, said func(Deployment) string) action.For[*Service] {
	route := "POST /accounts/{account}/deployments/{deployment}/" + name
	if method == "DELETE" {
		route = "DELETE /accounts/{account}/deployments/{deployment}"
	}
	return action.Of[*Service, owned, Deployment]{
		Spec: action.Spec{
			ID: "admin" + strings.ToUpper(name[:1]) + name[1:] + "Deployment", Route: route, Schema: "AdminDeployment", Reason: action.Optional,
			Commands: []action.Command{{Use: name + " NAME", Short: short}},
		},
		Do: func(ctx context.Context, o *Service, p owned, by operate.Attribution) (Deployment, error) {
			d, err := Verbs[name](o.Deployments, ctx, p.Account, string(p.Deployment), by)
			return o.summary(d), err
		},
		Show: func(out *terminal.Printer, _ owned, d Deployment) { out.Printf("%s: %s\n", d.Name, said(d)) },
	}.Untyped()
}

var (
	rollback = verb("rollback", "POST", "End the share of a version, or let the version answer that answered before", Deployment.answered)
	stop     = verb("stop", "POST", "Refuse calls; jobs go on", Deployment.stated)
	start    = verb("start", "POST", "Answer calls again", Deployment.stated)
	remove   = verb("delete", "DELETE", "Delete a deployment with its versions; jobs go on, and the name is free", Deployment.stated)
)

func (d Deployment) answered() string { return "answered by " + d.Answers() }

func (d Deployment) stated() string { return d.State }

var export = action.Of[*Service, owned, json.RawMessage]{
	Spec: action.Spec{Commands: []action.Command{{
		Use: "export NAME", Short: "Write the drawing of a version, or its graph if it has no drawing", Always: true,
	}}},
	Do: func(ctx context.Context, o *Service, p owned, _ operate.Attribution) (json.RawMessage, error) {
		d, version, err := o.version(ctx, p)
		if err != nil {
			return nil, err
		}
		content, err := o.Deployments.Content(ctx, d, version)
		if len(content.Drawing) > 0 {
			return content.Drawing, err
		}
		return content.Graph, err
	},
}.Untyped()

type diffParams struct {
	owned

	Than string `name:"than" arg:"[VERSION]" help:"the version to compare with; default: the one before"`
}

// changes are what differs between two versions, in sentences.
type changes struct {
	Older   int      `json:"older"`
	Newer   int      `json:"newer"`
	Changes []string `json:"changes"`
}

var diff = action.Of[*Service, diffParams, changes]{
	Spec: action.Spec{Commands: []action.Command{{
		Use: "diff NAME [VERSION]", Short: "Say what changed in NAME@VERSION since the version before, or since another one",
		Example: "  millrace deployments diff portrait@3 1",
	}}},
	Do: func(ctx context.Context, o *Service, p diffParams, _ operate.Attribution) (changes, error) {
		d, newer, err := o.version(ctx, p.owned)
		if err != nil {
			return changes{}, err
		}
		older := max(newer-1, 1)
		if p.Than != "" {
			if _, older, err = deployment.Reference(d.Name + "@" + p.Than); err != nil {
				return changes{}, err
			}
		}
		lines, err := o.Deployments.Diff(ctx, d, older, newer)
		return changes{Older: older, Newer: newer, Changes: slices.Concat([]string{}, lines)}, err
	},
	Show: func(out *terminal.Printer, _ diffParams, c changes) {
		for _, line := range c.Changes {
			out.Printf("%s\n", line)
		}
		if len(c.Changes) == 0 {
			out.Printf("nothing that a call can see differs between version %d and version %d\n", c.Older, c.Newer)
		}
	},
}.Untyped()
