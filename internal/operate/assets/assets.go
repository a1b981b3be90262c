// Package assets lets operators list assets, and see what was recorded of one.
package assets

import (
	"cmp"
	"context"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/assets"
)

// Service reads assets for operators.
type Service struct{ records.Records[asset.Asset] }

// New returns the service over a database and a Temporal.
func New(pool *postgres.Pool, engine histories.Engine) Service {
	kind := records.Kind[asset.Asset]{Kind: inspect.Assets, Workflows: workflows, Print: report.Asset}
	return Service{records.Records[asset.Asset]{Kind: kind, Pool: pool, Engine: engine}}
}

// workflows returns the workflow that ingested an asset.
func workflows(a asset.Asset) []inspect.Execution {
	if a.Producer != nil {
		return nil // the workflow of its job has saved and hashed the asset
	}
	return []inspect.Execution{{Run: 1, Workflow: cmp.Or(a.VerifiedBy, a.ID.WorkflowID())}}
}

// Actions are what operators ask about assets.
var Actions = action.Group[Service]{
	Use:   "assets",
	Short: "List assets, and show the history of one",
	Long: `Show the history of an asset, from its recorded events. An ID may be shortened to its first
characters, at least four, if no other asset's ID begins with them.`,
	Example: `  millrace assets list --account acme --status rejected
  millrace assets show 08904d9e
  millrace assets events 08904d9e
  millrace assets timeline 08904d9e
  millrace assets show 08904d9e --workflow`,
	Actions: append([]action.For[Service]{list}, records.Actions[Service](records.Texts{
		Noun: "asset", A: "an asset", State: "Get the state of an asset, now or at a version or time.",
		Parts: "steps", Differ: "state, events, times", Phases: "AdminPhases", Diff: "AdminStoryComparison",
	})...),
}

type listParams struct {
	State   asset.State `name:"status" choices:"live,rejected,deleted,expired" help:"live, rejected, deleted or expired; default: any"`
	Account string      `name:"account" help:"name or id of an account; default: all"`
	Limit   int         `name:"limit" default:"20" served:"100" min:"1" max:"1000" help:"maximum number, up to 1,000"`
}

// listed is assets, and the names of all accounts by their ids.
type listed struct {
	assets []asset.Asset
	names  map[string]string
}

var list = action.Of[Service, listParams, listed]{
	Spec: action.Spec{
		ID: "adminAssets", Route: "GET /assets", Summary: "List assets of all accounts, newest first.",
		Schema: "AdminListed", Member: "assets", List: true, Redact: true,
		Commands: []action.Command{{Use: "list", Short: "List assets, newest first"}},
	},
	Do: func(ctx context.Context, s Service, p listParams, _ operate.Attribution) (l listed, err error) {
		owner, names, err := operate.Selected(ctx, s.Pool, p.Account)
		if err != nil {
			return l, err
		}
		found, err := assets.Newest(ctx, s.Pool, owner, p.State, p.Limit)
		return listed{append([]asset.Asset{}, found...), names}, err // an empty list is [], not null
	},
	JSON: func(l listed) any { return l.assets },
	Body: func(l listed) any { return l.assets },
	Show: func(out *terminal.Printer, _ listParams, l listed) { report.Assets(out, l.assets, l.names) },
}.Untyped()
