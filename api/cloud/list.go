package cloud

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

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
	c.PureJSON(http.StatusOK, body)
	return nil
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
		for _, s := range jobio.AllStates() {
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
