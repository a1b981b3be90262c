package router

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// ownProvider is the provider segment of the deployments of the caller's account, which are models like any other. A call of one is a
// job, whose id is that of the request.
const ownProvider = "deployments"

// either handles a request by model, or by own if the path names a deployment.
func (s *Surface) either(model, own func(*gin.Context) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if s.Called == nil || c.Param("provider") != ownProvider || c.Param("variant") != "" {
			if edge.Caller(c).Limited() {
				return call.Refuse(fault.Denied, call.Forbidden, "this key may call deployments only")
			}
			return model(c)
		}
		err := deployment.ErrNone(c.Param("model"))
		if edge.Caller(c).Calls(c.Param("model")) {
			err = own(c)
		}
		if err != nil {
			return ownRefusal(err, isRequests(c.Request.URL.Path))
		}
		return nil
	}
}

func (s *Surface) caller(c *gin.Context) called.Caller {
	return called.CallerOf(c, s.Edge, job.SurfaceRouter)
}

// findOwn returns the deployment that the path names, if it answers calls.
func (s *Surface) findOwn(c *gin.Context) (deployment.Deployment, error) {
	d, err := s.Called.Find(c.Request.Context(), s.caller(c), c.Param("model"))
	if err == nil {
		err = d.Refusal(d.Name)
	}
	if err == nil {
		edge.NameVersion(c, d.Name, d.Live)
	}
	return d, err
}

// withOwn adds the deployments of the caller to a page of the list that begins after the model with an id.
func (s *Surface) withOwn(c *gin.Context, page []modelEntry, after string, limit int, all bool) (list []modelEntry, more bool, err error) {
	if s.Called == nil {
		return page, false, nil
	}
	own, err := s.Called.List(c.Request.Context(), s.caller(c))
	for _, d := range own {
		e := ownEntry(d)
		if e.ID <= after || d.State != deployment.Ready && !all || strings.Contains(d.Name, "--") { // which ids of models cannot have
			continue
		}
		if all {
			enabled := d.State == deployment.Ready
			e.Enabled = &enabled
		}
		page = append(page, e)
	}
	slices.SortFunc(page, func(a, b modelEntry) int { return strings.Compare(a.ID, b.ID) })
	return page[:min(len(page), limit)], len(page) > limit, err
}

func ownEntry(d deployment.Deployment) modelEntry {
	return modelEntry{
		ID: ownProvider + "/" + d.Name, Provider: ownProvider, Model: d.Name, Billing: modelBilling{catalog.ChargesNo},
	}
}

// getOwn reads one deployment: GET /v2/models/deployments/{name}.
func (s *Surface) getOwn(c *gin.Context) error {
	d, err := s.findOwn(c)
	if err != nil {
		return err
	}
	detail := modelDetail{modelEntry: ownEntry(d)}
	if address := s.Edge.BaseURL(c.Request) + c.Request.URL.Path + "/openapi.json"; strings.HasPrefix(address, "https://") {
		detail.InputSchemaURL = address
	}
	c.Header("Cache-Control", "private, max-age=0, must-revalidate")
	return edge.OK(c, detail, nil)
}

// getOwnSchema reads the schemas of the version that answers: GET …/openapi.json.
func (s *Surface) getOwnSchema(c *gin.Context) error {
	d, err := s.findOwn(c)
	if err != nil {
		return err
	}
	schema, err := s.Called.Deployments.Schema(c.Request.Context(), d, d.Live)
	if err != nil {
		return err
	}
	of := callable.Service{Deployment: d.Name, Version: d.Live, BaseURL: s.Edge.BaseURL(c.Request)}
	content := schema.ModelOpenAPI(of, "/"+string(versionOf(c.Request.URL.Path))+"/models/"+ownProvider+"/"+d.Name)
	sum := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
	c.Header("ETag", tag)
	c.Header("Cache-Control", "private, max-age=0, must-revalidate") // a promotion changes it
	if edge.Unchanged(c, tag) {
		return nil
	}
	c.Data(http.StatusOK, "application/json", content)
	return nil
}

