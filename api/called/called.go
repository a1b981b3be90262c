// Package called calls deployments for the surfaces whose clients wait for the outputs: the model router, the images API of OpenAI, and
// MCP. It promises that a call with an idempotency key is one job however often it is sent, and that the outputs of a job have the names
// of the deployment. Each surface decides the format of an answer, and what happens to the job of a client that leaves.
package called

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Deployments are the deployments of accounts; deployment.Service implements it.
type Deployments interface {
	Call(ctx context.Context, c deployment.Call) (deployment.Called, error)
	Check(ctx context.Context, d deployment.Deployment, number int, inputs map[string]json.RawMessage, onlySent bool) error
	Surcharged(ctx context.Context, d deployment.Deployment, number int) (bool, error)
	Find(ctx context.Context, account, name string) (deployment.Deployment, error)
	List(ctx context.Context, account string) ([]deployment.Deployment, error)
	Schema(ctx context.Context, d deployment.Deployment, number int) (*callable.Schema, error)
}

// Ends tells when jobs end; jobs.Ends implements it.
type Ends interface {
	// Watch returns a channel that is closed when the job ends. The caller must call release.
	Watch(id job.ID) (ended <-chan struct{}, release func())
}

// Keys reads idempotency keys; keystore.Keys implements it.
type Keys interface {
	// Holder returns the id of what was made for a key, unless its answer may not be repeated.
	Holder(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Deployments Deployments
	Jobs        jobio.Commands
	Reader      jobio.Reader
	Sources     jobio.Sources
	Queue       jobio.Queue
	Ends        Ends
	Keys        Keys
	Links       jobio.Links
	Logger      *slog.Logger
	MaxWaits    int // requests of one account that wait for jobs in this process
}

// Service calls deployments.
type Service struct {
	Deps
	waits *limit.Connections
}

// New returns a Service over its dependencies.
func New(deps Deps) *Service { return &Service{deps, limit.NewConnections(deps.MaxWaits)} }

// Enter counts a request of an account that will wait for jobs; the caller must call leave. If too many wait already, it is
// too_many_streams, and the request must record nothing.
func (s *Service) Enter(account string) (leave func(), err error) {
	if !s.waits.Acquire(account) {
		return nil, fault.New(fault.Exhausted, fault.CodeTooManyStreams, "too many requests of the account wait for jobs; try again later").
			WithRetryAfter(time.Second)
	}
	return func() { s.waits.Release(account) }, nil
}

// Caller is who sends a call, and by which surface.
type Caller struct {
	account.Identity
	Secret    string // of the request; it is not recorded
	RequestID string
	BaseURL   string // begins the links of the answer
	Surface   job.Surface
}

// CallerOf returns the caller of a request.
func CallerOf(c *gin.Context, e *edge.Edge, surface job.Surface) Caller {
	return Caller{
		Identity: edge.Caller(c), Secret: edge.Credential(c.Request), RequestID: edge.RequestID(c), BaseURL: e.BaseURL(c.Request),
		Surface: surface,
	}
}

// Find returns the deployment that the caller may call with a name or an id.
func (s *Service) Find(ctx context.Context, by Caller, name string) (deployment.Deployment, error) {
	d, err := s.Deployments.Find(ctx, by.Account, name)
	if err == nil && !by.Calls(d.Name) {
		err = deployment.ErrNone(name)
	}
	return d, err
}

// List returns the deployments that the caller may call in order of their names.
func (s *Service) List(ctx context.Context, by Caller) ([]deployment.Deployment, error) {
	all, err := s.Deployments.List(ctx, by.Account)
	return slices.DeleteFunc(all, func(d deployment.Deployment) bool { return !by.Calls(d.Name) }), err
}

// Call is an accepted call.
type Call struct {
	deployment.Called
	Replayed bool // a request with the same idempotency key made the job
}

// Begin records a call of a deployment. A call with a key that was used for the same deployment and the same values is the job that was
// made then; a key that was used otherwise is idempotency_key_reuse.
func (s *Service) Begin(
	ctx context.Context, by Caller, d deployment.Deployment, key string, inputs map[string]json.RawMessage,
) (Call, error) {
	sub, err := jobio.PrepareFor(by.Identity, by.Secret, by.RequestID, job.Submission{
		Surface: by.Surface, IdempotencyKey: key, Inputs: inputs,
	})
	if err != nil {
		return Call{}, err
	}
	made, err := s.Deployments.Call(ctx, deployment.Call{Deployment: string(d.ID), OnlySent: by.Limited(), Submission: sub})
	if err == nil || key == "" {
		return Call{Called: made}, err
	}
	before, ok, keyErr := s.replay(ctx, d, by.Account, key, deployment.Digest(sub.Inputs))
	if keyErr != nil || ok {
		return before, keyErr
	}
	return Call{}, err
}

// replay returns the call for which a key was used, if it is the same.
func (s *Service) replay(ctx context.Context, d deployment.Deployment, account, key, asked string) (c Call, same bool, err error) {
	id, ok, err := s.Keys.Holder(ctx, account, job.KeyOperation, key)
	if err != nil || !ok {
		return Call{}, false, err
	}
	j, err := s.Reader.Job(ctx, account, job.ID(id.String()))
	if fault.Is(err, fault.NotFound) {
		return Call{}, false, nil // the key was used for another operation
	}
	if err != nil || j.Deployment == nil || j.Deployment.ID != string(d.ID) {
		return Call{}, false, err
	}
	src, err := s.Sources.Load(ctx, account, j.ID)
	if err != nil || src.Asked != asked {
		return Call{}, false, err
	}
	return Call{Called: deployment.Called{Job: j, Deployment: d, Version: j.Deployment.Version}, Replayed: true}, true, nil
}

// Wait returns the job when it has ended. With an error, it returns the job as it was known.
func (s *Service) Wait(ctx context.Context, j job.Job) (job.Job, error) {
	ended, release := s.Ends.Watch(j.ID)
	defer release()
	now, err := s.Reader.Job(ctx, j.Account, j.ID) // it may have ended before Watch
	if err != nil {
		return j, err
	}
	if now.State.Final() {
		return now, nil
	}
	select {
	case <-ended:
		last, err := s.Reader.Job(ctx, j.Account, j.ID)
		if err != nil {
			return j, err
		}
		if now = last; !now.State.Final() {
			err = fault.New(fault.Unavailable, fault.CodeUnavailable, "this process stops; send the request again").WithRetryAfter(time.Second)
		}
		return now, err
	case <-ctx.Done():
		return now, context.Cause(ctx)
	}
}

// cancelWithin bounds the cancellation of jobs whose client has left.
const cancelWithin = 10 * time.Second

// Abandon asks jobs to stop whose outputs nobody will read.
func (s *Service) Abandon(ctx context.Context, by Caller, made ...job.Job) {
	ids := make([]job.ID, len(made))
	for i, j := range made {
		ids[i] = j.ID
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if _, err := s.Jobs.CancelMany(ctx, by.Account, ids, by.RequestID); err != nil {
		s.Logger.Warn("jobs of an abandoned request not canceled", "request_id", by.RequestID, "error", err)
	}
}

// Names returns a job in words of its deployment: its outputs by name, and a failure that names the inputs of its node.
func (s *Service) Names(ctx context.Context, d deployment.Deployment, j job.Job) jobio.Names {
	schema, err := s.Deployments.Schema(ctx, d, j.Deployment.Version)
	if err != nil {
		schema = nil
		if !fault.Is(err, fault.NotFound) { // the deployment was not deleted
			s.Logger.Warn("schema of a deployment not read; a job is described without its inputs", "job_id", j.ID, "error", err)
		}
	}
	return jobio.CallNames(j.Deployment, schema)
}

// File is a file of an output.
type File struct {
	URL          string `json:"url"`
	URLExpiresAt string `json:"url_expires_at"`
	AssetID      string `json:"asset_id"`
	Name         string `json:"name"`
	ContentType  string `json:"content_type"`
	SizeBytes    int64  `json:"size_bytes"`
	Hash         string `json:"hash,omitempty"`
}

// Outputs returns the outputs of a job by name: the files of an output or, if its node saves none, the value that it shows.
func (s *Service) Outputs(by Caller, j job.Job) map[string]any {
	outputs := make(map[string]any, len(j.Targets))
	for _, id := range j.Targets {
		outputs[j.Deployment.Output(id)] = []File{}
	}
	for _, n := range j.Outputs {
		name, _ := j.Deployment.OutputOf(n)
		if name == "" {
			continue
		}
		if len(n.Files) == 0 && n.Within == nil {
			outputs[name] = shown(n.UI)
		}
		for _, f := range n.Files {
			files, _ := outputs[name].([]File)
			outputs[name] = append(files, s.file(by, j, f))
		}
	}
	return outputs
}

func (s *Service) file(by Caller, j job.Job, f job.OutputFile) File {
	body := jobio.RenderOutput(s.Links, by.BaseURL, j.PublicID(), jobio.Output{File: f})
	return File{
		URL: body.URL, URLExpiresAt: body.URLExpiresAt, AssetID: body.ID, Name: body.Name, ContentType: body.ContentType,
		SizeBytes: body.SizeBytes, Hash: f.Hash,
	}
}

// shown returns the value that a node without files shows: its text, or all that it shows.
func shown(ui json.RawMessage) any {
	var texts struct {
		Text []any `json:"text"`
	}
	switch err := json.Unmarshal(ui, &texts); {
	case err != nil || texts.Text == nil:
		return ui
	case len(texts.Text) == 1:
		return texts.Text[0]
	}
	return texts.Text
}

// Failure returns why a job that has ended did not succeed, in words of its deployment.
func (s *Service) Failure(ctx context.Context, d deployment.Deployment, j job.Job) string {
	if j.Error == nil {
		return "the job was " + string(j.State)
	}
	return s.Names(ctx, d, j).Job(j).Error.Message
}
