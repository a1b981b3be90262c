package router

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

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
	return writeCanceled(c, h.Call, active)
}

func writeCanceled(c *gin.Context, id call.ID, active bool) error {
	status, word := http.StatusConflict, cancelTooLate
	if active {
		status, word = http.StatusAccepted, cancelAccepted
	}
	c.Header("Cache-Control", "no-store")
	return edge.Answer(c, status, gin.H{"request_id": id, "status": word}, nil)
}