// ownCall is a call of a deployment, as its caller sent it.
type ownCall struct {
	deployment deployment.Deployment
	key        string
	inputs     map[string]json.RawMessage
}

// readOwn reads the body of a call of a deployment: its inputs by name. The body counts in memory, which the caller releases.
func (s *Surface) readOwn(c *gin.Context, memory *limit.Reservation) (ownCall, error) {
	d, err := s.findOwn(c)
	if err != nil {
		return ownCall{}, err
	}
	inv, err := s.invocation(c, memory)
	if err != nil {
		return ownCall{}, err
	}
	if by := inv.Options.ModelProvider; by != "" && by != "default" {
		return ownCall{}, call.Refuse(fault.Invalid, call.InvalidInput, "model_provider is not accepted for a deployment")
	}
	made := ownCall{deployment: d, key: inv.Key}
	if json.Unmarshal(inv.Body, &made.inputs) != nil || made.inputs == nil {
		return ownCall{}, call.Refuse(fault.Invalid, call.InvalidInput, "the body is not a JSON object")
	}
	return made, nil
}

// beginOwn records a call of a deployment as a job.
func (s *Surface) beginOwn(c *gin.Context) (called.Call, string, error) {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	r, err := s.readOwn(c, memory)
	if err != nil {
		return called.Call{}, "", err
	}
	made, err := s.Called.Begin(c.Request.Context(), s.caller(c), r.deployment, r.key, r.inputs)
	if err == nil {
		edge.NameVersion(c, r.deployment.Name, made.Version)
	}
	return made, r.key, err
}

// runOwn calls a deployment and waits for the outputs: POST /v2/models/deployments/{name}. The job of a client that leaves is
// canceled, unless the client can collect its outputs by an idempotency key.
func (s *Surface) runOwn(c *gin.Context) error {
	leave, err := s.Called.Enter(edge.Caller(c).Account)
	if err != nil {
		return err
	}
	defer leave()
	made, key, err := s.beginOwn(c)
	switch {
	case err != nil:
		return err
	case made.Replayed && !made.Job.State.Final():
		return call.StillRunning()
	case made.Replayed:
		return s.answerOwn(c, made.Job, true)
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), cmp.Or(s.opts.Deadline, defaultDeadline))
	defer cancel()
	j, err := s.Called.Wait(ctx, made.Job)
	if err == nil {
		return s.answerOwn(c, j, false)
	}
	if key == "" {
		s.Called.Abandon(ctx, s.caller(c), made.Job)
	}
	switch {
	case c.Request.Context().Err() != nil:
		return call.Refuse(fault.Canceled, call.ClientDisconnected, "the caller closed the connection before the result")
	case ctx.Err() == nil:
		return err
	}
	late := call.Refuse(fault.Unavailable, call.DeadlineExceeded, "the router stopped waiting for the job")
	if key != "" {
		late.RetryAfter = call.StillRunning().RetryAfter
	}
	return late
}

// defaultDeadline is the time for which a run keeps its connection open (router contract: ten minutes).
const defaultDeadline = 10 * time.Minute

// answerOwn answers with the outputs of a job that has ended, or with its failure.
func (s *Surface) answerOwn(c *gin.Context, j job.Job, replayed bool) error {
	if j.State != job.Succeeded {
		r := s.unsuccessful(c, j)
		r.Replayed = replayed
		return r
	}
	raw, err := edge.JSON(map[string]any{"outputs": s.Called.Outputs(s.caller(c), j)})
	if err != nil {
		return err
	}
	return s.writeAnswer(c, call.DocumentResult(raw, replayed))
}

