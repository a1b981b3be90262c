package comfyui

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// jobStatuses are the statuses of jobs, as the original lists them in its refusals.
var jobStatuses = []string{"pending", "in_progress", "completed", "failed", "cancelled"}

// jobQuery is the query of a request for the list of jobs.
type jobQuery struct {
	statuses   []string
	workflow   string
	byDuration bool
	ascending  bool
	limit      int // 0 = none
	offset     int
}

// parseJobQuery parses a query. Its refusals have the original's messages.
func parseJobQuery(query url.Values) (q jobQuery, err error) {
	for part := range strings.SplitSeq(strings.ToLower(query.Get("status")), ",") {
		if part = strings.TrimSpace(part); part != "" {
			q.statuses = append(q.statuses, part)
		}
	}
	if wrong := slices.DeleteFunc(slices.Clone(q.statuses), func(s string) bool { return slices.Contains(jobStatuses, s) }); len(wrong) > 0 {
		// the original's words
		return q, fmt.Errorf("Invalid status value(s): %s. Valid values: %s", strings.Join(wrong, ", "), strings.Join(jobStatuses, ", "))
	}
	by, order := strings.ToLower(cmp.Or(query.Get("sort_by"), "created_at")), strings.ToLower(cmp.Or(query.Get("sort_order"), "desc"))
	switch {
	case by != "created_at" && by != "execution_duration":
		return q, errors.New("sort_by must be 'created_at' or 'execution_duration'")
	case order != "asc" && order != "desc":
		return q, errors.New("sort_order must be 'asc' or 'desc'")
	}
	q.workflow, q.byDuration, q.ascending = query.Get("workflow_id"), by != "created_at", order == "asc"
	if query.Has("limit") {
		if q.limit, err = strconv.Atoi(query.Get("limit")); err != nil {
			return q, errors.New("limit must be an integer")
		}
		if q.limit <= 0 {
			return q, errors.New("limit must be a positive integer")
		}
	}
	if query.Has("offset") {
		if q.offset, err = strconv.Atoi(query.Get("offset")); err != nil {
			return q, errors.New("offset must be an integer")
		}
	}
	q.offset = max(q.offset, 0)
	return q, nil
}

// listJobs serves GET /api/jobs.
func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	q, err := parseJobQuery(r.URL.Query())
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
		return
	}
	failing(func(w http.ResponseWriter, _ *http.Request) {
		all := q.of(s.allJobs())
		shown := all[min(q.offset, len(all)):]
		var limit any
		if q.limit > 0 {
			shown, limit = shown[:min(q.limit, len(shown))], q.limit
		}
		writeJSON(w, http.StatusOK, map[string]any{
			"jobs":       append([]map[string]any{}, shown...),
			"pagination": map[string]any{"offset": q.offset, "limit": limit, "total": len(all), "has_more": q.offset+len(shown) < len(all)},
		})
	})(w, r)
}

// allJobs returns the running, waiting and ended prompts, in this order.
func (s *Server) allJobs() []map[string]any {
	running, pending := s.queue.now()
	var all []map[string]any
	for _, it := range running {
		all = append(all, job(it, "in_progress"))
	}
	for _, it := range pending {
		all = append(all, job(it, "pending"))
	}
	for _, e := range s.queue.ended() {
		all = append(all, endedJob(e))
	}
	return all
}

// of returns the requested jobs, sorted.
func (q jobQuery) of(all []map[string]any) []map[string]any {
	all = slices.DeleteFunc(all, func(j map[string]any) bool {
		status, _ := j["status"].(string)
		return len(q.statuses) > 0 && !slices.Contains(q.statuses, status) || q.workflow != "" && j["workflow_id"] != q.workflow
	})
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		if q.ascending {
			return cmp.Compare(q.key(a), q.key(b))
		}
		return cmp.Compare(q.key(b), q.key(a))
	})
	return all
}

// key returns the key by which jobs are sorted.
func (q jobQuery) key(j map[string]any) int64 {
	if !q.byDuration {
		at, _ := j["create_time"].(int64)
		return at
	}
	from, begun := j["execution_start_time"].(int64)
	to, ended := j["execution_end_time"].(int64)
	if !begun || !ended {
		return 0
	}
	return to - from
}

// readJob serves GET /api/jobs/{id}.
func (s *Server) readJob(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if e, ok := s.queue.past(id); ok {
		writeJSON(w, http.StatusOK, pastJob(e))
		return
	}
	running, pending := s.queue.now()
	for status, items := range map[string][]*item{"in_progress": running, "pending": pending} {
		for _, it := range items {
			if it.id == id {
				writeJSON(w, http.StatusOK, job(it, status))
				return
			}
		}
	}
	writeJSON(w, http.StatusNotFound, map[string]any{"error": "Job not found"})
}

func job(it *item, status string) map[string]any {
	j := map[string]any{
		"id": it.id, "status": status, "priority": it.number, "create_time": it.extra["create_time"],
		"outputs_count": 0, "previewable_outputs_count": 0,
	}
	if id := it.workflowID(); id != nil {
		j["workflow_id"] = id
	}
	return j
}

// workflowID returns the id in extra_pnginfo.workflow. The original fails if the workflow is null.
func (it *item) workflowID() any {
	info, _ := it.extra["extra_pnginfo"].(map[string]any)
	workflow, given := info["workflow"]
	if given && workflow == nil {
		panic(errNullWorkflow)
	}
	members, _ := workflow.(map[string]any)
	return members["id"]
}

// errNullWorkflow is the original's error while its history has a prompt whose workflow is null.
var errNullWorkflow = errors.New("'NoneType' object has no attribute 'get'")

// failing answers 500 where a handler meets a null workflow.
func failing(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case errNullWorkflow: // it is panicked with as it is
				http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
			default:
				panic(p)
			}
		}()
		handle(w, r)
	}
}

// pastJob is a job that ended, as its own page has it.
func pastJob(e *entry) map[string]any {
	j := endedJob(e)
	j["outputs"], j["execution_status"] = e.Outputs, e.Status
	j["workflow"] = map[string]any{"prompt": e.Prompt.prompt, "extra_data": e.Prompt.extra}
	return j
}

// endedJob is a job that ended, as the list has it.
func endedJob(e *entry) map[string]any {
	j := job(e.Prompt, map[bool]string{true: "completed", false: "failed"}[e.Status.Completed])
	for _, m := range e.Status.Messages {
		data, _ := m[1].(map[string]any)
		switch m[0] {
		case "execution_start":
			j["execution_start_time"] = data["timestamp"]
		case "execution_success":
			j["execution_end_time"] = data["timestamp"]
		case "execution_error":
			j["execution_end_time"], j["execution_error"] = data["timestamp"], data
		case "execution_interrupted":
			j["execution_end_time"], j["status"] = data["timestamp"], "cancelled"
		}
	}
	count := 0
	for _, output := range e.Outputs {
		for kind, items := range output {
			if list, ok := items.([]any); ok && kind != "animated" && kind != "text" {
				count += len(list)
			}
		}
	}
	j["outputs_count"], j["previewable_outputs_count"] = count, count
	return j
}
