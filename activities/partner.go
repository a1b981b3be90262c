package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
)

// NodeCalls runs models for nodes; call.Service is it.
type NodeCalls interface {
	RunNode(ctx context.Context, inv call.Invocation) (*call.Result, error)
	StopNode(ctx context.Context, account, key, requestID string) error
	StopJob(ctx context.Context, account string, of call.JobRun, requestID string) error
}

// NodeAccess knows what the credential that came with a job allows.
type NodeAccess interface {
	// Access returns it, or Unauthenticated when the job has no credential or it is not good any more.
	Access(ctx context.Context, ref job.RunRef) (account.Access, error)
}

// NodeContent opens what addresses in a model's answer point to.
type NodeContent interface {
	Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error)
}

// Partners are what nodes of partner models need.
type Partners struct {
	Calls   NodeCalls
	Access  NodeAccess // nil: there are no accounts, and nobody needs a credential
	Content NodeContent
	Base    string // links to copied assets begin with it; only this service follows them
	Log     *slog.Logger
}

// For returns what the node of a run calls models through.
func (p *Partners) For(ref job.RunRef, nodeID string) node.Models {
	return &partnerRun{Partners: p, ref: ref, node: nodeID}
}

// partnerRun is one run of one node.
type partnerRun struct {
	*Partners
	ref   job.RunRef
	node  string
	index int // of the next call
}

// maxNodeInKey bounds the part of an idempotency key that is a node's id; a longer id is replaced by its hash.
const maxNodeInKey = 64

// key names a call of the node; it is the same on every attempt of the same run, and no other's.
func (r *partnerRun) key() string {
	id := r.node
	if len(id) > maxNodeInKey {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf("node:%s:%d:%d:%s", r.ref.Job, r.ref.Run, r.index, id)
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
	res, err := r.runToEnd(ctx, inv)
	if err != nil {
		return node.ModelAnswer{}, err
	}
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
	// outages is how often a part that is away is asked again before the attempt ends; the engine begins
	// another one then.
	outages = 20
	// longestWait bounds the wait between two tries.
	longestWait = 15 * time.Second
)

// runToEnd runs the call until it ends. What is said by "try again with the same key" is tried again: the call
// goes on, the account's places are taken, or a part of ours is away.
func (r *partnerRun) runToEnd(ctx context.Context, inv call.Invocation) (*call.Result, error) {
	for outage := 0; ; {
		inv.RequestID = string(call.NewID())
		res, err := r.Calls.RunNode(ctx, inv)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return nil, r.left(ctx, inv)
		}
		refusal := call.RefusalOf(err)
		if refusal.Status == 503 {
			outage++
		}
		if !passing(refusal) || outage > outages {
			return nil, partnerFailure(inv.Model, refusal)
		}
		if err := pause(ctx, time.Duration(max(1, refusal.RetryAfter))*time.Second); err != nil {
			return nil, r.left(ctx, inv)
		}
	}
}

// passing reports a refusal that the same request overcomes by waiting.
func passing(r *call.Refusal) bool {
	switch r.Type {
	case call.ConcurrencyLimit, call.RateLimited, call.DeadlineExceeded, call.ServiceUnavailable:
		return !r.Replayed && r.UpstreamStatus == 0 && r.Spend == nil
	}
	return false
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, longestWait))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// stopWithin bounds asking a call to stop.
const stopWithin = 10 * time.Second

// left ends the waiting for a call. Only when the job is to stop is the call asked to, too: otherwise the
// next attempt collects its answer.
func (r *partnerRun) left(ctx context.Context, inv call.Invocation) error {
	cause := context.Cause(ctx)
	given := fault.Wrap(cause, fault.Canceled, "canceled", "the node was interrupted") // a worker that shuts down is no failure of the node
	if !errors.Is(cause, errStopped) {
		return given
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := r.Calls.StopNode(stop, inv.Account, inv.Key, string(call.NewID())); err != nil {
		r.Log.Warn("the call of a stopped node goes on", "job_id", r.ref.Job, "node_id", r.node, "error", err)
	}
	return given
}

func (r *partnerRun) run() *call.JobRun { return &call.JobRun{Job: string(r.ref.Job), Run: r.ref.Run} }

// StopJob stops the calls that the nodes of an ended run still have under way. An interrupted attempt stops its own
// call; an attempt whose worker died, or whose sibling failed, does not. The sweep of calls finds those that cannot be
// stopped now.
func (p *Partners) StopJob(ctx context.Context, ref job.RunRef) {
	of := call.JobRun{Job: string(ref.Job), Run: ref.Run}
	if err := p.Calls.StopJob(ctx, ref.Account, of, string(call.NewID())); err != nil {
		p.Log.Warn("calls of an ended job go on until the next sweep", "job_id", ref.Job, "error", err)
	}
}

// partnerFailure is a refusal as the failure of a node. Its code is the router's error type, by which
// exceptionType sorts it; what a refusal says is public.
func partnerFailure(model string, r *call.Refusal) error {
	if errors.Is(r, call.ErrOutcomeUnknown) {
		return fault.Wrap(r, fault.Conflict, call.InternalError, "%s: the request was sent and its answer is lost, so it may be charged and is not sent again; retry the job to order it anew", model)
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
		if r.Replayed || r.UpstreamStatus != 0 { // the provider's, and recorded: it stays so
			kind = fault.Conflict
		}
	}
	return fault.Wrap(r, kind, r.Type, "%s: %s", model, said(r))
}

// maxSaid bounds what a failure repeats of a provider's words.
const maxSaid = 1000

// said is what a refusal says: its type, and the fields that a schema refuses.
func said(r *call.Refusal) string {
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
	if len(text) > maxSaid {
		text = text[:maxSaid] + "…"
	}
	return text
}