// unsuccessful returns the refusal of a job that has ended without outputs.
func (s *Surface) unsuccessful(c *gin.Context, j job.Job) *call.Refusal {
	kind, errorType := fault.Unavailable, ownError(j)
	switch {
	case j.State != job.Canceled:
	case !isRequests(c.Request.URL.Path): // where the contract has no type for it
		kind, errorType = fault.Conflict, call.InvalidInput
	default:
		kind = fault.Conflict
	}
	d, err := s.Called.Find(c.Request.Context(), s.caller(c), j.Deployment.ID)
	if err != nil { // it was deleted; the names of its outputs are part of the job
		d = deployment.Deployment{}
	}
	return call.Refuse(kind, errorType, "%s", s.Called.Failure(c.Request.Context(), d, j))
}

// ownError returns the error type of a job that has ended without outputs.
func ownError(j job.Job) string {
	switch j.State {
	case job.Canceled:
		return call.CancelledType
	case job.Expired:
		return call.QueueTimeout
	case job.Failed, job.Queued, job.Running, job.Canceling, job.Succeeded:
	}
	return call.ProviderError
}

// queueOwn queues a call of a deployment: POST /v2/models/deployments/{name}/requests.
func (s *Surface) queueOwn(c *gin.Context) error {
	made, _, err := s.beginOwn(c)
	if err != nil {
		return err
	}
	p, err := s.ownProgress(c, made.Job)
	if err != nil {
		return err
	}
	body := s.request(c, p.Call)
	body.Status, body.Position = call.InQueue, p.Ahead
	if body.Position == nil { // it runs already
		body.Position = new(int64)
	}
	setReplayed(c, made.Replayed)
	c.Header("X-Service-Request-Id", string(p.Call)) // the contract has one id for the request and its handle
	c.Header("X-Comfy-Request-Id", string(p.Call))
	c.Header("Cache-Control", "no-store")
	return edge.Answer(c, http.StatusCreated, body, nil)
}

// ownProgress returns the progress of a job in terms of the queued delivery.
func (s *Surface) ownProgress(c *gin.Context, j job.Job) (p call.Progress, err error) {
	p = call.Progress{Call: call.ID(j.PublicID()), Status: call.InProgress, RetryAfter: 1}
	switch {
	case j.State == job.Queued:
		p.Status = call.InQueue
		p.Ahead, err = jobio.QueuePosition(c.Request.Context(), s.Called.Queue, j)
	case j.State == job.Succeeded:
		p.Status = call.Completed
	case j.State.Final():
		p.Status, p.ErrorType = call.Completed, ownError(j)
	}
	return p, err
}

// ownJob returns the job that the path of a request names.
func (s *Surface) ownJob(c *gin.Context) (job.Job, error) {
	none := fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	id, err := job.ParsePublicID(c.Param("id"))
	if err != nil {
		return job.Job{}, none
	}
	j, err := s.Called.Reader.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
	if err == nil && (j.Deployment == nil || c.Param("model") != j.Deployment.Name && c.Param("model") != j.Deployment.ID) {
		return job.Job{}, none
	}
	if err == nil {
		edge.NameVersion(c, j.Deployment.Name, j.Deployment.Version)
	}
	return j, err
}

// getOwnStatus serves the status of a request: GET …/requests/{id}/status.
func (s *Surface) getOwnStatus(c *gin.Context) error {
	j, err := s.ownJob(c)
	if err == nil {
		err = s.writeOwnProgress(c, http.StatusOK, j)
	}
	return err
}

func (s *Surface) writeOwnProgress(c *gin.Context, status int, j job.Job) error {
	p, err := s.ownProgress(c, j)
	if err == nil {
		s.progress(c, status, p)
	}
	return err
}

// getOwnResult returns the outputs of a request, or 202 while it is unfinished: GET …/requests/{id}.
func (s *Surface) getOwnResult(c *gin.Context) error {
	j, err := s.ownJob(c)
	switch {
	case err != nil:
		return err
	case !j.State.Final():
		return s.writeOwnProgress(c, http.StatusAccepted, j)
	}
	return s.answerOwn(c, j, false)
}

