package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type changeParams struct {
	chosen   `route:"-"`
	Matching matching `name:"filter" flag:"-" required:"route"`
	DryRun   bool     `name:"dry-run" route:"-" help:"show the outcome for each job, and change nothing"`
	Confirm  bool     `name:"confirm" flag:"yes" help:"make the change; without it, jobs selected by a filter are only shown"`
	Actor    string   `name:"actor" route:"-" help:"actor that is recorded with the change; default: this user on this machine"`
}

// common returns the parameters that all changes have.
func (p changeParams) common() changeParams { return p }

// steps returns the function that makes a change of a job, and the one for its dry run.
type steps[P any] func(s Service, c *Changes, p P, by operate.Attribution) (do, would step, err error)

// many returns the action that changes the jobs that are named or that a filter selects.
func many[P interface{ common() changeParams }](verb string, command action.Command, steps steps[P]) action.For[Service] {
	name := strings.ToUpper(verb[:1]) + verb[1:]
	help := maps.Clone(chosenHelp)
	help["credential-env"] = "environment variable with the credential for the services that the graph calls"
	return action.Of[Service, P, changed]{
		Spec: action.Spec{
			ID: "admin" + name + "Many", Route: "POST /jobs/" + verb, Reason: action.Optional,
			Schema: "AdminOutcome", Member: "outcomes", List: true, Help: help, Commands: []action.Command{command},
			Summary: name + " all jobs that match a filter. Without confirm, nothing is changed and the outcomes are predicted.",
		},
		Do: func(ctx context.Context, s Service, p P, by operate.Attribution) (changed, error) {
			common := p.common()
			if common.Actor != "" {
				by.Actor = "operator:" + common.Actor
			}
			return s.change(ctx, verb, common, func(c *Changes) (do, would step, err error) { return steps(s, c, p, by) })
		},
		JSON: func(c changed) any { return c.outcomes },
		Body: func(c changed) any {
			body := map[string]any{"outcomes": c.outcomes}
			if c.dry {
				body["confirm"] = "repeat with confirm: true"
			}
			return body
		},
		Show: func(out *terminal.Printer, _ P, c changed) { c.show(out) },
		Fail: func(_ P, c changed) error { return c.problem() },
	}.Untyped()
}

// change changes the chosen jobs, or predicts the outcomes.
func (s Service) change(ctx context.Context, verb string, p changeParams,
	steps func(*Changes) (do, would step, err error),
) (changed, error) {
	if p.Matching.given {
		if p.Matching.selectsAll() {
			return changed{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "the filter must name a status, an account, a class or a time")
		}
		p.filter, p.Limit = p.Matching.filter, p.Matching.Limit
	}
	ids, err := s.selected(ctx, p.chosen)
	if err != nil {
		return changed{}, err
	}
	filtered := len(p.IDs) == 0
	out := changed{verb: verb, meant: len(ids), dry: p.DryRun || filtered && !p.Confirm, asked: p.DryRun}
	err = s.Change(ctx, func(c *Changes) error {
		do, would, err := steps(c)
		if err != nil {
			return err
		}
		if out.dry {
			out.outcomes, err = each(ctx, ids, s.Session.Step("look at", "jobs"), wouldRefuse, would)
		} else {
			out.outcomes, err = each(ctx, ids, s.Session.Step(verb, "jobs"), refused, do)
		}
		return cmp.Or(err, nameOutcomes(ctx, s.Pool, out.outcomes))
	})
	if filtered && len(ids) == p.Limit && s.Session.Remark != nil {
		s.Session.Remark(fmt.Sprintf("only the newest %d matching jobs are included; raise --limit, up to %d, for more", len(ids), maxListed))
	}
	if len(out.outcomes) == 0 {
		return out, err
	}
	return out, action.AfterSome(err)
}

