package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/hidden"
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
	return edge.OK(c, body, nil)
}

// finished reads ?max_items= and ?offset= and returns that part of the finished jobs,
// the newest first.
func (s *Surface) finished(c *gin.Context) ([]job.Job, error) {
	o := jobs.Order{States: job.FinalStates(), Limit: maxHistory}
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
		return edge.OK(c, struct{}{}, nil)
	}
	if err == nil {
		err = s.requireShown(c, j)
	}
	if fault.Is(err, fault.NotFound) {
		return edge.OK(c, struct{}{}, nil)
	}
	if err != nil {
		return err
	}
	entry, err := s.historyEntry(c.Request.Context(), j, nil)
	return edge.OK(c, map[job.PublicID]historyEntry{j.PublicID(): entry}, err)
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
	return edge.OK(c, gin.H{"history": entries}, nil)
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
	return edge.OK(c, map[job.PublicID]historyV2{j.PublicID(): entry}, err)
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

type historyRequest struct {
	Delete []string `json:"delete"`
	Clear  bool     `json:"clear"`
}

// postHistory takes finished jobs out of the lists of this surface: POST /history. Their events stay,
// and with them what the v2 surface shows.
func (s *Surface) postHistory(c *gin.Context) error {
	var req historyRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	if len(req.Delete) > maxHistoryDelete {
		return httperr.Invalidf("delete must list at most %d jobs", maxHistoryDelete)
	}
	account, ctx := edge.Caller(c).Account, c.Request.Context()
	named, err := s.Reader.IDs(ctx, account, parseIDs(req.Delete))
	if err != nil {
		return err
	}
	ids := make([]string, len(named))
	for i, id := range named {
		ids[i] = string(id)
	}
	if req.Clear {
		if err := s.History.Clear(ctx, account, edge.RequestID(c)); err != nil {
			return err
		}
	} else if len(ids) > 0 {
		if err := s.History.Hide(ctx, account, ids, edge.RequestID(c)); err != nil {
			return err
		}
	}
	c.Status(http.StatusOK)
	return nil
}

// hiding returns what the caller has hidden.
func (s *Surface) hiding(c *gin.Context) (*hidden.Hiding, error) {
	if s.History == nil {
		return nil, nil
	}
	return s.History.Hiding(c.Request.Context(), edge.Caller(c).Account)
}

// requireShown is NotFound for a finished job that its account has hidden.
func (s *Surface) requireShown(c *gin.Context, j job.Job) error {
	h, err := s.hiding(c)
	if err != nil || h == nil || !j.State.Final() {
		return err
	}
	gone, err := s.History.Hides(c.Request.Context(), j.Account, h, j.ID)
	if err == nil && gone {
		return fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	}
	return err
}

// historyBytes bounds the graphs of one page of a history: with graphs of many megabytes, those of
// later entries are left out, and the entry of one job has its own.
const historyBytes = 32 << 20

// sourceCacheBytes is what recent submissions may take in memory. They never change, and polls of the
// queue ask for the same ones again and again.
const sourceCacheBytes = 32 << 20

// budget is the number of bytes of submissions that an answer may still include. Nil = no bound.
type budget struct{ left int64 }

func newBudget(bytes int64) *budget { return &budget{left: bytes} }

// source returns a job's submission, within what b has left: one that is larger is an empty graph.
func (s *Surface) source(ctx context.Context, j job.Job, b *budget) (job.Source, error) {
	empty := job.Source{Prompt: json.RawMessage("{}")}
	if b == nil {
		return s.Sources.Load(ctx, j.Account, j.ID)
	}
	if b.left <= 0 {
		return empty, nil
	}
	src, known := s.recent.get(j)
	if !known {
		var whole bool
		var err error
		src, whole, err = s.Sources.LoadWithin(ctx, j.Account, j.ID, b.left)
		if err != nil {
			return job.Source{}, err
		}
		if !whole {
			return empty, nil
		}
		src.Filled = nil // histories show what was submitted
		s.recent.put(j, src)
	}
	if size := sizeOf(src); size <= b.left {
		b.left -= size
		return src, nil
	}
	return empty, nil
}

func sizeOf(src job.Source) int64 {
	size := len(src.Prompt)
	for name, value := range src.ExtraData {
		size += len(name) + len(value)
	}
	return int64(size)
}

// sourceCache keeps the submissions that were asked for last, up to a number of bytes.
type sourceCache struct {
	most int64

	mu     sync.Mutex // guards size and recent
	size   int64
	recent *simplelru.LRU[sourceKey, job.Source] // bounded by bytes
}

type sourceKey struct {
	account string
	id      job.ID
}

func newSourceCache(bytes int64) *sourceCache {
	c := &sourceCache{most: bytes}
	recent, err := simplelru.NewLRU(math.MaxInt, func(_ sourceKey, src job.Source) { c.size -= sizeOf(src) })
	if err != nil {
		panic(err) // the bound is a constant
	}
	c.recent = recent
	return c
}

func (c *sourceCache) get(j job.Job) (job.Source, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Get(sourceKey{j.Account, j.ID})
}

// put keeps src, unless it would take more than a quarter of the cache.
func (c *sourceCache) put(j job.Job, src job.Source) {
	key, size := sourceKey{j.Account, j.ID}, sizeOf(src)
	if size > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent.Contains(key) {
		return
	}
	c.recent.Add(key, src)
	for c.size += size; c.size > c.most; {
		c.recent.RemoveOldest()
	}
}
