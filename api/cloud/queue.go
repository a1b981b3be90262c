package cloud

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// maxQueueDelete bounds the ids of one POST /queue.
const maxQueueDelete = 10_000

func (s *Surface) queueRoutes() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/queue", Handle: s.getQueue, Gate: s.Edge.JobLists},
		edge.Route{Method: http.MethodPost, Path: "/queue", Access: edge.Write, Handle: s.postQueue},
		edge.Route{Method: http.MethodPost, Path: "/interrupt", Access: edge.Write, Handle: s.postInterrupt},
	)
}

// maxQueuePrompts and queueBytes bound the graphs of each half of an answer: a queue of thousands of them
// is no answer to a poll. The entries behind have an empty one, as the hosted service does with heavy
// elements; GET /jobs/{id} has it.
const (
	maxQueuePrompts = 100
	queueBytes      = 4 << 20
)

// queuePage is how many entries of an answer are in memory at once, and queueWrite how long a client may
// take for them: queues may be deep.
const (
	queuePage  = 500
	queueWrite = 30 * time.Second
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
	return []any{j.Number, j.PublicID(), e.prompt, extra, append([]string{}, j.Targets...)}
}

// getQueue lists the caller's unfinished jobs, pending ones in run order: GET /queue. The pending ones are
// read first, so that a job that is given a slot meanwhile is listed all the same, and once.
func (s *Surface) getQueue(c *gin.Context) error {
	q := &queueResponse{surface: s, c: c, out: http.NewResponseController(c.Writer), listed: map[job.ID]bool{}}
	defer edge.SetWriteTimeout(q.out, 0) //nolint:errcheck // a connection that fails has no requests to come
	if err := q.list("queue_pending", jobs.Line{Waiting: true, Limit: queuePage}); err != nil {
		return q.broken(err)
	}
	if err := q.list("queue_running", jobs.Line{Limit: queuePage}); err != nil {
		return q.broken(err)
	}
	q.buf.WriteByte('}')
	return q.broken(q.flush())
}

// queueResponse is the answer of GET /queue, written page by page.
type queueResponse struct {
	surface *Surface
	c       *gin.Context
	out     *http.ResponseController
	buf     bytes.Buffer
	begun   bool            // something was sent
	listed  map[job.ID]bool // as pending
}

// list writes one member of the answer, of all pages of a line.
func (q *queueResponse) list(name string, line jobs.Line) error {
	b, entries := newBudget(queueBytes), 0
	for first := true; first || line.After != nil; first = false {
		page, err := q.surface.Reader.Line(q.c.Request.Context(), edge.Caller(q.c).Account, line)
		if err != nil {
			return err
		}
		if first {
			q.member(name)
		}
		for _, j := range page.Jobs {
			if q.listed[j.ID] {
				continue
			}
			q.listed[j.ID] = line.Waiting
			if entries++; entries > maxQueuePrompts {
				b.left = 0
			}
			if err := q.entry(j, b, entries == 1); err != nil {
				return err
			}
		}
		if line.After = page.Next; line.After == nil {
			break
		}
		if err := q.flush(); err != nil {
			return err
		}
	}
	q.buf.WriteByte(']')
	return nil
}

func (q *queueResponse) member(name string) {
	before := byte('{')
	if q.begun || q.buf.Len() > 0 {
		before = ','
	}
	q.buf.WriteByte(before)
	q.buf.WriteString(`"` + name + `":[`)
}

func (q *queueResponse) entry(j job.Job, b *budget, first bool) error {
	src, err := q.surface.source(q.c.Request.Context(), j, b)
	if err != nil {
		return err
	}
	if !first {
		q.buf.WriteByte(',')
	}
	e := json.NewEncoder(&q.buf)
	e.SetEscapeHTML(false)
	return e.Encode(queueEntry{j, src.Prompt}.tuple())
}

// flush sends what was gathered. A client that takes nothing is cut off by the deadline.
func (q *queueResponse) flush() error {
	if !q.begun {
		q.begun = true
		q.c.Header("Content-Type", "application/json; charset=utf-8")
		q.c.Status(http.StatusOK)
	}
	if err := edge.SetWriteTimeout(q.out, queueWrite); err != nil {
		return err
	}
	_, err := q.buf.WriteTo(q.c.Writer)
	return err
}

// broken cuts the connection off where the answer has begun: its end would be taken for the whole.
func (q *queueResponse) broken(err error) error {
	if err != nil && q.begun {
		q.surface.Edge.Logger.Warn("answer of GET /queue interrupted", "request_id", edge.RequestID(q.c), "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

type queueRequest struct {
	Delete []string `json:"delete"`
	Clear  bool     `json:"clear"`
}

type queueDeleted struct {
	Deleted []job.PublicID `json:"deleted"`
	Cleared bool           `json:"cleared"`
}

// postQueue cancels the listed jobs, pending and running, and empties the queue on
// `clear`: POST /queue. Ids that are unknown, finished or another's are passed over.
func (s *Surface) postQueue(c *gin.Context) error {
	var req queueRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	if len(req.Delete) > maxQueueDelete {
		return httperr.Invalidf("delete must list at most %d jobs", maxQueueDelete)
	}
	canceled, err := s.cancelNamed(c, req.Delete)
	if err != nil {
		return err
	}
	if req.Clear {
		cleared, err := s.Jobs.ClearPending(c.Request.Context(), edge.Caller(c).Account, edge.RequestID(c))
		if err != nil {
			return err
		}
		canceled = append(canceled, cleared...)
	}
	public, err := s.Reader.PublicIDs(c.Request.Context(), canceled)
	return edge.OK(c, queueDeleted{Deleted: append([]job.PublicID{}, public...), Cleared: req.Clear}, err)
}

// cancelNamed cancels the jobs of the caller that clients name so, and returns those that were active.
func (s *Surface) cancelNamed(c *gin.Context, named []string) ([]job.ID, error) {
	ids, err := s.Reader.IDs(c.Request.Context(), edge.Caller(c).Account, parseIDs(named))
	if err != nil {
		return nil, err
	}
	return s.Jobs.CancelMany(c.Request.Context(), edge.Caller(c).Account, ids, edge.RequestID(c))
}

// parseIDs keeps what can be a job's id; nothing else names one.
func parseIDs(texts []string) []job.PublicID {
	var ids []job.PublicID
	for _, text := range texts {
		if id, err := job.ParsePublicID(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// postInterrupt stops all running jobs of the caller, or only the one that the optional
// body names: POST /interrupt. Nothing running is fine.
func (s *Surface) postInterrupt(c *gin.Context) error {
	var req struct {
		PromptID string `json:"prompt_id"`
	}
	if err := request.OptionalJSON(c, &req); err != nil {
		return err
	}
	only, err := s.Reader.IDs(c.Request.Context(), edge.Caller(c).Account, parseIDs([]string{req.PromptID}))
	switch {
	case err != nil:
		return err
	case len(only) == 0 && req.PromptID != "": // it names no job, so none is running under it
		return edge.OK(c, struct{}{}, nil)
	case len(only) == 0:
		only = []job.ID{""}
	}
	if _, err := s.Jobs.Interrupt(c.Request.Context(), edge.Caller(c).Account, only[0], edge.RequestID(c)); err != nil {
		return err
	}
	return edge.OK(c, struct{}{}, nil)
}
