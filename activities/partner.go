package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// NodeCalls runs models for nodes. call.Service implements it.
type NodeCalls interface {
	RunNode(ctx context.Context, inv call.Invocation) (*call.Result, error)
	Worked(ctx context.Context, account string, id call.ID) (time.Duration, error)
	StopNode(ctx context.Context, account, key, requestID string) error
	StopJob(ctx context.Context, account string, of call.JobRun, requestID string) error
}

// NodeAccess returns the model access of a job's credential.
type NodeAccess interface {
	// Access returns the access, or Unauthenticated if the job has no credential or an invalid one.
	Access(ctx context.Context, ref job.RunRef) (account.Access, error)
}

// NodeContent opens the content behind URLs in a model's answer.
type NodeContent interface {
	Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error)
}

// Partners are the dependencies of nodes that call partner models.
type Partners struct {
	Calls   NodeCalls
	Access  NodeAccess // nil = there are no accounts, and no credential is needed
	Content NodeContent
	Base    string // prefix of links to copied assets, which only this service follows
	Log     *slog.Logger
}

// of returns the models for one node of a run.
func (p *Partners) of(ref job.RunRef, nodeID string) *partnerRun {
	return &partnerRun{Partners: p, ref: ref, node: nodeID}
}

// partnerRun calls models for one run of one node.
type partnerRun struct {
	*Partners
	ref   job.RunRef
	node  string
	index int // index of the next call

	waited time.Duration // time in which the node's calls waited before a provider worked on them
}

// key returns the idempotency key of a call of the node. It is unique to the call, and the same on every attempt of
// the run.
func (r *partnerRun) key() string {
	return call.NodeKey(string(r.ref.Job), r.ref.Run, r.index, r.node)
}

// Run implements node.Models.
func (r *partnerRun) Run(ctx context.Context, model, state string, body []byte) (node.ModelAnswer, error) {
	inv := call.Invocation{
		Account: r.ref.Account, Key: r.key(), Method: "POST", Target: "/v2/models/" + model, Model: model, API: call.V2,
		BaseURL: r.Base, ContentType: "application/json", Body: body, For: r.run(), Catalog: state,
	}
	r.index++
	if r.Access != nil {
		access, err := r.Access.Access(ctx, r.ref)
		if err != nil {
			return node.ModelAnswer{}, err
		}
		inv.Access = access
	}
	began := time.Now()
	res, err := r.runToEnd(ctx, inv)
	if err != nil {
		return node.ModelAnswer{}, err
	}
	worked, err := r.Calls.Worked(ctx, inv.Account, res.Call)
	if err != nil {
		return node.ModelAnswer{}, fmt.Errorf("how long call %s took: %w", res.Call, err)
	}
	r.waited += max(0, time.Since(began)-worked)
	content, err := res.Open(ctx)
	if err != nil {
		return node.ModelAnswer{}, fmt.Errorf("open the answer of %s: %w", model, err)
	}
	return node.ModelAnswer{ContentType: res.ContentType, Content: content}, nil
}

// Fetch implements node.Models.
func (r *partnerRun) Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error) {
	return r.Content.Fetch(ctx, model, address)
}

const (
	// maxOutages bounds the retries of a call during an outage before the attempt ends. Temporal then starts another
	// attempt.
	maxOutages = 20
	// longestWait bounds the wait between two tries.
	longestWait = 15 * time.Second
)

// runToEnd runs the call until it ends. It retries with the same key while the call is in flight, the account has no
// free slot, or a part of the service is down.
func (r *partnerRun) runToEnd(ctx context.Context, inv call.Invocation) (*call.Result, error) {
	for outage := 0; ; {
		inv.RequestID = string(call.NewID())
		res, err := r.Calls.RunNode(ctx, inv)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return nil, r.stopWaiting(ctx, inv)
		}
		refusal := call.RefusalOf(err)
		if refusal.Type == call.ServiceUnavailable {
			outage++
		}
		if !isTemporary(refusal) || outage > maxOutages {
			return nil, partnerFailure(inv.Model, refusal)
		}
		if pause.For(ctx, min(time.Duration(max(1, refusal.RetryAfter))*time.Second, longestWait)) != nil {
			return nil, r.stopWaiting(ctx, inv)
		}
	}
}

