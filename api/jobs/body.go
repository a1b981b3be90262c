package jobs

import (
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// jobBody is the Job object of the v2 API. Unknown values are null, not absent.
type jobBody struct {
	ID            job.PublicID       `json:"id"`
	Status        job.State          `json:"status"`
	CreatedAt     string             `json:"created_at"`
	StartedAt     *string            `json:"started_at"`
	CompletedAt   *string            `json:"completed_at"`
	ExpiresAt     string             `json:"expires_at"`
	QueuePosition *int64             `json:"queue_position"`
	Progress      *stream.Progress   `json:"progress"`
	Waiting       *jobio.WaitingBody `json:"waiting,omitempty"` // for a ComfyUI server
	Outputs       []jobio.OutputBody `json:"outputs"`
	Error         *jobError          `json:"error"`
	URLs          jobURLs            `json:"urls"`
	Metrics       jobMetrics         `json:"metrics"`
	Metadata      map[string]string  `json:"metadata"`
	OutputsReused bool               `json:"outputs_reused"`
	Priority      int                `json:"priority"`
}

type jobURLs struct {
	Self   string `json:"self"`
	Events string `json:"events"`
	Cancel string `json:"cancel"`
	Logs   string `json:"logs,omitempty"` // absent if the deployment has no logs
}

type jobMetrics struct {
	QueueMS     *int64 `json:"queue_ms"`
	ExecutionMS *int64 `json:"execution_ms"`
}

type jobError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	NodeID    *string `json:"node_id"`
	ClassType *string `json:"class_type"`
	Traceback *string `json:"traceback"`
}

// renderJob returns the v2 object of a job.
func (s *Surface) renderJob(c *gin.Context, j job.Job) (jobBody, error) {
	body, err := s.renderPlaced(c, j, nil)
	if err == nil {
		body.QueuePosition, err = jobio.QueuePosition(c.Request.Context(), s.Queue, j)
	}
	return body, err
}

// renderPlaced is renderJob with a known position in the queue; nil = not queued.
func (s *Surface) renderPlaced(c *gin.Context, j job.Job, position *int64) (jobBody, error) {
	base := s.Edge.BaseURL(c.Request)
	self := base + "/api/v2/jobs/" + string(j.PublicID())
	body := jobBody{
		ID: j.PublicID(), Status: j.State, CreatedAt: edge.Timestamp(j.SubmittedAt), StartedAt: edge.TimestampOrNil(runningSince(j)),
		CompletedAt: edge.TimestampOrNil(j.EndedAt), ExpiresAt: edge.Timestamp(j.ExpiresAt(s.opts.JobRetention)), QueuePosition: position,
		Outputs: s.renderOutputs(base, j), Error: renderError(j),
		URLs: jobURLs{Self: self, Events: self + "/events", Cancel: self + "/cancel"}, Metrics: metrics(j),
		Metadata: j.Metadata, OutputsReused: j.OutputsReused(), Priority: priorityOf(j),
	}
	if s.Logs != nil {
		body.URLs.Logs = self + "/logs"
	}
	if body.Metadata == nil {
		body.Metadata = map[string]string{}
	}
	var err error
	if body.Progress, err = jobio.Progress(c.Request.Context(), s.Steps, j); err != nil {
		return body, err
	}
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, j)
	body.Waiting = waiting[j.ID]
	return body, err
}

// runningSince returns when the job's run began. Before the run begins, it returns when the job got its slot, because
// the status is running from then on.
func runningSince(j job.Job) *time.Time {
	if j.StartedAt != nil {
		return j.StartedAt
	}
	return j.AdmittedAt
}

func metrics(j job.Job) jobMetrics {
	var m jobMetrics
	if j.StartedAt != nil {
		m.QueueMS = millis(j.StartedAt.Sub(j.SubmittedAt))
	}
	if j.StartedAt != nil && j.EndedAt != nil {
		m.ExecutionMS = millis(j.EndedAt.Sub(*j.StartedAt))
	}
	return m
}

func millis(d time.Duration) *int64 {
	ms := max(d.Milliseconds(), 0)
	return &ms
}

func renderError(j job.Job) *jobError {
	if j.Error == nil {
		return nil
	}
	e := &jobError{Code: string(j.Error.Code), Message: j.Error.Message}
	if j.Error.Node != "" {
		e.NodeID, e.ClassType = &j.Error.Node, &j.Error.Class
	}
	if len(j.Error.Traceback) > 0 {
		text := strings.Join(j.Error.Traceback, "\n")
		e.Traceback = &text
	}
	return e
}

func (s *Surface) renderOutputs(base string, j job.Job) []jobio.OutputBody {
	bodies := []jobio.OutputBody{}
	for _, o := range jobio.Outputs(j) {
		bodies = append(bodies, jobio.RenderOutput(s.Links, base, j.PublicID(), o))
	}
	return bodies
}
