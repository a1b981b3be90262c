package cloud

import (
	"cmp"
	"encoding/json"
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
	"github.com/millrace-dev/millrace/projections/fanout"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// maxBatchCancel bounds the ids of one batch cancel.
const maxBatchCancel = 1000

func (s *Surface) jobRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/jobs", Handle: s.listJobs, Gate: s.Edge.JobLists},
		edge.Route{Method: http.MethodGet, Path: "/jobs/:id", Handle: edge.Of(s.job, s.getJob)},
		edge.Route{Method: http.MethodPost, Path: "/jobs/:id/cancel", Access: edge.Write, Handle: s.cancelJob},
		edge.Route{Method: http.MethodPost, Path: "/jobs/cancel", Access: edge.Write, Handle: s.cancelJobs},
	)
}

// jobEntry is a JobEntry of the cloud API, as the self-hosted runtime renders
// it: times in milliseconds, what is unknown left out.
type jobEntry struct {
	ID           job.PublicID       `json:"id"`
	Status       string             `json:"status"`
	Priority     float64            `json:"priority"`
	CreateTime   int64              `json:"create_time"`
	StartTime    *int64             `json:"execution_start_time,omitempty"`
	EndTime      *int64             `json:"execution_end_time,omitempty"`
	Error        *executionError    `json:"execution_error,omitempty"`
	Preview      *previewOutput     `json:"preview_output,omitempty"`
	OutputsCount int                `json:"outputs_count"`
	WorkflowID   string             `json:"workflow_id,omitempty"` // of the editor's workflow
	Waiting      *jobio.WaitingBody `json:"waiting,omitempty"`     // for a ComfyUI server
}

type executionError struct {
	NodeID           string          `json:"node_id"`
	NodeType         string          `json:"node_type"`
	ExceptionMessage string          `json:"exception_message"`
	ExceptionType    string          `json:"exception_type"`
	Traceback        []string        `json:"traceback"`
	CurrentInputs    json.RawMessage `json:"current_inputs"`
	CurrentOutputs   struct{}        `json:"current_outputs"`
}

type previewOutput struct {
	Filename  string  `json:"filename,omitempty"`
	Subfolder *string `json:"subfolder,omitempty"`
	Folder    string  `json:"type,omitempty"`
	Content   string  `json:"content,omitempty"` // of text
	Truncated bool    `json:"truncated,omitempty"`
	NodeID    string  `json:"nodeId"`
	MediaType string  `json:"mediaType"`
}

// withExceptionNames returns a job with its failure in the words that this deployment has for exceptions.
func (s *Surface) withExceptionNames(j job.Job) job.Job {
	if s.opts.RuntimeNames {
		j.Error = j.Error.InRuntimeNames()
	}
	return j
}

func entryOf(j job.Job) jobEntry {
	e := jobEntry{
		ID: j.PublicID(), Status: contractState(j.State), Priority: j.Number, CreateTime: j.SubmittedAt.UnixMilli(),
		StartTime: millisOf(j.StartedAt), EndTime: millisOf(j.EndedAt), Preview: previewOf(j), OutputsCount: outputsCount(j),
		WorkflowID: j.WorkflowID,
	}
	if f := j.Error; f != nil {
		e.Error = &executionError{
			NodeID: f.Node, NodeType: f.Class, ExceptionMessage: f.Message + "\n", ExceptionType: f.ExceptionType,
			Traceback: append([]string{}, f.Traceback...), CurrentInputs: f.Inputs,
		}
		if len(f.Inputs) == 0 {
			e.Error.CurrentInputs = json.RawMessage("{}")
		}
	}
	return e
}

