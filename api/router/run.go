package router

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// postRun runs a model and waits for its answer: POST /v2/models/{provider}/{model}.
func (s *Surface) postRun(c *gin.Context) error {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	inv, err := s.invocation(c, memory)
	if err != nil {
		return err
	}
	res, err := s.Calls.Run(c.Request.Context(), inv)
	if err != nil {
		return err
	}
	return s.writeAnswer(c, res)
}

// invocation parses a request to run a model. The service checks the model and its schema, after it has checked that
// the account can pay. The body uses the memory budget until the service has stored it.
func (s *Surface) invocation(c *gin.Context, memory *limit.Reservation) (call.Invocation, error) {
	r := c.Request
	key, err := callKey(r)
	if err != nil {
		return call.Invocation{}, err
	}
	options, err := s.callOptions(c)
	if err != nil {
		return call.Invocation{}, err
	}
	body, err := s.modelBody(c, memory)
	if err != nil {
		return call.Invocation{}, err
	}
	if !catalog.IsForm(kindOf(r)) {
		if err := request.CheckShape(body, request.MaxMembers); err != nil {
			return call.Invocation{}, err
		}
	}
	who := edge.Caller(c)
	return call.Invocation{
		Account: who.Account, Access: who.Access, RequestID: edge.RequestID(c), Key: key, Method: r.Method, Target: r.URL.RequestURI(),
		Model: modelID(c), API: versionOf(r.URL.Path), Options: options, BaseURL: s.Edge.BaseURL(r), ContentType: kindOf(r), Body: body,
		OnStored: memory.Release,
	}, nil
}

// maxFormType bounds the content type of a form. Its boundary has at most 70 characters.
const maxFormType = 256

// kindOf returns the content type of the body: a form's type unchanged, because its boundary is needed to parse the
// form. Every other body is read as JSON.
func kindOf(r *http.Request) string {
	if kind := r.Header.Get("Content-Type"); len(kind) <= maxFormType && catalog.IsForm(kind) {
		return kind
	}
	return "application/json"
}

// maxKeyBytes bounds an Idempotency-Key before it is decoded as text: 255 characters are not longer.
const maxKeyBytes = 255 * utf8.UTFMax

// callKey parses the header Idempotency-Key: one value of 1 to 255 characters, or no header.
func callKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	if key := keys[0]; len(keys) > 1 || key == "" || len(key) > maxKeyBytes || !utf8.ValidString(key) || utf8.RuneCountInString(key) > 255 {
		return "", call.Refuse(fault.Invalid, call.InvalidInput, "Idempotency-Key must have 1 to 255 characters")
	}
	return keys[0], nil
}

// callOptions parses the query parameters of a run. strict_mode forwards the body unchecked, so that
// reject_unknown_fields has no effect with it.
func (s *Surface) callOptions(c *gin.Context) (call.Options, error) {
	strict, err := boolean(c, "strict_mode")
	if err != nil {
		return call.Options{}, err
	}
	reject, err := boolean(c, "reject_unknown_fields")
	if err != nil {
		return call.Options{}, err
	}
	return call.Options{
		ModelProvider: c.Query("model_provider"), Strict: strict, RejectUnknown: reject && !strict,
		Fallback: c.Query("fallback_provider") != "false" && !strict && !s.opts.NoFallback,
	}, nil
}

func boolean(c *gin.Context, name string) (bool, error) {
	text, given := c.GetQuery(name)
	switch {
	case !given || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	}
	return false, call.Refuse(fault.Invalid, call.InvalidInput, "%s must be true or false", name)
}

// modelBody reads the body, whose size wrap bounds. The client may be slow but must not pause.
func (s *Surface) modelBody(c *gin.Context, memory *limit.Reservation) ([]byte, error) {
	conn, r := http.NewResponseController(c.Writer), c.Request
	body, err := memory.ReadAll(r.Context(), request.IdleReader{Reader: r.Body, Conn: conn, Idle: s.opts.UploadIdle}, r.ContentLength,
		s.opts.MaxModelBody)
	if err != nil {
		return nil, memoryRefusal(err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return body, nil
}

// memoryRefusal returns the refusal of an input for which the memory budget has no space. It returns other errors
// unchanged.
func memoryRefusal(err error) error {
	switch {
	case errors.Is(err, limit.ErrOwnBudget):
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit,
			"the inputs of this account's calls that are being read have reached their limit; send the request again when one of them has been "+
				"accepted")
	case errors.Is(err, limit.ErrBudget):
		r := call.Refuse(fault.Unavailable, call.ServiceUnavailable, "the service has no memory for this input now; send the request again later")
		r.RetryAfter = 1
		return r
	}
	return err
}

// deliveredWithin bounds the time to record a delivery.
const deliveredWithin = 5 * time.Second

// writeAnswer streams a model's answer unchanged. Its headers keep a browser from running the bytes as a page of this
// origin.
func (s *Surface) writeAnswer(c *gin.Context, res *call.Result) error {
	body, err := res.Open(c.Request.Context())
	if err != nil {
		return err
	}
	defer body.Close()
	h := c.Writer.Header()
	h.Set("Content-Type", res.ContentType)
	if res.ContentType == "" {
		h.Set("Content-Type", "application/octet-stream")
	}
	h.Set("Content-Length", strconv.FormatInt(res.Size, 10))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	setResultHeaders(c, res)
	c.Status(res.Status)
	if _, err := io.Copy(c.Writer, body); err != nil {
		return err // the body is shorter than Content-Length: net/http ends the connection
	}
	if err := http.NewResponseController(c.Writer).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), deliveredWithin)
	defer cancel()
	if err := res.Delivered(ctx); err != nil {
		s.Edge.Logger.Warn("delivery of an answer not recorded; its key answers once more", "call_id", res.Call, "error", err)
	}
	return nil
}

