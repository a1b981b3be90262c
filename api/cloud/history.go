package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// maxHistory bounds the jobs of one history answer; each is read with its graph.
const maxHistory = 200

// maxHistoryDelete bounds the ids of one POST /history.
const maxHistoryDelete = 10_000

func (s *Surface) historyRoutes() []edge.Route {
	routes := s.historyReads()
	if s.History != nil {
		routes = append(routes, edge.Cloud(edge.Route{Method: http.MethodPost, Path: "/history", Access: edge.Write, Handle: s.postHistory})...)
	}
	return routes
}

func (s *Surface) historyReads() []edge.Route {
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/history", Handle: s.getHistory, Gate: s.Edge.JobLists},
		edge.Route{Method: http.MethodGet, Path: "/history/:id", Handle: s.getHistoryOf},
		edge.Route{Method: http.MethodGet, Path: "/history_v2", Handle: s.getHistoryV2, Gate: s.Edge.JobLists},
		edge.Route{Method: http.MethodGet, Path: "/history_v2/:id", Handle: s.getHistoryV2Of},
	)
}

// historyEntry is one job as the self-hosted runtime's history shows it. Prompt is the 5-tuple (number, id, prompt, extra_data, outputs).
type historyEntry struct {
	Prompt  []any                      `json:"prompt"`
	Outputs map[string]json.RawMessage `json:"outputs"`
	Status  executionStatus            `json:"status"`
	Meta    map[string]nodeMeta        `json:"meta"`
}

func (s *Surface) historyEntry(ctx context.Context, j job.Job, b *budget) (historyEntry, error) {
	src, err := s.source(ctx, j, b)
	if err != nil {
		return historyEntry{}, err
	}
	return historyEntry{
		Prompt:  []any{j.Number, j.PublicID(), src.Prompt, extraOf(src), append([]string{}, j.Targets...)},
		Outputs: outputMap(j), Status: statusOf(s.withExceptionNames(j)), Meta: metaOf(j),
	}, nil
}

func extraOf(src job.Source) map[string]json.RawMessage {
	if src.ExtraData == nil {
		return map[string]json.RawMessage{}
	}
	return src.ExtraData
}

// getHistory maps the ids of finished jobs, oldest first, to their entries: GET /history.
func (s *Surface) getHistory(c *gin.Context) error {
	finished, err := s.finished(c)
	if err != nil {
		return err
	}
	slices.SortFunc(finished, historyOrder)
	body, b := orderedObject{}, newBudget(historyBytes)
	for _, j := range finished {
		entry, err := s.historyEntry(c.Request.Context(), j, b)
		if err != nil {
			return err
		}
		body = append(body, member{string(j.PublicID()), entry})
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// finished reads ?max_items= and ?offset= and returns that part of the finished jobs,
// the newest first.
func (s *Surface) finished(c *gin.Context) ([]job.Job, error) {
	o := jobs.Order{States: []job.State{job.Succeeded, job.Failed, job.Canceled, job.Expired}, Limit: maxHistory}
	if text := c.Query("max_items"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, httperr.Invalidf("max_items must be a whole number")
		}
		if n > 0 { // the self-hosted runtime means everything by a negative number
			o.Limit = min(n, maxHistory)
		}
	}
	var err error
	if o.Offset, err = request.Offset(c); err != nil {
		return nil, err
	}
	found, _, err := s.lists().ListAt(c.Request.Context(), edge.Caller(c).Account, o)
	return found, err
}

// getHistoryOf is {} until the job is over, and for unknown ids: GET /history/{id}.
func (s *Surface) getHistoryOf(c *gin.Context) error {
	j, err := jobio.Find(c, s.Reader)
	if fault.Is(err, fault.NotFound) || (err == nil && !j.State.Final()) {
		c.PureJSON(http.StatusOK, struct{}{})
		return nil
	}
	if err == nil {
		err = s.requireShown(c, j)
	}
	if fault.Is(err, fault.NotFound) {
		c.PureJSON(http.StatusOK, struct{}{})
		return nil
	}
	if err != nil {
		return err
	}
	entry, err := s.historyEntry(c.Request.Context(), j, nil)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, map[job.PublicID]historyEntry{j.PublicID(): entry})
	return nil
}

// historyV2 is a history entry of the hosted service; the detail form adds the graph.
type historyV2 struct {
	PromptID   job.PublicID               `json:"prompt_id"`
	CreateTime int64                      `json:"create_time"`
	WorkflowID *string                    `json:"workflow_id"`
	Prompt     historyPrompt              `json:"prompt"`
	Outputs    map[string]json.RawMessage `json:"outputs"`
	Status     executionStatus            `json:"status"`
	Meta       map[string]nodeMeta        `json:"meta"`
}

type historyPrompt struct {
	Priority float64                    `json:"priority"`
	PromptID job.PublicID               `json:"prompt_id"`
	Extra    map[string]json.RawMessage `json:"extra_data"`
	Prompt   json.RawMessage            `json:"prompt,omitempty"`
	Outputs  []string                   `json:"outputs_to_execute,omitempty"`
}

func (s *Surface) historyV2(ctx context.Context, j job.Job, detail bool, b *budget) (historyV2, error) {
	src, err := s.source(ctx, j, b)
	if err != nil {
		return historyV2{}, err
	}
	h := historyV2{
		PromptID: j.PublicID(), CreateTime: j.SubmittedAt.UnixMilli(), Outputs: outputMap(j), Status: statusOf(s.withExceptionNames(j)),
		Meta:   metaOf(j),
		Prompt: historyPrompt{Priority: j.Number, PromptID: j.PublicID(), Extra: extraOf(src)},
	}
	if j.WorkflowID != "" {
		h.WorkflowID = &j.WorkflowID
	}
	if detail {
		h.Prompt.Prompt, h.Prompt.Outputs = src.Prompt, j.Targets
	}
	return h, nil
}

// getHistoryV2: GET /history_v2.
func (s *Surface) getHistoryV2(c *gin.Context) error {
	finished, err := s.finished(c)
	if err != nil {
		return err
	}
	entries, b := []historyV2{}, newBudget(historyBytes)
	for _, j := range finished {
		entry, err := s.historyV2(c.Request.Context(), j, false, b)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	c.PureJSON(http.StatusOK, gin.H{"history": entries})
	return nil
}

// getHistoryV2Of: GET /history_v2/{id}. A job that has not ended has no history: clients poll until it is there.
func (s *Surface) getHistoryV2Of(c *gin.Context) error {
	j, err := jobio.Find(c, s.Reader)
	if err == nil {
		err = s.requireShown(c, j)
	}
	if err != nil {
		return err
	}
	if !j.State.Final() {
		return fault.New(fault.NotFound, fault.CodeJobNotFound, "the job has not ended")
	}
	entry, err := s.historyV2(c.Request.Context(), j, true, nil)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, map[job.PublicID]historyV2{j.PublicID(): entry})
	return nil
}

// orderedObject is a JSON object whose members keep their order.
type orderedObject []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o orderedObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
