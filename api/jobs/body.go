package jobs

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/jobs"
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
	Warnings      []job.Warning      `json:"warnings,omitempty"`
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
	base, names, whole := s.Edge.BaseURL(c.Request), jobio.NamesOf(c, s.Edge, j), j
	j = names.Job(j)
	self := base + "/api/v2/jobs/" + string(j.PublicID())
	body := jobBody{
		ID: j.PublicID(), Status: j.State, CreatedAt: edge.Timestamp(j.SubmittedAt), StartedAt: edge.TimestampOrNil(runningSince(j)),
		CompletedAt: edge.TimestampOrNil(j.EndedAt), ExpiresAt: edge.Timestamp(j.ExpiresAt(s.opts.JobRetention)), QueuePosition: position,
		Outputs: s.renderOutputs(base, j), Error: renderError(j), Warnings: whole.Warnings(),
		URLs: jobURLs{Self: self, Events: self + "/events", Cancel: self + "/cancel"}, Metrics: metrics(j),
		Metadata: j.Metadata, OutputsReused: j.OutputsReused(), Priority: priorityOf(j),
	}
	if s.Logs != nil && edge.Mount(c) == nil {
		body.URLs.Logs = self + "/logs"
	}
	if body.Metadata == nil {
		body.Metadata = map[string]string{}
	}
	for i := range body.Warnings {
		body.Warnings[i].Node = names.Node(body.Warnings[i].Node)
	}
	var err error
	if body.Progress, err = jobio.Progress(c.Request.Context(), s.Steps, whole); err != nil {
		return body, err
	}
	body.Progress = names.Progress(body.Progress)
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
	if j.Error.Class == "" {
		e.ClassType = nil
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

// Limits of listings.
const (
	defaultListed      = 20
	maxMetadataFilters = 3
)

// listing makes the cursors of the listing, which are positions in the order of submission.
var listing = request.Listing[int64]{Kind: "j"}

type jobsResponse struct {
	Jobs []listedJob `json:"jobs"`
	Next string      `json:"next_cursor,omitempty"`
}

// listedJob is a job with the two additional times of listings.
type listedJob struct {
	jobBody
	CreateTime string `json:"create_time"`
	UpdateTime string `json:"update_time"`
}

// listJobs lists jobs newest first: GET /api/v2/jobs?limit=&cursor=&status=&metadata[<label>]=<value>.
func (s *Surface) listJobs(c *gin.Context) error {
	q, err := v2Query(c)
	if err != nil {
		return err
	}
	page, err := s.Reader.List(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	positions, err := jobio.QueuePositions(c.Request.Context(), s.Queue, edge.Caller(c).Account, page.Jobs)
	if err != nil {
		return err
	}
	body := jobsResponse{Jobs: []listedJob{}}
	for _, j := range page.Jobs {
		rendered, err := s.renderPlaced(c, j, positions[j.ID])
		if err != nil {
			return err
		}
		body.Jobs = append(body.Jobs, listedJob{rendered, rendered.CreatedAt, edge.Timestamp(j.UpdatedAt)})
	}
	body.Next = listing.Format(page.Next)
	return edge.OK(c, body, nil)
}

func v2Query(c *gin.Context) (q jobs.Query, err error) {
	if q.Limit, err = request.Limit(c, defaultListed); err != nil {
		return q, err
	}
	if m := edge.Mount(c); m != nil {
		q.Deployed = string(m.ID)
	}
	if q.Before, err = listing.Read(c, "cursor"); err != nil {
		return q, err
	}
	for _, word := range request.CommaList(c.Query("status")) {
		state := job.State(word)
		if !slices.Contains(job.States(), state) {
			return q, httperr.Invalidf("status %q is not a state of a job", word)
		}
		q.States = append(q.States, state)
	}
	q.Metadata, err = metadataFilters(c.Request.URL.Query())
	return q, err
}

func metadataFilters(query map[string][]string) (map[string]string, error) {
	filters := map[string]string{}
	for name, values := range query {
		if !strings.HasPrefix(name, "metadata") {
			continue
		}
		key := filteredLabel(name)
		if _, twice := filters[key]; key == "" || twice || len(values) != 1 {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidMetadataFilter,
				"give each metadata filter once, as metadata[<label>]=<value> or metadata.<label>=<value>")
		}
		filters[key] = values[0]
	}
	if len(filters) > maxMetadataFilters {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidMetadataFilter, "at most %d metadata filters", maxMetadataFilters)
	}
	return filters, nil
}

// filteredLabel returns the label of a metadata filter, "metadata[label]" or "metadata.label", or "" for another
// parameter.
func filteredLabel(parameter string) string {
	if label, ok := strings.CutPrefix(parameter, "metadata."); ok {
		return label
	}
	label, open := strings.CutPrefix(parameter, "metadata[")
	label, closed := strings.CutSuffix(label, "]")
	if !open || !closed {
		return ""
	}
	return label
}

// logRoutes serve logs, if the deployment has logs. Without them, jobs have no link to a log.
func (s *Surface) logRoutes() []edge.Route {
	if s.Logs == nil {
		return nil
	}
	return edge.V2(edge.Route{Method: http.MethodGet, Path: "/jobs/:id/logs", Handle: edge.Of(s.job, s.getLogs)})
}

type logResponse struct {
	Text       string `json:"text"`
	Truncated  bool   `json:"truncated"`
	CapturedAt string `json:"captured_at"`
	Complete   bool   `json:"complete"`
}

// getLogs serves the log of a job, or 204 while the log is empty: GET /api/v2/jobs/{id}/logs.
func (s *Surface) getLogs(c *gin.Context, j job.Job) error {
	if err := jobio.CheckGraphs(c, "the log"); err != nil {
		return err
	}
	log, err := s.Logs.Log(c.Request.Context(), j.Account, j.ID)
	if err != nil {
		return err
	}
	if log.Text == "" {
		edge.NoContent(c)
		return nil
	}
	return edge.OK(c, logResponse{
		Text: log.Text, Truncated: log.Truncated, CapturedAt: edge.Timestamp(log.At), Complete: j.State.Final(),
	}, nil)
}
