package api

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Limits of listings.
const (
	defaultListedV2    = 20
	defaultListedCloud = 100
	maxMetadataFilters = 3
)

type jobsResponse struct {
	Jobs []jobBody `json:"jobs"`
	Next string    `json:"next_cursor,omitempty"`
}

// listJobs lists jobs newest first (D-05): GET /api/v2/jobs?limit=&cursor=&status=&metadata.<key>=<value>.
func (s *server) listJobs(c *gin.Context) error {
	q, err := v2Query(c)
	if err != nil {
		return err
	}
	page, err := s.Reader.List(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	positions, err := s.queuePositions(c.Request.Context(), edge.Caller(c).Account, page.Jobs)
	if err != nil {
		return err
	}
	body := jobsResponse{Jobs: []jobBody{}}
	for _, j := range page.Jobs {
		rendered, err := s.renderPlaced(c, j, positions[j.ID])
		if err != nil {
			return err
		}
		body.Jobs = append(body.Jobs, rendered)
	}
	if page.Next != 0 {
		body.Next = jobCursor(page.Next)
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

func v2Query(c *gin.Context) (q jobs.Query, err error) {
	if q.Limit, err = request.Limit(c, defaultListedV2); err != nil {
		return q, err
	}
	if text, ok := c.GetQuery("cursor"); ok {
		if q.Before, err = parseJobCursor(text); err != nil {
			return q, err
		}
	}
	for _, word := range request.CommaList(c.Query("status")) {
		state := job.State(word)
		if !slices.Contains(allStates(), state) {
			return q, httperr.Invalidf("status %q is none of a job", word)
		}
		q.States = append(q.States, state)
	}
	q.Metadata, err = metadataFilters(c.Request.URL.Query())
	return q, err
}

func allStates() []job.State {
	return []job.State{job.Queued, job.Running, job.Canceling, job.Succeeded, job.Canceled, job.Failed, job.Expired}
}

func metadataFilters(query map[string][]string) (map[string]string, error) {
	filters := map[string]string{}
	for name, values := range query {
		key, ok := strings.CutPrefix(name, "metadata.")
		if !ok {
			continue
		}
		if key == "" || len(values) != 1 {
			return nil, fault.New(fault.Invalid, "invalid_metadata_filter", "each metadata filter names a label, once")
		}
		filters[key] = values[0]
	}
	if len(filters) > maxMetadataFilters {
		return nil, fault.New(fault.Invalid, "invalid_metadata_filter", "at most %d metadata filters", maxMetadataFilters)
	}
	return filters, nil
}

// A cursor is a position in the order of submission; clients take it as it is.
func jobCursor(position int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt([]byte("j"), position, 10))
}

func parseJobCursor(text string) (int64, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(raw) > 1 && raw[0] == 'j' {
		if n, err := strconv.ParseInt(string(raw[1:]), 10, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fault.New(fault.Invalid, "invalid_cursor", "the cursor is not one of ours")
}

type cloudJobsResponse struct {
	Jobs       []jobEntry `json:"jobs"`
	Pagination pagination `json:"pagination"`
}

type pagination struct {
	Offset  int   `json:"offset"`
	Limit   int   `json:"limit"`
	Total   int64 `json:"total"`
	HasMore bool  `json:"has_more"`
}

// listCloudJobs: GET /jobs?status=&workflow_id=&output_type=&sort_by=&sort_order=&offset=&limit=.
func (s *server) listCloudJobs(c *gin.Context) error {
	o, err := cloudOrder(c)
	if err != nil {
		return err
	}
	body := cloudJobsResponse{Jobs: []jobEntry{}, Pagination: pagination{Offset: o.Offset, Limit: o.Limit}}
	if o.Hide, err = s.hiding(c); err != nil {
		return err
	}
	found, total, err := s.Reader.ListAt(c.Request.Context(), edge.Caller(c).Account, o)
	if err != nil {
		return err
	}
	for _, j := range found {
		body.Jobs = append(body.Jobs, entryOf(s.worded(j)))
	}
	body.Pagination.Total, body.Pagination.HasMore = total, int64(o.Offset+len(found)) < total
	c.PureJSON(http.StatusOK, body)
	return nil
}

func cloudOrder(c *gin.Context) (o jobs.Order, err error) {
	if o.Limit, err = request.Limit(c, defaultListedCloud); err != nil {
		return o, err
	}
	if o.Offset, err = request.Offset(c); err != nil {
		return o, err
	}
	if o.States, err = friendlyStates(c.Query("status")); err != nil {
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

func friendlyStates(list string) ([]job.State, error) {
	var states []job.State
	for _, word := range request.CommaList(list) {
		known := false
		for _, s := range allStates() {
			if friendly(s) == word {
				states, known = append(states, s), true
			}
		}
		if !known {
			return nil, httperr.Invalidf("status %q is none of pending, in_progress, completed, failed, cancelled", word)
		}
	}
	return states, nil
}
