// Package jobs serves the jobs of the v2 contract: submissions with an idempotency key, jobs with links to their
// outputs, lists, cancellation and logs. It promises that the answer to an accepted submission is the job that was
// recorded. Package live streams the events of a job.
package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Names reads the names of assets; files.Service implements it.
type Names interface {
	// NameAssets returns the graph of a job with the references to assets replaced by the names of their files.
	NameAssets(ctx context.Context, account string, id job.ID, prompt json.RawMessage) (json.RawMessage, error)
}

// Keys reads the idempotency keys that are in use.
type Keys interface {
	// Check fails with Conflict, idempotency_key_reuse, for a key in use.
	Check(ctx context.Context, account, operation, key string) error
	// Unanswered returns the id of the job that a request with the key made without receiving an answer.
	Unanswered(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error)
	// Answered records that the request was answered with the job. From then on the key is refused.
	Answered(ctx context.Context, account, operation, key string, made uuid.UUID) error
}

// Calls records calls of deployments; deployment.Service implements it.
type Calls interface {
	Call(ctx context.Context, c deployment.Call) (deployment.Called, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Jobs    jobio.Commands
	Reader  jobio.Reader
	Queue   jobio.Queue
	Sources jobio.Sources
	Steps   jobio.Steps // nil = progress is counted by whole nodes
	Links   jobio.Links
	Keys    Keys  // nil = an invalid workflow is refused before a key in use
	Names   Names // nil = graphs contain references to assets as submitted
	Waits   jobio.Waits
	Logs    *job.Logs // nil = jobs have no logs
	Ends    *Ends
	Calls   Calls // nil = there are no deployments
}

// Options are the tunables of the surface.
type Options struct {
	MaxPrompt    int64         // bytes of a submission
	JobRetention time.Duration // from submission to expires_at
	MaxWaits     int           // waiting requests of one account on this process
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts  Options
	waits *limit.Connections
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, waits: limit.NewConnections(opts.MaxWaits)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.jobRoutes(), s.logRoutes()...) }

// Limits of the labels of a job.
const (
	maxLabels     = 32
	maxLabelName  = 64
	maxLabelValue = 512
)

// maxPriority bounds the advisory priority.
const maxPriority = 1_000_000

func (s *Surface) jobRoutes() []edge.Route {
	return edge.V2(
		edge.Route{Method: http.MethodPost, Path: "/jobs", Access: edge.Store, Limit: s.opts.MaxPrompt, Mounted: true, Handle: s.postJob},
		edge.Route{Method: http.MethodGet, Path: "/jobs", Mounted: true, Handle: s.listJobs, Gate: s.Edge.JobLists},
		edge.Route{Method: http.MethodGet, Path: "/jobs/:id", Mounted: true, Handle: edge.Of(s.find, s.writeJob)},
		edge.Route{Method: http.MethodGet, Path: "/openapi.json", Mounted: true, Handle: s.getDocument},
		edge.Route{Method: http.MethodGet, Path: "/jobs/:id/workflow", Handle: edge.Of(s.job, s.getWorkflow)},
		edge.Route{Method: http.MethodPost, Path: "/jobs/:id/cancel", Access: edge.Write, Mounted: true, Handle: edge.Of(s.job, s.cancelJob)},
	)
}

// jobRequest is the body of POST /api/v2/jobs.
type jobRequest struct {
	Workflow  json.RawMessage `json:"workflow"`
	ExtraData json.RawMessage `json:"extra_data"`
	Metadata  json.RawMessage `json:"metadata"`
	Priority  json.RawMessage `json:"priority"`
	Webhook   json.RawMessage `json:"webhook_url"`
	Inputs    json.RawMessage `json:"inputs"`
}

