// Package calls lets operators list model calls, see what was recorded of one, add up their usage, settle calls of
// unknown outcome and replay workflows.
package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/usage"
)

// Service reads model calls for operators, and settles those of unknown outcome.
type Service struct {
	records.Records[call.Call]
	store   *callstore.Store
	blobs   func(context.Context) (blob.Store, error)
	session operate.Session
}

// New returns the service over a database, the store of answers, which blobs opens, and a Temporal.
func New(pool *postgres.Pool, store *callstore.Store, blobs func(context.Context) (blob.Store, error), engine histories.Engine,
	session operate.Session,
) Service {
	kind := records.Kind[call.Call]{Kind: inspect.Calls, Workflows: workflows, Print: report.Call}
	return Service{records.Records[call.Call]{Kind: kind, Pool: pool, Engine: engine}, store, blobs, session}
}

// workflows returns the workflows of a call.
func workflows(c call.Call) []inspect.Execution {
	var all []inspect.Execution
	for run := 1; run <= max(1, c.Run); run++ {
		all = append(all, inspect.Execution{Run: run, Workflow: c.ID.WorkflowID(run)})
	}
	return all
}

// Actions are what operators do with model calls.
var Actions = action.Group[Service]{
	Use:   "calls",
	Short: "List model calls, and show the history of one",
	Long: `Show the history of a model call, from its recorded events. An ID may be shortened to its
first characters, at least four, if no other call's ID begins with them.`,
	Example: `  millrace calls list --status failed,unknown
  millrace calls show 62e89ef5
  millrace calls timeline 62e89ef5
  millrace calls show 62e89ef5 --workflow
  millrace calls usage --since 168h
  millrace calls reconcile 62e89ef5 --charged 0.04 --reason "seen on the provider's bill"`,
	Actions: append([]action.For[Service]{list, used, reconcile, replay}, records.Actions[Service](records.Texts{
		Noun: "call", A: "a model call", State: "Get the state of a model call, now or at a version or time.",
		Parts: "steps", Differ: "state, events, times", Phases: "AdminPhases", Diff: "AdminStoryComparison",
	})...),
}

type listParams struct {
	States  []string `name:"status" commas:"true" choices:"queued,admitted,dispatching,running,answered,succeeded,failed,canceled,unknown"`
	Account string   `name:"account" help:"name or id of an account; default: all"`
	Model   string   `name:"model" help:"<provider>/<model>; default: any"`
	Before  int64    `name:"before" flag:"-" min:"1" help:"next_before of the previous page"`
	Limit   int      `name:"limit" default:"20" served:"100" min:"1" max:"1000" help:"maximum number, up to 1,000"`
}

// listed is a page of calls, and the names of all accounts by their ids.
type listed struct {
	calls.Page
	names map[string]string
}

var list = action.Of[Service, listParams, listed]{
	Spec: action.Spec{
		ID: "adminCalls", Route: "GET /calls", Summary: "List model calls of all accounts, newest first.",
		Schema: "AdminListed", Member: "calls", List: true, Next: true, Redact: true,
		Help: map[string]string{
			"status": "queued, admitted, dispatching, running, answered, succeeded, failed, canceled, unknown; any of several",
		},
		Commands: []action.Command{{Use: "list", Short: "List model calls, newest first"}},
	},
	Do: func(ctx context.Context, s Service, p listParams, _ operate.Attribution) (l listed, err error) {
		q := calls.Query{Model: p.Model, Before: p.Before, Limit: p.Limit}
		for _, state := range p.States {
			q.States = append(q.States, call.State(state))
		}
		if q.Account, l.names, err = operate.Selected(ctx, s.Pool, p.Account); err != nil {
			return l, err
		}
		l.Page, err = calls.NewReader(s.Pool).List(ctx, q)
		l.Calls = append([]call.Call{}, l.Calls...) // an empty list is [], not null
		return l, err
	},
	JSON: func(l listed) any { return l.Calls },
	Body: func(l listed) any { return action.Page("calls", l.Calls, l.Next) },
	Show: func(out *terminal.Printer, _ listParams, l listed) { report.Calls(out, l.Calls, l.names) },
}.Untyped()

