// Package about serves the state of the service, whether it is alive and ready, and the OpenAPI document of its
// surfaces. Its routes need no credential. It promises that an answer contains no secret,
// and no address but that of the service as the request names it.
package about

import (
	"bytes"
	"context"
	"html"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/openapi"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Readiness reports the state of the parts that a submission depends on.
type Readiness interface {
	Check(ctx context.Context) []Part
}

// Part is the state of one part.
type Part struct {
	Name     string
	OK       bool
	Required bool   // without this part, a submission cannot be accepted and kept
	Detail   string // shown to everybody: no addresses, no secrets
}

// Surface serves the routes of this package.
type Surface struct {
	edge      *edge.Edge
	readiness Readiness
	documents func() (documents, error) // rendered once, at the first request
}

// New returns the surface.
func New(e *edge.Edge, r Readiness) *Surface {
	s := &Surface{edge: e, readiness: r}
	s.documents = sync.OnceValues(s.renderDocuments)
	return s
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.healthRoutes(), s.documentRoutes()...) }

func (s *Surface) healthRoutes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodGet, Path: "/healthz", Access: edge.Public, Handle: s.healthz},
		{Method: http.MethodHead, Path: "/healthz", Access: edge.Public, Handle: s.healthz},
		{Method: http.MethodGet, Path: "/readyz", Access: edge.Public, Handle: s.readyz},
		{Method: http.MethodHead, Path: "/readyz", Access: edge.Public, Handle: s.readyz},
		{Method: http.MethodGet, Path: "/api/v2/health", Access: edge.Public, Handle: s.healthV2},
	}
}

// healthz reports that the process is alive: GET /healthz.
func (s *Surface) healthz(c *gin.Context) error {
	return edge.OK(c, gin.H{"status": "alive"}, nil)
}

type healthResponse struct {
	Status   string `json:"status"`
	Upstream string `json:"upstream"` // the address of this service: no other service is behind it
}

// healthV2 reports readiness in the format of the v2 contract: GET /api/v2/health.
func (s *Surface) healthV2(c *gin.Context) error {
	for _, p := range s.readiness.Check(c.Request.Context()) {
		if p.Required && !p.OK {
			return fault.New(fault.Unavailable, "", "submissions are not accepted now: %s is not available", p.Name)
		}
	}
	return edge.OK(c, healthResponse{"healthy", s.edge.BaseURL(c.Request)}, nil)
}

type partState struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

type readyResponse struct {
	Status string               `json:"status"`
	Parts  map[string]partState `json:"parts"`
}

// readyz answers 200 when a submission would be accepted and kept: GET /readyz. Parts whose loss only delays work
// (the workflow engine, the workers) are listed in the body and do not change the status.
func (s *Surface) readyz(c *gin.Context) error {
	body := readyResponse{Status: "ready", Parts: map[string]partState{}}
	status := http.StatusOK
	for _, p := range s.readiness.Check(c.Request.Context()) {
		body.Parts[p.Name] = partState{OK: p.OK, Detail: p.Detail}
		if p.Required && !p.OK {
			body.Status, status = "not_ready", http.StatusServiceUnavailable
		}
	}
	return edge.Answer(c, status, body, nil)
}

// documentRoutes serve the OpenAPI document of the surfaces and the page that renders it.
func (s *Surface) documentRoutes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodGet, Path: "/openapi.json", Access: edge.Public, Handle: s.getDocument},
		{Method: http.MethodGet, Path: "/docs", Access: edge.Public, Handle: s.getDocs},
	}
}

// rendered is a body that is the same for every caller, with its ETag.
type rendered struct {
	body []byte
	etag string
}

func newRendered(body []byte) *rendered {
	return &rendered{body, edge.ETag(body)}
}

// documents are the OpenAPI document and its page, which has openapi.Base in place of the base address.
type documents struct {
	document *rendered
	page     []byte
}

// renderDocuments renders the document and its page for the path at which this service is mounted.
func (s *Surface) renderDocuments() (documents, error) {
	mount := s.edge.Mount()
	raw, err := openapi.Document(mount)
	if err != nil {
		return documents{}, err
	}
	page, err := openapi.Page(mount)
	if err != nil {
		return documents{}, err
	}
	return documents{newRendered(raw), page}, nil
}

// getDocument: GET /openapi.json.
func (s *Surface) getDocument(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	return writeRendered(c, "application/json; charset=utf-8", docs.document)
}

// getDocs: GET /docs. The page loads no other resource and runs no script.
func (s *Surface) getDocs(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	base := html.EscapeString(s.edge.BaseURL(c.Request))
	return writeRendered(c, "text/html; charset=utf-8", newRendered(bytes.ReplaceAll(docs.page, []byte(openapi.Base), []byte(base))))
}

func writeRendered(c *gin.Context, contentType string, r *rendered) error {
	c.Header("ETag", r.etag)
	c.Header("Cache-Control", "no-cache")
	c.Header("Vary", "Accept-Encoding")
	if edge.Unchanged(c, r.etag) {
		return nil
	}
	body, err := edge.Compressed(c, r.body)
	if err == nil {
		c.Data(http.StatusOK, contentType, body)
	}
	return err
}
