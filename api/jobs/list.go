package jobs

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/cursor"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Limits of listings.
const (
	defaultListed      = 20
	maxMetadataFilters = 3
)

// listing makes the cursors of the listing, which are positions in the order of submission.
var listing = cursor.Listing[int64]{Kind: "j"}

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
	if page.Next != 0 {
		body.Next = listing.Format(page.Next)
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

func v2Query(c *gin.Context) (q jobs.Query, err error) {
	if q.Limit, err = request.Limit(c, defaultListed); err != nil {
		return q, err
	}
	if q.Before, err = listing.Read(c, "cursor"); err != nil {
		return q, err
	}
	for _, word := range request.CommaList(c.Query("status")) {
		state := job.State(word)
		if !slices.Contains(jobio.AllStates(), state) {
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