type retryParams struct {
	changeParams
	FromNode      string   `name:"from-node" route:"-" help:"run this node, and all nodes that read its outputs, again"`
	Set           []string `name:"set" route:"-" help:"change an input: node.input=value, where value is JSON or a text; may be repeated"`
	CredentialEnv string   `name:"credential-env" route:"-"`
	NoCredential  bool     `name:"no-credential" route:"-" help:"retry without the credential with which the job was submitted"`
	Again         bool     `name:"again" route:"-" help:"include jobs selected by a filter that were retried before"`
}

var retryMany = many("retry", action.Command{
	Use: "retry ID... | --failed [--since 24h] …", Short: "Run jobs again, as new jobs that refer to the old ones",
	Long: `Make a new job from the submission of each selected job. The old job does not change; the new one
records the job it came from, the actor and the reason. Results that are still valid are reused;
with --from-node, that node and all nodes that read its outputs run again.

A job whose graph calls a partner's model with a credential needs a credential again, because that of
the old job was deleted when the job ended. Jobs selected by a filter are only shown unless --yes is
given, and those that were retried before are skipped unless --again is given.`,
	Example: `  millrace jobs retry 62e89ef5 --from-node 7 --set 3.seed=42 --reason "bad seed"
  SERVICE_KEY=… millrace jobs retry 62e89ef5 --credential-env SERVICE_KEY
  millrace jobs retry --failed --since 24h --class SaveImage --dry-run`,
}, func(s Service, c *Changes, p retryParams, by operate.Attribution) (do, would step, err error) {
	r := job.Retry{FromNode: p.FromNode, NoCredential: p.NoCredential, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID}
	for _, text := range p.Set {
		a, err := job.ParseAssignment(text)
		if err != nil {
			return nil, nil, err
		}
		r.Set = append(r.Set, a)
	}
	if p.CredentialEnv != "" {
		if r.Credential, _ = s.Session.Lookup(p.CredentialEnv); r.Credential == "" {
			return nil, nil, fmt.Errorf("the variable %s is empty or not set", p.CredentialEnv)
		}
	}
	of := func(retry func(context.Context, job.Retry) (Outcome, error)) step {
		return func(ctx context.Context, id job.ID) (Outcome, error) {
			r.Of = id
			return retry(ctx, r)
		}
	}
	if p.Again || len(p.IDs) > 0 {
		return of(c.Retry), of(c.WouldRetry), nil
	}
	return of(c.RetryOnce), of(c.WouldRetryOnce), nil
})

var cancelMany = many("cancel", action.Command{
	Use: "cancel ID... | --status queued [--account ACCOUNT] …", Short: "Cancel jobs that wait or run",
	Long: `Cancel jobs: waiting jobs at once, running jobs as soon as their nodes stop. Jobs selected by a
filter are only shown unless --yes is given.`,
	Example: `  millrace jobs cancel 62e89ef5 --reason "asked for by its owner"
  millrace jobs cancel --status queued,running --account acme --yes`,
}, func(_ Service, c *Changes, _ changeParams, by operate.Attribution) (do, would step, err error) {
	return func(ctx context.Context, id job.ID) (Outcome, error) { return c.Cancel(ctx, id, by) }, c.WouldCancel, nil
})

var requeueMany = many("requeue", action.Command{
	Use: "requeue ID... | --status running [--since 24h] …", Short: "Start runs again whose workflow no longer exists",
	Long: `Start the runs of jobs again that have a slot but no workflow, for example after Temporal's database
was lost. A run whose workflow exists continues unchanged: repeating the command does nothing. Events
that a run has recorded are not recorded again, and its files keep their names.`,
	Example: `  millrace jobs requeue 62e89ef5 --reason "engine restored"`,
}, func(_ Service, c *Changes, _ changeParams, by operate.Attribution) (do, would step, err error) {
	return func(ctx context.Context, id job.ID) (Outcome, error) { return c.Requeue(ctx, id, by) }, c.WouldRequeue, nil
})