func millisOf(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// outputsCount counts what the nodes showed: files, and texts.
func outputsCount(j job.Job) int {
	n := 0
	for _, out := range j.Outputs {
		n += len(out.Files) + len(textsOf(out))
	}
	return n
}

func textsOf(out job.NodeOutput) []string {
	var ui struct {
		Text []string `json:"text"`
	}
	if json.Unmarshal(out.UI, &ui) != nil {
		return nil // a text key of another shape is no text
	}
	return ui.Text
}

// previewOf picks the preview of a job in a list: a saved picture, film or sound, else a
// temporary one, else a text file, else a text.
func previewOf(j job.Job) *previewOutput {
	best, rank := (*previewOutput)(nil), 0
	offer := func(r int, p previewOutput) {
		if best == nil || r < rank {
			best, rank = &p, r
		}
	}
	for _, o := range jobio.Outputs(j) {
		kind := jobio.OutputType(o.File)
		r := 1
		switch {
		case kind == "text":
			r = 3
		case kind == "file" || kind == "latent":
			continue
		case o.File.Folder != "output":
			r = 2
		}
		offer(r, previewOutput{
			Filename: o.File.Filename, Subfolder: &o.File.Subfolder, Folder: o.File.Folder, NodeID: o.Node, MediaType: mediaKey(kind),
		})
	}
	for _, out := range j.Outputs {
		for _, text := range textsOf(out) {
			offer(4, textPreview(out.Node, text))
		}
	}
	return best
}

// mediaKey is the key of the descriptors of a kind in an output object.
func mediaKey(kind string) string {
	if kind == "image" {
		return "images"
	}
	return kind
}

func textPreview(node, text string) previewOutput {
	const most = 1024 // characters
	runes := []rune(text)
	p := previewOutput{Content: text, NodeID: node, MediaType: "text"}
	if len(runes) > most {
		p.Content, p.Truncated = string(runes[:most]), true
	}
	return p
}

// jobDetail is a JobDetail of the cloud API.
type jobDetail struct {
	jobEntry
	Workflow        job.Source                 `json:"workflow"`
	Outputs         map[string]json.RawMessage `json:"outputs"`
	UpdateTime      int64                      `json:"update_time"`
	ExecutionStatus *executionStatus           `json:"execution_status,omitempty"` // of a job that has ended
	ExecutionMeta   map[string]nodeMeta        `json:"execution_meta"`
}

type executionStatus struct {
	Status    string         `json:"status_str"`
	Completed bool           `json:"completed"`
	Messages  []fanout.Entry `json:"messages"`
}

type nodeMeta struct {
	NodeID      string  `json:"node_id"`
	DisplayNode string  `json:"display_node"`
	ParentNode  *string `json:"parent_node"`
	RealNodeID  string  `json:"real_node_id"`
}

// getJob: GET /jobs/{id}.
func (s *Surface) getJob(c *gin.Context, j job.Job) error {
	if err := s.requireShown(c, j); err != nil {
		return err
	}
	src, err := s.Sources.Load(c.Request.Context(), j.Account, j.ID)
	if err != nil {
		return err
	}
	j = s.withExceptionNames(j)
	detail := jobDetail{
		jobEntry: entryOf(j), Workflow: job.Source{Prompt: src.Prompt, ExtraData: src.ExtraData}, Outputs: outputMap(j),
		UpdateTime: j.UpdatedAt.UnixMilli(), ExecutionMeta: metaOf(j),
	}
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, j)
	if err != nil {
		return err
	}
	detail.Waiting = waiting[j.ID]
	if j.State.Final() {
		ended := statusOf(j)
		detail.ExecutionStatus = &ended
	}
	return edge.OK(c, detail, nil)
}

// outputMap maps node ids to what they showed.
func outputMap(j job.Job) map[string]json.RawMessage {
	outputs := make(map[string]json.RawMessage, len(j.Outputs))
	for _, out := range j.Outputs {
		outputs[out.Node] = out.UI
	}
	return outputs
}

// statusOf is how a job ended.
func statusOf(j job.Job) executionStatus {
	s := executionStatus{Status: "error", Messages: fanout.History(j)}
	if j.State == job.Succeeded {
		s.Status, s.Completed = "success", true
	}
	return s
}

func metaOf(j job.Job) map[string]nodeMeta {
	meta := make(map[string]nodeMeta, len(j.Outputs))
	for _, out := range j.Outputs {
		parent, display, root := out.Within.Places(out.Node)
		meta[out.Node] = nodeMeta{NodeID: out.Node, DisplayNode: display, ParentNode: parent, RealNodeID: root}
	}
	return meta
}

// cancelJob cancels one job; one that is unknown or over is no error: POST /jobs/{id}/cancel.
func (s *Surface) cancelJob(c *gin.Context) error {
	return s.cancelListed(c, []string{c.Param("id")})
}