// sums are calls and charges by day, account and model, and the names of all accounts by their ids.
type sums struct {
	days  []usage.Day
	names map[string]string
}

var used = action.Of[Service, operate.Period, sums]{
	Spec: action.Spec{
		ID: "adminCallUsage", Route: "GET /calls/usage", Schema: "AdminUsage", Member: "usage", List: true,
		Summary:  "Get the calls and charges by day, account and model.",
		Commands: []action.Command{{Use: "usage", Short: "Add up calls and charges by day, account and model"}},
	},
	Do: func(ctx context.Context, s Service, p operate.Period, _ operate.Attribution) (sums, error) {
		w, err := p.Window(ctx, s.Pool)
		if err != nil {
			return sums{}, err
		}
		days, err := usage.NewReader(s.Pool).Between(ctx, w.Account, w.From, w.Until)
		return sums{append([]usage.Day{}, days...), w.Names}, err
	},
	JSON: func(s sums) any { return s.days },
	Body: func(s sums) any { return s.days },
	Show: func(out *terminal.Printer, _ operate.Period, s sums) { report.Usage(out, s.days, s.names) },
}.Untyped()

type reconcileParams struct {
	ID      string         `name:"id" arg:"ID"`
	Whole   bool           `name:"whole" route:"-" flag:"-" served:"true"` // a request does not shorten the id
	Charged action.Dollars `name:"charged_usd" flag:"charged" required:"true"`
	FreeKey bool           `name:"free_key" help:"let a request with the same idempotency key run again"`
	Answer  string         `name:"answer" help:"the provider's answer, a JSON document: the call succeeds with it"`
}

// maxAnswer bounds an answer that an operator attaches.
const maxAnswer = 1 << 20

// check refuses parameters that no call can be settled with.
func (p reconcileParams) check() error {
	switch {
	case p.Charged < 0:
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the provider's charge cannot be negative")
	case p.Answer == "":
		return nil
	case p.FreeKey:
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a call with an answer keeps its key, which returns that answer")
	case len(p.Answer) > maxAnswer || !json.Valid([]byte(p.Answer)):
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the answer must be a JSON document of at most %d bytes", maxAnswer)
	}
	return nil
}

// settlement returns what an operator has determined about a call, and stores the answer.
func (s Service) settlement(ctx context.Context, p reconcileParams, by operate.Attribution) (callstore.Settlement, error) {
	found := callstore.Settlement{
		Charged: int64(p.Charged), FreeKey: p.FreeKey, By: by.Meta(),
	}
	if p.Answer == "" {
		return found, nil
	}
	blobs, err := s.blobs(ctx)
	if err != nil {
		return found, err
	}
	stored, err := blob.Put(ctx, blobs, blob.Durable, strings.NewReader(p.Answer))
	found.Answer = &call.Body{Ref: stored.Ref, Size: stored.Size, ContentType: "application/json"}
	return found, err
}