// oneParams is the job of a request. Its id is not shortened.
type oneParams struct {
	ID string `name:"id" help:"Either id of the job, or the name of its stream where they name two jobs."`
}

// find returns the id of the job.
func (p oneParams) find(ctx context.Context, s Service) (job.ID, error) {
	if _, err := job.ParseID(strings.TrimPrefix(p.ID, "job-")); err != nil {
		return "", fault.Wrap(err, fault.NotFound, fault.CodeJobNotFound, "there is no job %.64q", p.ID)
	}
	return FindJob(ctx, s.Pool, p.ID)
}

// one returns the action that changes one job. A refusal is Conflict.
func one(verb, summary string,
	do func(c *Changes, ctx context.Context, id job.ID, by operate.Attribution) (Outcome, error),
) action.For[Service] {
	return action.Of[Service, oneParams, Outcome]{
		Spec: action.Spec{
			ID: "admin" + strings.ToUpper(verb[:1]) + verb[1:], Route: "POST /jobs/{id}/" + verb, Summary: summary,
			Reason: action.Required, Schema: "AdminOutcome",
		},
		Do: func(ctx context.Context, s Service, p oneParams, by operate.Attribution) (out Outcome, err error) {
			id, err := p.find(ctx, s)
			if err != nil {
				return out, err
			}
			err = s.Change(ctx, func(c *Changes) error {
				if _, _, err := c.Retrier.Sources.Read(ctx, id); err != nil {
					return err
				}
				all, err := each(ctx, []job.ID{id}, s.Session.Step(verb, "jobs"), refused,
					func(ctx context.Context, id job.ID) (Outcome, error) { return do(c, ctx, id, by) })
				if err = cmp.Or(err, nameOutcomes(ctx, s.Pool, all)); err != nil {
					return err
				}
				if out = all[0]; out.Done == refused {
					return fault.New(fault.Conflict, out.Code, "%s", out.Detail)
				}
				return nil
			})
			return out, err
		},
	}.Untyped()
}

var (
	cancelOne  = one("cancel", "Cancel a job.", (*Changes).Cancel)
	requeueOne = one("requeue", "Start the run of a job again in a new workflow.", (*Changes).Requeue)
)

type retryOneParams struct {
	oneParams
	FromNode     string      `name:"from_node"`
	Set          assignments `name:"set"`
	Credential   secretText  `name:"credential" secret:"true"`
	NoCredential bool        `name:"no_credential"`
}

// assignments are the changes of inputs, by node.input.
type assignments map[string]json.RawMessage

// Takes describes the values.
func (*assignments) Takes() string { return "an object with values by node.input" }

// Schema describes the values in the OpenAPI document.
func (*assignments) Schema() map[string]any {
	return map[string]any{"type": "object", "description": "node.input to value"}
}

// secretText is a text that no answer has.
type secretText string

// Schema describes the values in the OpenAPI document.
func (*secretText) Schema() map[string]any {
	return map[string]any{"type": "string", "writeOnly": true}
}

var retryOne = action.Of[Service, retryOneParams, Outcome]{
	Spec: action.Spec{
		ID: "adminRetry", Route: "POST /jobs/{id}/retry", Summary: "Retry an ended job: a new job runs its graph again.",
		Reason: action.Required, Status: 201, Schema: "AdminOutcome",
	},
	Do: func(ctx context.Context, s Service, p retryOneParams, by operate.Attribution) (out Outcome, err error) {
		id, err := p.find(ctx, s)
		if err != nil {
			return out, err
		}
		r := job.Retry{
			Of: id, FromNode: p.FromNode, Credential: string(p.Credential), NoCredential: p.NoCredential,
			Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
		}
		for _, target := range slices.Sorted(maps.Keys(p.Set)) {
			r.Set = append(r.Set, job.Assignment{Target: target, Value: p.Set[target]})
		}
		err = s.Change(ctx, func(c *Changes) error {
			out, err = c.Retry(ctx, r)
			return err
		})
		return out, err
	},
}.Untyped()