// isTemporary reports whether the same request may succeed after a wait.
func isTemporary(r *call.Refusal) bool {
	switch r.Type {
	case call.ConcurrencyLimit, call.RateLimited, call.DeadlineExceeded, call.ServiceUnavailable:
		return !r.Replayed && r.UpstreamStatus == 0 && r.Spend == nil
	}
	return false
}

// stopWithin bounds the time to cancel a call.
const stopWithin = 10 * time.Second

// stopWaiting ends the wait for a call. It cancels the call only if the job was canceled. Otherwise the next attempt gets
// the answer.
func (r *partnerRun) stopWaiting(ctx context.Context, inv call.Invocation) error {
	cause := context.Cause(ctx)
	// the shutdown of a worker is not a failure of the node
	given := fault.Wrap(cause, fault.Canceled, fault.CodeCanceled, "the node was interrupted")
	if !errors.Is(cause, errStopped) {
		return given
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := r.Calls.StopNode(stop, inv.Account, inv.Key, string(call.NewID())); err != nil {
		r.Log.Warn("call of a canceled node not canceled", "job_id", r.ref.Job, "node_id", r.node, "error", err)
	}
	return given
}

func (r *partnerRun) run() *call.JobRun { return &call.JobRun{Job: string(r.ref.Job), Run: r.ref.Run} }

// StopJob cancels the calls in flight of an ended run. An interrupted attempt cancels its own call, but an attempt
// whose worker died or whose sibling failed does not. The sweep of calls cancels those that StopJob cannot cancel
// now.
func (p *Partners) StopJob(ctx context.Context, ref job.RunRef) {
	of := call.JobRun{Job: string(ref.Job), Run: ref.Run}
	if err := p.Calls.StopJob(ctx, ref.Account, of, string(call.NewID())); err != nil {
		p.Log.Warn("calls of an ended job not canceled; the next sweep will", "job_id", ref.Job, "error", err)
	}
}

// partnerFailure converts a refusal to the failure of a node. Its code is the router's error type, from which
// exceptionType derives the exception. The text of a refusal may be shown to clients.
func partnerFailure(model string, r *call.Refusal) error {
	if errors.Is(r, call.ErrOutcomeUnknown) {
		return fault.Wrap(r, fault.Conflict, call.InternalError,
			"%s: the request was sent but its answer is lost; it may be charged and is not sent again; retry the job to send a new request", model)
	}
	kind := fault.Conflict
	switch r.Type {
	case call.InvalidInput, call.PolicyViolation:
		kind = fault.Invalid
	case call.ModelNotFound:
		kind = fault.NotFound
	case call.InsufficientCredits, call.Forbidden, call.NotEnabled:
		kind = fault.Denied
	case call.ServiceUnavailable:
		kind = fault.Unavailable
		if r.Replayed || r.UpstreamStatus != 0 { // the recorded answer of the provider is final
			kind = fault.Conflict
		}
	}
	return fault.Wrap(r, kind, fault.Code(r.Type), "%s: %s", model, refusalText(r))
}

// maxProviderText bounds the text of a provider in a failure.
const maxProviderText = 1000

// refusalText returns the text of a refusal: its type, and the fields that the schema refuses.
func refusalText(r *call.Refusal) string {
	text := r.Type + ": " + r.Detail
	if r.UpstreamDetail != "" && r.UpstreamDetail != r.Detail {
		text += " (" + r.UpstreamDetail + ")"
	}
	var violations []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if len(r.Validation) > 0 && json.Unmarshal(r.Validation, &violations) == nil {
		for _, v := range violations {
			field := "the body"
			if len(v.Loc) > 1 {
				field = fmt.Sprint(v.Loc[1:]...)
			}
			text += "; " + field + ": " + v.Msg
		}
	}
	return fault.Shorten(text, maxProviderText)
}
