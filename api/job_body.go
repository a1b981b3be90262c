package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// jobBody is the Job object of the v2 facts (section 3). What is unknown is null, not absent.
type jobBody struct {
	ID            job.ID            `json:"id"`
	Status        job.State         `json:"status"`
	CreatedAt     string            `json:"created_at"`
	StartedAt     *string           `json:"started_at"`
	CompletedAt   *string           `json:"completed_at"`
	ExpiresAt     string            `json:"expires_at"`
	QueuePosition *int64            `json:"queue_position"`
	Progress      *stream.Progress  `json:"progress"`
	Outputs       []outputBody      `json:"outputs"`
	Error         *jobError         `json:"error"`
	URLs          jobURLs           `json:"urls"`
	Metrics       jobMetrics        `json:"metrics"`
	Metadata      map[string]string `json:"metadata"`
	OutputsReused bool              `json:"outputs_reused"`
	Priority      int               `json:"priority"`
}

type jobURLs struct {
	Self   string `json:"self"`
	Events string `json:"events"`
	Cancel string `json:"cancel"`
	Logs   string `json:"logs,omitempty"` // absent where there are no logs
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

type outputBody struct {
	NodeID       string  `json:"node_id"`
	Name         string  `json:"name"`
	Type         string  `json:"type"`
	ContentType  string  `json:"content_type"`
	SizeBytes    int64   `json:"size_bytes"`
	ID           string  `json:"id"`
	Hash         *string `json:"hash"`
	URL          string  `json:"url"`
	URLExpiresAt string  `json:"url_expires_at"`
	JobID        job.ID  `json:"job_id"`
}

// renderJob returns the v2 object of a job in the answer to a request.
func (s *server) renderJob(c *gin.Context, j job.Job) (jobBody, error) {
	body, err := s.renderPlaced(c, j, nil)
	if err == nil && j.State == job.Queued {
		body.QueuePosition, err = s.queuePosition(c.Request.Context(), j)
	}
	return body, err
}

// renderPlaced is renderJob with the job's position in the queue, nil when it has none.
func (s *server) renderPlaced(c *gin.Context, j job.Job, position *int64) (jobBody, error) {
	base := s.BaseURL(c.Request)
	self := base + "/api/v2/jobs/" + string(j.ID)
	body := jobBody{
		ID: j.ID, Status: j.State, CreatedAt: edge.Timestamp(j.SubmittedAt), StartedAt: edge.TimestampOrNil(j.StartedAt),
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
	body.Progress, err = s.progress(c.Request.Context(), j)
	return body, err
}

// progress is the job's progress with what is known of the nodes that run now.
func (s *server) progress(ctx context.Context, j job.Job) (*stream.Progress, error) {
	if len(j.Running) == 0 || s.Steps == nil {
		return stream.ProgressOf(j, "", nil), nil
	}
	steps, err := s.Steps.Steps(ctx, j.ID, j.Run)
	return stream.ProgressOf(j, "", steps), err
}

// queuePosition is how many queued jobs run before j: 0 = next, nil = j no longer waits.
func (s *server) queuePosition(ctx context.Context, j job.Job) (*int64, error) {
	ahead, waits, err := s.Reader.QueuePosition(ctx, j.Account, j.ID)
	if err != nil || !waits {
		return nil, err
	}
	return &ahead, nil
}

// queuePositions is queuePosition of all that wait among jobs of one account, at the cost of one read.
func (s *server) queuePositions(ctx context.Context, owner string, list []job.Job) (map[job.ID]*int64, error) {
	var waiting []job.ID
	for _, j := range list {
		if j.State == job.Queued {
			waiting = append(waiting, j.ID)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	ahead, err := s.Reader.QueuePositions(ctx, owner, waiting)
	positions := make(map[job.ID]*int64, len(ahead))
	for id, n := range ahead {
		positions[id] = &n
	}
	return positions, err
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
	e := &jobError{Code: j.Error.Code, Message: j.Error.Message}
	if j.Error.Node != "" {
		e.NodeID, e.ClassType = &j.Error.Node, &j.Error.Class
	}
	if len(j.Error.Traceback) > 0 {
		text := strings.Join(j.Error.Traceback, "\n")
		e.Traceback = &text
	}
	return e
}

// output is one file of a job with the node that made it.
type output struct {
	node string
	file job.OutputFile
}

// outputsOf returns a job's files in the order every read shows them: saved ones before
// previews, then nodes in document order, then as the node listed them.
func outputsOf(j job.Job) []output {
	var all []output
	for _, n := range j.Outputs {
		for _, f := range n.Files {
			all = append(all, output{n.Node, f})
		}
	}
	rank := func(o output) int {
		at := slices.Index(j.Targets, o.node)
		if at < 0 {
			at = len(j.Targets)
		}
		if o.file.Folder != "output" {
			at += len(j.Targets) + 1
		}
		return at
	}
	slices.SortStableFunc(all, func(a, b output) int { return rank(a) - rank(b) })
	return all
}

func (s *server) renderOutputs(base string, j job.Job) []outputBody {
	bodies := []outputBody{}
	for _, o := range outputsOf(j) {
		bodies = append(bodies, s.renderOutput(base, j.ID, o))
	}
	return bodies
}

func (s *server) renderOutput(base string, id job.ID, o output) outputBody {
	path, expires := s.Links.Sign(o.file.Asset, o.file.Hash, o.file.Filename, o.file.ContentType)
	body := outputBody{
		NodeID: o.node, Name: o.file.Filename, Type: outputType(o.file), ContentType: o.file.ContentType,
		SizeBytes: o.file.Size, ID: o.file.Asset, URL: base + path, URLExpiresAt: edge.Timestamp(expires), JobID: id,
	}
	if o.file.Hash != "" {
		body.Hash = &o.file.Hash
	}
	return body
}

// outputType is the closed enumeration of the v2 facts.
func outputType(f job.OutputFile) string {
	if strings.HasSuffix(f.Filename, ".latent") {
		return "latent"
	}
	kind, _, _ := strings.Cut(f.ContentType, "/")
	switch kind {
	case "image", "video", "audio", "text":
		return kind
	default:
		return "file"
	}
}