// postJob accepts a workflow: POST /api/v2/jobs. The checks run in the order of the contract: format, key, workflow,
// capacity.
func (s *Surface) postJob(c *gin.Context) error {
	var req jobRequest
	if err := request.Submission(c, &req, jobio.MaxMembers); err != nil {
		return err
	}
	sub, err := req.submission(edge.Mount(c))
	if err != nil {
		return err
	}
	if sub.IdempotencyKey, err = request.IdempotencyKey(c.Request); err != nil {
		return err
	}
	if err := req.checkReserved(c); err != nil {
		return err
	}
	if sub, err = jobio.Prepare(c, s.Edge, sub); err != nil {
		return err
	}
	made, err := s.submit(c, sub)
	if err != nil {
		return err
	}
	return s.writeCreated(c, sub, made)
}

// checkReserved refuses members that the route does not take: below the path of a deployment inputs only, elsewhere a graph only.
func (r jobRequest) checkReserved(c *gin.Context) error {
	if !jobio.IsNull(r.Webhook) || !jobio.IsNull(r.Inputs) && edge.Mount(c) == nil {
		return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "webhook_url and inputs are reserved: leave them out")
	}
	if !jobio.IsNull(r.Workflow) {
		return jobio.CheckGraphs(c, "a workflow in place of the inputs")
	}
	return nil
}

func (r jobRequest) submission(mount *edge.Mounted) (job.Submission, error) {
	called := mount != nil && jobio.IsNull(r.Workflow)
	if !called && (len(r.Workflow) == 0 || r.Workflow[0] != '{') { // the parser of graphs checks the members
		return job.Submission{}, fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "workflow must be an object: a graph in API format")
	}
	var inputs map[string]json.RawMessage
	if called {
		if err := json.Unmarshal(r.Inputs, &inputs); !jobio.IsNull(r.Inputs) && (err != nil || r.Inputs[0] != '{') {
			return job.Submission{}, fault.New(fault.Invalid, fault.CodeInvalidInput, "inputs must be an object: the values of the inputs by name")
		}
	}
	extra, err := r.extraData()
	if err != nil {
		return job.Submission{}, err
	}
	labels, err := r.labels()
	if err != nil {
		return job.Submission{}, err
	}
	number, err := r.number()
	if err != nil {
		return job.Submission{}, err
	}
	credential, rest := jobio.SplitCredential(extra)
	return job.Submission{
		Surface: job.SurfaceV2, Prompt: r.Workflow, ExtraData: rest, Credential: credential, ComfyOrg: jobio.ComfyOrg(extra), Number: number,
		Metadata: labels, Inputs: inputs,
	}, nil
}

// extraData parses extra_data, a closed object: credentials, the metadata that saved images carry, and additions of
// Millrace, which are checked with the submission. It may be empty.
func (r jobRequest) extraData() (map[string]json.RawMessage, error) {
	if jobio.IsNull(r.ExtraData) {
		return nil, nil
	}
	var extra map[string]json.RawMessage
	if json.Unmarshal(r.ExtraData, &extra) != nil {
		return nil, httperr.Invalidf("extra_data must be an object")
	}
	for name, value := range extra {
		switch name {
		case "api_key_service", "api_key_comfy_org", "auth_token_comfy_org":
			var text string
			if json.Unmarshal(value, &text) != nil || jobio.IsNull(value) {
				return nil, httperr.Invalidf("extra_data.%s must be a string", name)
			}
		case "extra_pnginfo":
			if err := checkPNGInfo(value); err != nil {
				return nil, err
			}
		case "millrace":
		default:
			return nil, httperr.Invalidf("extra_data has no field %q", name)
		}
	}
	return extra, nil
}

// checkPNGInfo refuses a value that is not an object, or whose workflow is not an object.
func checkPNGInfo(value json.RawMessage) error {
	var info map[string]json.RawMessage
	if json.Unmarshal(value, &info) != nil || info == nil {
		return httperr.Invalidf("extra_data.extra_pnginfo must be an object")
	}
	if workflow, ok := info["workflow"]; ok && workflow[0] != '{' {
		return httperr.Invalidf("extra_data.extra_pnginfo.workflow must be an object")
	}
	return nil
}