// setResultHeaders sets the headers with the cost and the origin of the answer, in v2 only. A replay costs nothing,
// so it has no cost header.
func setResultHeaders(c *gin.Context, res *call.Result) {
	if versionOf(c.Request.URL.Path) == call.V1 {
		return
	}
	setReplayed(c, res.Replayed)
	setSpend(c, res.Spend)
	if res.Fallback != "" {
		c.Header("X-Comfy-Router-Fallback-Provider", res.Fallback)
	}
	if dropped := call.DroppedParams(res.Dropped); dropped != "" {
		c.Header("X-Comfy-Router-Dropped-Params", dropped)
	}
	if res.Charged != nil && !res.Replayed {
		c.Header("X-Comfy-Credits-Used", credit.Credits(*res.Charged))
		c.Header("X-Litellm-Response-Cost", amount.Dollars(*res.Charged))
		c.Header("X-Litellm-Total-Tokens", "0")
	}
}

// queuedRequest is the status of a request of the queued delivery.
type queuedRequest struct {
	ID        call.ID `json:"request_id"`
	Status    string  `json:"status"`
	Position  *int64  `json:"queue_position,omitempty"`
	ErrorType string  `json:"error_type,omitempty"`
	StatusURL string  `json:"status_url"`
	ResultURL string  `json:"response_url"`
	CancelURL string  `json:"cancel_url"`
}

// The answers to a cancel request.
const (
	cancelAccepted = "CANCELLATION_REQUESTED"
	cancelTooLate  = "ALREADY_COMPLETED"
)

func (s *Surface) request(c *gin.Context, id call.ID) queuedRequest {
	base := s.Edge.BaseURL(c.Request) + "/v2/models/" + modelID(c) + "/requests/" + string(id)
	return queuedRequest{ID: id, StatusURL: base + "/status", ResultURL: base, CancelURL: base + "/cancel"}
}

// canonical returns the id of the model with an id or an alias. An unknown id stays unchanged.
func (s *Surface) canonical(id string) string {
	if m, ok := s.Models.Snapshot().Find(id); ok {
		return m.ID
	}
	return id
}

// handle returns the request that the path names. Ids have one spelling; other spellings are not found.
func (s *Surface) handle(c *gin.Context) (call.Handle, error) {
	id, err := call.ParseID(c.Param("id"))
	if err != nil {
		return call.Handle{}, s.unknownRequest(c, call.Refuse(fault.NotFound, call.RequestNotFound, "this request does not exist"))
	}
	return call.Handle{Account: edge.Caller(c).Account, Call: id, Model: s.canonical(modelID(c))}, nil
}

// unknownRequest returns err, or the error of the model in the path if the request does not exist. The result of the
// caller's own request can be collected even if its model was removed or is no longer allowed: the request was paid
// for.
func (s *Surface) unknownRequest(c *gin.Context, err error) error {
	var r *call.Refusal
	if errors.As(err, &r) && r.Type == call.RequestNotFound && r.Code == "" {
		if _, wrong := s.Models.Find(modelID(c), edge.Caller(c).Access); wrong != nil {
			return wrong
		}
	}
	return err
}

// postRequest queues a call: POST /v2/models/{provider}/{model}/requests.
func (s *Surface) postRequest(c *gin.Context) error {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	inv, err := s.invocation(c, memory)
	if err != nil {
		return err
	}
	done, err := s.Calls.Enqueue(c.Request.Context(), inv)
	if err != nil {
		return err
	}
	body := s.request(c, done.Call)
	body.Status, body.Position = call.InQueue, &done.Ahead
	setReplayed(c, done.Replayed)
	c.Header("Cache-Control", "no-store")
	return edge.Answer(c, http.StatusCreated, body, nil)
}

// getRequest serves the status of a request: GET …/requests/{id}/status.
func (s *Surface) getRequest(c *gin.Context, h call.Handle) error {
	p, err := s.Calls.Status(c.Request.Context(), h)
	if err != nil {
		return s.unknownRequest(c, err)
	}
	s.progress(c, http.StatusOK, p)
	return nil
}

func (s *Surface) progress(c *gin.Context, status int, p call.Progress) {
	body := s.request(c, p.Call)
	body.Status, body.Position, body.ErrorType = p.Status, p.Ahead, p.ErrorType
	c.Header("Retry-After", strconv.Itoa(max(1, p.RetryAfter)))
	c.Header("Cache-Control", "no-store")
	c.PureJSON(status, body)
}

// getResult returns the answer of a request, or 202 while it has none: GET …/requests/{id}.
func (s *Surface) getResult(c *gin.Context, h call.Handle) error {
	res, p, err := s.Calls.Result(c.Request.Context(), h)
	switch {
	case err != nil:
		return s.unknownRequest(c, err)
	case res == nil:
		s.progress(c, http.StatusAccepted, *p)
		return nil
	}
	return s.writeAnswer(c, res)
}

// putCancel requests that a request stop, best effort: PUT …/requests/{id}/cancel.
func (s *Surface) putCancel(c *gin.Context, h call.Handle) error {
	active, err := s.Calls.Cancel(c.Request.Context(), h, edge.RequestID(c))
	if err != nil {
		return s.unknownRequest(c, err)
	}
	status, word := http.StatusConflict, cancelTooLate
	if active {
		status, word = http.StatusAccepted, cancelAccepted
	}
	c.Header("Cache-Control", "no-store")
	return edge.Answer(c, status, gin.H{"request_id": h.Call, "status": word}, nil)
}
