package cloud

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

func (s *Surface) statusRoutes() []edge.Route {
	return edge.Cloud(edge.Route{Method: http.MethodGet, Path: "/job/:id/status", Handle: s.getStatus})
}

type statusResponse struct {
	ID          job.PublicID       `json:"id"`
	Status      string             `json:"status"`
	RawStatus   string             `json:"raw_status"`
	CreatedAt   string             `json:"created_at"`
	UpdatedAt   string             `json:"updated_at"`
	LastUpdate  string             `json:"last_state_update"`
	Inference   *string            `json:"assigned_inference"`
	ErrorDetail *string            `json:"error_message"`
	Waiting     *jobio.WaitingBody `json:"waiting,omitempty"` // for a ComfyUI server
}

// getStatus says how far a job is: GET /job/{id}/status.
func (s *Surface) getStatus(c *gin.Context) error {
	j, err := jobio.Find(c, s.Reader)
	if err != nil {
		return err
	}
	body := statusResponse{
		ID: j.PublicID(), Status: contractState(j.State), RawStatus: raw(j), CreatedAt: edge.Timestamp(j.SubmittedAt),
		UpdatedAt: edge.Timestamp(j.UpdatedAt), LastUpdate: edge.Timestamp(j.UpdatedAt),
	}
	if s.opts.RawStatus {
		body.Status = polled(j.State)
	}
	if j.Error != nil {
		body.ErrorDetail = &j.Error.Message
	}
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, j)
	if err != nil {
		return err
	}
	body.Waiting = waiting[j.ID]
	c.PureJSON(http.StatusOK, body)
	return nil
}

// contractState is the state in the five words of the cloud contract.
func contractState(s job.State) string {
	switch s {
	case job.Queued:
		return "pending"
	case job.Running, job.Canceling:
		return "in_progress"
	case job.Succeeded:
		return "completed"
	case job.Canceled:
		return "cancelled"
	case job.Failed, job.Expired:
		return "failed"
	}
	return "failed"
}

// polled is the state in the words that clients of the hosted service's current
// documentation poll for.
func polled(s job.State) string {
	switch s {
	case job.Succeeded:
		return "success"
	case job.Failed, job.Expired:
		return "error"
	case job.Queued, job.Running, job.Canceling, job.Canceled:
	}
	return contractState(s)
}

// raw is the state in the hosted service's own vocabulary.
func raw(j job.Job) string {
	switch j.State {
	case job.Queued:
		return "queued_limited"
	case job.Running:
		if j.StartedAt == nil {
			return "allocated"
		}
		return "executing"
	case job.Canceling:
		return "cancel_requested"
	case job.Succeeded:
		return "success"
	case job.Canceled:
		return "cancelled"
	case job.Expired:
		return "lost"
	case job.Failed:
	}
	return "error"
}
