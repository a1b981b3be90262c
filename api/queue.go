package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/job"
)

// maxQueueDelete bounds the ids of one POST /queue.
const maxQueueDelete = 10_000

func (s *server) queueRoutes() []route {
	return cloud(
		route{method: http.MethodGet, path: "/queue", handle: s.getQueue},
		route{method: http.MethodPost, path: "/queue", access: writing, handle: s.postQueue},
		route{method: http.MethodPost, path: "/interrupt", access: writing, handle: s.postInterrupt},
	)
}

// maxQueuePrompts and queueBytes bound the graphs of one answer: a queue of thousands of them is no
// answer to a poll. The entries behind have an empty one, as the hosted service does with heavy
// elements; GET /jobs/{id} has it.
const (
	maxQueuePrompts = 100
	queueBytes      = 4 << 20
)

// queueEntry is [number, prompt_id, prompt, extra_data, outputs_to_execute].
type queueEntry struct {
	job    job.Job
	prompt json.RawMessage
}

type queueExtra struct {
	ClientID   string `json:"client_id,omitempty"`
	CreateTime int64  `json:"create_time"`
}

func (e queueEntry) tuple() []any {
	j := e.job
	extra := queueExtra{ClientID: j.ClientID, CreateTime: j.SubmittedAt.UnixMilli()}
	return []any{j.Number, j.ID, e.prompt, extra, append([]string{}, j.Targets...)}
}

type queueResponse struct {
	Running [][]any `json:"queue_running"`
	Pending [][]any `json:"queue_pending"`
}

// getQueue lists the caller's unfinished jobs, pending ones in run order: GET /queue.
func (s *server) getQueue(c *gin.Context) error {
	active, err := s.Reader.Active(c.Request.Context(), caller(c).Account)
	if err != nil {
		return err
	}
	body := queueResponse{Running: [][]any{}, Pending: [][]any{}}
	b := newBudget(queueBytes)
	slices.SortStableFunc(active, func(a, b job.Job) int { return cmp.Compare(waits(a), waits(b)) }) // graphs of running ones first
	for i, j := range active {
		if i == maxQueuePrompts {
			b.left = 0
		}
		src, err := s.source(c.Request.Context(), j, b)
		if err != nil {
			return err
		}
		entry := queueEntry{j, src.Prompt}.tuple()
		if j.State == job.Queued {
			body.Pending = append(body.Pending, entry)
		} else {
			body.Running = append(body.Running, entry)
		}
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

func waits(j job.Job) int {
	if j.State == job.Queued {
		return 1
	}
	return 0
}

type queueRequest struct {
	Delete []string `json:"delete"`
	Clear  bool     `json:"clear"`
}

type queueDeleted struct {
	Deleted []job.ID `json:"deleted"`
	Cleared bool     `json:"cleared"`
}

// postQueue cancels the listed jobs, pending and running, and empties the queue on
// `clear`: POST /queue. Ids that are unknown, finished or another's are passed over.
func (s *server) postQueue(c *gin.Context) error {
	var req queueRequest
	if err := readJSON(c, &req); err != nil {
		return err
	}
	if len(req.Delete) > maxQueueDelete {
		return invalidf("delete lists more than %d jobs", maxQueueDelete)
	}
	body := queueDeleted{Deleted: []job.ID{}, Cleared: req.Clear}
	canceled, err := s.Jobs.CancelMany(c.Request.Context(), caller(c).Account, parseIDs(req.Delete), requestID(c))
	if err != nil {
		return err
	}
	body.Deleted = append(body.Deleted, canceled...)
	if req.Clear {
		cleared, err := s.Jobs.ClearPending(c.Request.Context(), caller(c).Account, requestID(c))
		if err != nil {
			return err
		}
		body.Deleted = append(body.Deleted, cleared...)
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// parseIDs keeps what can be a job's id; nothing else names one.
func parseIDs(texts []string) []job.ID {
	var ids []job.ID
	for _, text := range texts {
		if id, err := job.ParseID(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// postInterrupt stops all running jobs of the caller, or only the one that the optional
// body names: POST /interrupt. Nothing running is fine.
func (s *server) postInterrupt(c *gin.Context) error {
	var req struct {
		PromptID string `json:"prompt_id"`
	}
	if err := readOptionalJSON(c, &req); err != nil {
		return err
	}
	only := job.ID("")
	if named := parseIDs([]string{req.PromptID}); len(named) > 0 {
		only = named[0]
	} else if req.PromptID != "" {
		c.PureJSON(http.StatusOK, struct{}{}) // it names no job, so none is running under it
		return nil
	}
	if _, err := s.Jobs.Interrupt(c.Request.Context(), caller(c).Account, only, requestID(c)); err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, struct{}{})
	return nil
}
