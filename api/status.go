package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

func (s *server) statusRoutes() []route {
	return cloud(route{method: http.MethodGet, path: "/job/:id/status", handle: s.getStatus})
}

type statusResponse struct {
	ID          job.ID  `json:"id"`
	Status      string  `json:"status"`
	RawStatus   string  `json:"raw_status"`
	CreatedAt   string  `json:"created_at"`
	UpdatedAt   string  `json:"updated_at"`
	LastUpdate  string  `json:"last_state_update"`
	Inference   *string `json:"assigned_inference"`
	ErrorDetail *string `json:"error_message"`
}

// getStatus says how far a job is: GET /job/{id}/status.
func (s *server) getStatus(c *gin.Context) error {
	j, err := s.job(c)
	if err != nil {
		return err
	}
	body := statusResponse{
		ID: j.ID, Status: friendly(j.State), RawStatus: raw(j), CreatedAt: rfc3339(j.SubmittedAt),
		UpdatedAt: rfc3339(j.UpdatedAt), LastUpdate: rfc3339(j.UpdatedAt),
	}
	if s.opts.RawStatus {
		body.Status = polled(j.State)
	}
	if j.Error != nil {
		body.ErrorDetail = &j.Error.Message
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// job reads the job that the path names. An id that cannot be one is unknown, and so is
// another account's (W-06).
func (s *server) job(c *gin.Context) (job.Job, error) {
	id, err := job.ParseID(c.Param("id"))
	if err != nil {
		return job.Job{}, fault.New(fault.NotFound, "job_not_found", "no such job")
	}
	return s.Reader.Job(c.Request.Context(), caller(c).Account, id)
}

// friendly is the state in the five words of the cloud contract (W-26 to W-29).
func friendly(s job.State) string {
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
// documentation poll for (cloud facts, section 3).
func polled(s job.State) string {
	switch s {
	case job.Succeeded:
		return "success"
	case job.Failed, job.Expired:
		return "error"
	case job.Queued, job.Running, job.Canceling, job.Canceled:
	}
	return friendly(s)
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

// rfc3339 renders a time as every surface shows it: UTC, milliseconds, ending in Z.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// rfc3339Ptr is rfc3339 of a time that may be unknown.
func rfc3339Ptr(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := rfc3339(*t)
	return &text
}

func invalidf(format string, args ...any) error {
	return fault.New(fault.Invalid, "invalid_request", format, args...)
}
