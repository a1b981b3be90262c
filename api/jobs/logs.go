package jobs

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
)

// logRoutes serve logs, if the deployment has logs. Without them, jobs have no link to a log.
func (s *Surface) logRoutes() []edge.Route {
	if s.Logs == nil {
		return nil
	}
	return edge.V2(edge.Route{Method: http.MethodGet, Path: "/jobs/:id/logs", Handle: s.getLogs})
}

type logResponse struct {
	Text       string `json:"text"`
	Truncated  bool   `json:"truncated"`
	CapturedAt string `json:"captured_at"`
	Complete   bool   `json:"complete"`
}

// getLogs serves the log of a job, or 204 while the log is empty: GET /api/v2/jobs/{id}/logs.
func (s *Surface) getLogs(c *gin.Context) error {
	j, err := jobio.Find(c, s.Reader)
	if err != nil {
		return err
	}
	log, err := s.Logs.Log(c.Request.Context(), j.Account, j.ID)
	if err != nil {
		return err
	}
	if log.Text == "" {
		edge.NoContent(c)
		return nil
	}
	c.PureJSON(http.StatusOK, logResponse{
		Text: log.Text, Truncated: log.Truncated, CapturedAt: edge.Timestamp(log.At), Complete: j.State.Final(),
	})
	return nil
}
