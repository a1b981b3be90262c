package accounts

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type labelParams struct {
	named
	Labels action.Names `name:"labels" flag:"allow" commas:"true" required:"route" help:"labels that its jobs may request: names, all or none"`
}

// labels are the labels of ComfyUI servers that jobs of an account may request.
type labels struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Labels  []string `json:"labels"` // null = every label, empty = none
}

func labelsOf(a account.Account) labels { return labels{a.ID, a.Name, a.Labels.Allowed} }

var showLabels = action.Of[Service, named, labels]{
	Spec: action.Spec{
		ID: "adminLabels", Route: "GET /accounts/{account}/labels", Schema: "AdminLabels",
		Summary: "Get the labels of ComfyUI servers that jobs of an account may ask for.",
	},
	Do: func(ctx context.Context, o Service, p named, _ operate.Attribution) (labels, error) {
		a, err := o.Account(ctx, p.Account)
		return labelsOf(a), err
	},
}.Untyped()

var setLabels = action.Of[Service, labelParams, labels]{
	Spec: action.Spec{
		ID: "adminSetLabels", Route: "PUT /accounts/{account}/labels", Schema: "AdminLabels", Reason: action.Optional,
		Summary: "Replace the labels of ComfyUI servers that jobs of an account may ask for. " +
			"It takes effect with the next submission, in every process.",
		Commands: []action.Command{{
			Use: "labels ACCOUNT", Short: "Show or change the labels of ComfyUI servers that an account's jobs may request",
			Long: `Show or change the labels of ComfyUI servers that an account's jobs may request (extra_data.millrace.labels).
A list replaces the previous one. The word all allows every label, which is the default; none allows no label.
A submission that requests any other label is refused. The change is in force from the next submission on, in
every process, and is recorded with its actor and reason.`,
			Example: `  millrace accounts labels acme
  millrace accounts labels acme --allow sdxl --allow eu --reason "contract of May"
  millrace accounts labels acme --allow none --reason "shared servers only"`,
		}},
	},
	Do: func(ctx context.Context, o Service, p labelParams, by operate.Attribution) (labels, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil || !p.Labels.Given {
			return labelsOf(a), err
		}
		if by.Reason == "" {
			return labels{}, errNoReason
		}
		a, err = o.change(ctx, account.Change{Account: a.ID, Labels: &account.Labels{Allowed: p.Labels.Names}}, by)
		return labelsOf(a), err
	},
	Show: func(out *terminal.Printer, _ labelParams, l labels) {
		out.Printf("%s: may request %s\n", l.Name, (&action.Names{Names: l.Labels}).Text())
	},
}.Untyped()