// cancelJobs: POST /jobs/cancel.
func (s *Surface) cancelJobs(c *gin.Context) error {
	var req struct {
		IDs []string `json:"job_ids"`
	}
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	invalid := slices.DeleteFunc(slices.Clone(req.IDs), func(id string) bool { _, err := job.ParsePublicID(id); return err == nil })
	switch {
	case len(req.IDs) == 0 || len(req.IDs) > maxBatchCancel:
		return edge.Answer(c, http.StatusBadRequest, gin.H{"error": "job_ids must list 1 to 1000 jobs"}, nil)
	case len(invalid) > 0:
		return edge.Answer(c, http.StatusBadRequest, gin.H{"error": "job_ids must be UUIDs", "invalid_ids": invalid}, nil)
	}
	return s.cancelListed(c, req.IDs)
}

func (s *Surface) cancelListed(c *gin.Context, ids []string) error {
	canceled, err := s.cancelNamed(c, ids)
	return edge.OK(c, gin.H{"cancelled": len(canceled) > 0}, err)
}

// historyOrder sorts finished jobs oldest first.
func historyOrder(a, b job.Job) int {
	return cmp.Or(a.SubmittedAt.Compare(b.SubmittedAt), strings.Compare(string(a.ID), string(b.ID)))
}

// defaultListed is the size of a page of GET /jobs.
const defaultListed = 100

type jobsResponse struct {
	Jobs       []jobEntry `json:"jobs"`
	Pagination pagination `json:"pagination"`
}

type pagination struct {
	Offset  int   `json:"offset"`
	Limit   int   `json:"limit"`
	Total   int64 `json:"total"`
	HasMore bool  `json:"has_more"`
}

// listJobs: GET /jobs?status=&workflow_id=&output_type=&sort_by=&sort_order=&offset=&limit=.
func (s *Surface) listJobs(c *gin.Context) error {
	o, err := orderOf(c)
	if err != nil {
		return err
	}
	body := jobsResponse{Jobs: []jobEntry{}, Pagination: pagination{Offset: o.Offset, Limit: o.Limit}}
	found, total, err := s.lists().ListAt(c.Request.Context(), edge.Caller(c).Account, o)
	if err != nil {
		return err
	}
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, found...)
	if err != nil {
		return err
	}
	for _, j := range found {
		entry := entryOf(s.withExceptionNames(j))
		entry.Waiting = waiting[j.ID]
		body.Jobs = append(body.Jobs, entry)
	}
	body.Pagination.Total, body.Pagination.HasMore = total, int64(o.Offset+len(found)) < total
	return edge.OK(c, body, nil)
}

// lists returns the lists of jobs without those that are hidden.
func (s *Surface) lists() Lists {
	if s.History == nil {
		return s.Reader
	}
	return s.History
}

func orderOf(c *gin.Context) (o jobs.Order, err error) {
	if o.Limit, err = request.Limit(c, defaultListed); err != nil {
		return o, err
	}
	if o.Offset, err = request.Offset(c); err != nil {
		return o, err
	}
	if o.States, err = parseContractStates(c.Query("status")); err != nil {
		return o, err
	}
	o.Workflow = c.Query("workflow_id")
	switch kind := c.Query("output_type"); kind {
	case "":
	case "image", "video", "audio":
		o.Media = kind + "/"
	default:
		return o, httperr.Invalidf("output_type must be image, video or audio")
	}
	switch c.Query("sort_by") {
	case "", "create_time", "created_at":
	case "execution_time", "execution_duration":
		o.ByDuration = true
	default:
		return o, httperr.Invalidf("sort_by must be create_time or execution_time")
	}
	switch c.Query("sort_order") {
	case "", "desc":
	case "asc":
		o.Ascending = true
	default:
		return o, httperr.Invalidf("sort_order must be asc or desc")
	}
	return o, nil
}

func parseContractStates(list string) ([]job.State, error) {
	var states []job.State
	for _, word := range request.CommaList(list) {
		known := false
		for _, s := range job.States() {
			if contractState(s) == word {
				states, known = append(states, s), true
			}
		}
		if !known {
			return nil, httperr.Invalidf("status %q is not one of pending, in_progress, completed, failed, cancelled", word)
		}
	}
	return states, nil
}
