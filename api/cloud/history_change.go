package cloud

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/hidden"
)

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