func (r jobRequest) labels() (map[string]string, error) {
	if jobio.IsNull(r.Metadata) {
		return nil, nil
	}
	var labels map[string]string
	if err := json.Unmarshal(r.Metadata, &labels); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeMetadataInvalid, "metadata must map names to strings")
	}
	if len(labels) > maxLabels {
		return nil, fault.New(fault.Invalid, fault.CodeMetadataInvalid, "metadata may have at most %d labels", maxLabels)
	}
	for name, value := range labels {
		if name == "" || len(name) > maxLabelName || len(value) > maxLabelValue {
			return nil, fault.New(fault.Invalid, fault.CodeMetadataInvalid,
				"a label must have a name of 1 to %d bytes and a value of at most %d", maxLabelName, maxLabelValue)
		}
	}
	return labels, nil
}

// number converts the advisory priority to a queue number. Lower numbers run first, and numbers of jobs without
// priority count up from 1, so each step of priority outweighs ten million jobs.
func (r jobRequest) number() (*float64, error) {
	if jobio.IsNull(r.Priority) {
		return nil, nil
	}
	var priority int
	if json.Unmarshal(r.Priority, &priority) != nil || priority < -maxPriority || priority > maxPriority {
		return nil, httperr.Invalidf("priority must be a whole number from %d to %d", -maxPriority, maxPriority)
	}
	if priority == 0 {
		return nil, nil
	}
	n := -float64(priority) * priorityStep
	return &n, nil
}

const priorityStep = 1e7

// priorityOf returns the priority with which a job of this surface was submitted, or 0.
func priorityOf(j job.Job) int {
	steps := -j.Number / priorityStep
	if j.Surface != job.SurfaceV2 || steps != math.Trunc(steps) {
		return 0
	}
	return int(steps)
}

// writeJob answers with a job: GET /api/v2/jobs/{id}.
func (s *Surface) writeJob(c *gin.Context, j job.Job) error {
	body, err := s.renderJob(c, j)
	return edge.OK(c, body, err)
}

// getDocument describes the calls of a deployment: GET /api/v2/openapi.json below its path.
func (s *Surface) getDocument(c *gin.Context) error {
	m := edge.Mount(c)
	if m == nil {
		return httperr.NoSuchPath()
	}
	version := cmp.Or(m.Pinned, m.Live)
	schema, err := s.Edge.Deployments.Schema(c.Request.Context(), m.Deployment, version)
	if err != nil {
		return err
	}
	return edge.OK(c, schema.OpenAPI(callable.Service{
		Deployment: m.Name, Version: version, BaseURL: s.Edge.BaseURL(c.Request) + "/api/v2",
	}), nil)
}

type workflowResponse struct {
	Workflow json.RawMessage `json:"workflow"`
	Format   string          `json:"format"`
}

// getWorkflow returns the graph that ran, without extra_data: GET /api/v2/jobs/{id}/workflow. References to assets
// are replaced by the names of their files.
func (s *Surface) getWorkflow(c *gin.Context, j job.Job) error {
	if err := jobio.CheckGraphs(c, "the graph"); err != nil {
		return err
	}
	src, err := s.Sources.Load(c.Request.Context(), j.Account, j.ID)
	if err != nil {
		return err
	}
	if s.Names != nil {
		if src.Prompt, err = s.Names.NameAssets(c.Request.Context(), j.Account, j.ID, src.Prompt); err != nil {
			return err
		}
	}
	return edge.OK(c, workflowResponse{Workflow: src.Prompt, Format: "api"}, nil)
}

// cancelJob cancels a job and answers with its new state: POST /api/v2/jobs/{id}/cancel. It does not change a job
// that has ended.
func (s *Surface) cancelJob(c *gin.Context, j job.Job) error {
	if j.State.Final() {
		return s.writeJob(c, j)
	}
	if _, err := s.Jobs.CancelMany(c.Request.Context(), j.Account, []job.ID{j.ID}, edge.RequestID(c)); err != nil {
		return err
	}
	return edge.Of(s.job, s.writeJob)(c)
}

// job returns the caller's job that the path names.
func (s *Surface) job(c *gin.Context) (job.Job, error) { return jobio.Find(c, s.Reader) }
