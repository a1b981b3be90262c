package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
)

func (s *server) healthRoutes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodGet, Path: "/healthz", Access: edge.Public, Handle: s.healthz},
		{Method: http.MethodHead, Path: "/healthz", Access: edge.Public, Handle: s.healthz},
		{Method: http.MethodGet, Path: "/readyz", Access: edge.Public, Handle: s.readyz},
		{Method: http.MethodHead, Path: "/readyz", Access: edge.Public, Handle: s.readyz},
	}
}

// healthz says that the process lives: GET /healthz.
func (s *server) healthz(c *gin.Context) error {
	c.PureJSON(http.StatusOK, gin.H{"status": "alive"})
	return nil
}

type partState struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

type readyResponse struct {
	Status string               `json:"status"`
	Parts  map[string]partState `json:"parts"`
}

// readyz is 200 when a submission would be accepted and kept: GET /readyz. The
// parts that only delay work (the workflow engine, the workers) are named in the
// body and do not make it fail.
func (s *server) readyz(c *gin.Context) error {
	body := readyResponse{Status: "ready", Parts: map[string]partState{}}
	status := http.StatusOK
	for _, p := range s.Readiness.Check(c.Request.Context()) {
		body.Parts[p.Name] = partState{OK: p.OK, Detail: p.Detail}
		if p.Required && !p.OK {
			body.Status, status = "not_ready", http.StatusServiceUnavailable
		}
	}
	c.PureJSON(status, body)
	return nil
}