var reconcile = action.Of[Service, reconcileParams, call.Call]{
	Spec: action.Spec{
		ID: "adminCallReconcile", Route: "POST /calls/{id}/reconcile", Reason: action.Required,
		Schema: "AdminState", Member: "call", Redact: true,
		Help: map[string]string{
			"charged_usd": "price that the provider charged, in US dollars; 0 releases all of the reserved credit",
		},
		Commands: []action.Command{{
			Use:   "reconcile ID --charged DOLLARS [--free-key | --answer JSON] --reason WORDS",
			Short: "Settle a call of unknown outcome with the amount that the provider charged",
			Long: `A call that was being sent when its process died is never sent again, and its credit stays
reserved, because it is unknown whether the provider ran the call. Look it up at the provider, then
settle it: with the amount that was charged, or with 0 to release all of the reserved credit.

With --free-key a request with the same idempotency key runs again; use it if the provider did not
receive the call. With --answer the call succeeds with the provider's answer: its caller gets it
with the key, or as the result of the queued request.`,
		}},
	},
	Do: func(ctx context.Context, s Service, p reconcileParams, by operate.Attribution) (call.Call, error) {
		if _, err := call.ParseID(p.ID); err != nil && p.Whole {
			return call.Call{}, fault.Wrap(err, fault.NotFound, fault.CodeCallNotFound, "there is no call %.64q", p.ID)
		}
		if err := p.check(); err != nil {
			return call.Call{}, err
		}
		h, err := s.History(ctx, p.ID)
		if err != nil {
			return call.Call{}, err
		}
		c := h.State()
		found, err := s.settlement(ctx, p, by)
		if err == nil {
			err = s.store.Reconcile(ctx, c.Account, c.ID, found)
		}
		if err != nil {
			return c, err
		}
		h, err = s.History(ctx, string(c.ID))
		return h.State(), err
	},
	Show: func(out *terminal.Printer, p reconcileParams, c call.Call) {
		out.Printf("call %s is settled for $%s\n", c.ID, amount.Dollars(int64(p.Charged)))
	},
}.Untyped()

type replayParams struct {
	IDs   []string `name:"ids" arg:"[ID...]"`
	Model string   `name:"model" help:"<provider>/<model>; default: any"`
	Limit int      `name:"limit" default:"100" min:"1" max:"1000" help:"maximum number, newest first, up to 1,000"`
}

var replay = action.Of[Service, replayParams, []histories.Replayed]{
	Spec: action.Spec{Commands: []action.Command{{
		Use: "replay [ID...]", Short: "Replay the workflows of model calls against this binary, before a deployment",
		Long: `Download the workflow history of each named call, or of the newest ones, from Temporal and replay it
against the workflow code of this binary. The exit code is 1 if a history diverges, and also if none could be
replayed. The command changes nothing and sends no request to a provider.`,
		Example:  "  millrace calls replay --limit 500\n  millrace calls replay 62e89ef5 --json",
		Temporal: true,
	}}},
	Do: func(ctx context.Context, s Service, p replayParams, _ operate.Attribution) ([]histories.Replayed, error) {
		found, err := s.toReplay(ctx, p)
		if err != nil {
			return nil, err
		}
		return histories.Replay(ctx, s.Engine, found, s.session.Step("replay", "calls"),
			func(ctx context.Context, c client.Client, with histories.Replayer, one call.Call) ([]histories.Replayed, error) {
				replayed, err := histories.ReplayChain(ctx, c, with, one.ID.WorkflowID(max(1, one.Run)), "")
				if err != nil {
					return nil, fmt.Errorf("call %s: %w", one.ID, err)
				}
				return []histories.Replayed{replayed}, nil
			})
	},
	Show: func(out *terminal.Printer, _ replayParams, all []histories.Replayed) {
		histories.Show(out, "WORKFLOW", all)
	},
	Fail: func(_ replayParams, all []histories.Replayed) error { return histories.WorkflowProblem(all) },
}.Untyped()

// toReplay returns the named calls, or the newest ones.
func (s Service) toReplay(ctx context.Context, p replayParams) ([]call.Call, error) {
	if len(p.IDs) == 0 {
		page, err := calls.NewReader(s.Pool).List(ctx, calls.Query{Model: p.Model, Limit: p.Limit})
		if err == nil && len(page.Calls) == 0 {
			err = fault.New(fault.NotFound, fault.CodeNoMatch, "no call matches the filter")
		}
		return page.Calls, err
	}
	found := make([]call.Call, len(p.IDs))
	for i, id := range p.IDs {
		h, err := s.History(ctx, id)
		if err != nil {
			return nil, err
		}
		found[i] = h.State()
	}
	return found, nil
}