// cancelOwn requests that a request stop: PUT …/requests/{id}/cancel.
func (s *Surface) cancelOwn(c *gin.Context) error {
	j, err := s.ownJob(c)
	if err != nil {
		return err
	}
	active, err := s.Called.Jobs.CancelMany(c.Request.Context(), j.Account, []job.ID{j.ID}, edge.RequestID(c))
	if err != nil {
		return err
	}
	return writeCanceled(c, call.ID(j.PublicID()), len(active) > 0)
}

// estimateOwn prices a call of a deployment without running it: POST …/estimate.
func (s *Surface) estimateOwn(c *gin.Context) error {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	r, err := s.readOwn(c, memory)
	if err != nil {
		return err
	}
	ctx, d, price := c.Request.Context(), r.deployment, s.opts.JobPrice
	if err := s.Called.Deployments.Check(ctx, d, d.Live, r.inputs, edge.Caller(c).Limited()); err != nil {
		return err
	}
	more, err := s.Called.Deployments.Surcharged(ctx, d, d.Live)
	if err != nil {
		return err
	}
	e := catalog.Estimate{Source: catalog.PriceExact, Min: price.Run}
	if price.NodeSecond > 0 || more {
		e = catalog.Estimate{Source: catalog.PriceUnknown, Reason: "a job costs $" + amount.Dollars(price.Run) + " and $" +
			amount.Dollars(price.NodeSecond) + " for each second of a node; partner models and servers have prices of their own"}
	}
	c.Header("Cache-Control", "no-store")
	return edge.OK(c, estimateOf(e), nil)
}

// ownRefusal returns the error of a call of a deployment in terms of the router contract.
func ownRefusal(err error, queued bool) error {
	var r *call.Refusal
	var f *fault.Error
	if errors.As(err, &r) || !errors.As(err, &f) {
		return err
	}
	refuse := func(errorType string) *call.Refusal {
		r := call.Refuse(f.Kind, errorType, "%s", f.Message)
		r.RetryAfter = int((f.RetryAfter + time.Second - 1) / time.Second)
		return r
	}
	switch f.Code {
	case fault.CodeDeploymentNotFound, fault.CodeVersionNotFound, fault.CodeDeploymentStopped:
		r = call.Refuse(fault.NotFound, call.ModelNotFound, "%s", f.Message)
	case fault.CodeJobNotFound:
		r = call.Refuse(fault.NotFound, call.RequestNotFound, "this request does not exist")
	case fault.CodeDeploymentNotReady:
		r = refuse(call.ServiceUnavailable)
	case fault.CodeInsufficientCredits:
		r = refuse(call.InsufficientCredits)
	case fault.CodeSubscriptionInactive, fault.CodeCredentialRequired:
		r = call.Refuse(fault.Denied, call.Forbidden, "%s", f.Message)
	case fault.CodeIdempotencyKeyReuse:
		r = refuse(call.InvalidInput)
	case fault.CodeTooManyStreams:
		r = refuse(call.ConcurrencyLimit)
	case fault.CodeQueueFull:
		if r = refuse(call.ConcurrencyLimit); queued {
			r = refuse(call.QueueBacklogFull)
		}
	case fault.CodeInvalidInput, fault.CodeMissingAsset:
		r = call.RefuseWith(fault.Invalid, fault.CodeContents, call.InvalidInput, "%s", f.Message)
		r.Validation = violations(err)
	default:
		return err
	}
	return r
}

// violations returns the inputs that a call was refused for, or nil.
func violations(err error) json.RawMessage {
	var refused *callable.Invalid
	if !errors.As(err, &refused) {
		return nil
	}
	type entry struct {
		Loc  []string `json:"loc"`
		Msg  string   `json:"msg"`
		Type string   `json:"type"`
	}
	all := make([]entry, len(refused.Problems))
	for i, p := range refused.Problems {
		all[i] = entry{[]string{"body", p.Input}, p.String(), "value_error"}
	}
	raw, _ := json.Marshal(all) // texts have always a JSON form
	return raw
}
