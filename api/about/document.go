package about

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/openapi"
)

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

// documents are the OpenAPI document and its page.
type documents struct{ document, page *rendered }

// renderDocuments renders the document and its page for the path at which this service is mounted.
func (s *Surface) renderDocuments() (documents, error) {
	mount := s.edge.Mount()
	raw, err := openapi.Document(mount)
	if err != nil {
		return documents{}, err
	}
	html, err := openapi.Page(mount)
	if err != nil {
		return documents{}, err
	}
	return documents{newRendered(raw), newRendered(html)}, nil
}

// getDocument: GET /openapi.json.
func (s *Surface) getDocument(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	writeRendered(c, "application/json; charset=utf-8", docs.document)
	return nil
}

// getDocs: GET /docs. The page loads no other resource and runs no script.
func (s *Surface) getDocs(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	writeRendered(c, "text/html; charset=utf-8", docs.page)
	return nil
}

func writeRendered(c *gin.Context, contentType string, r *rendered) {
	c.Header("ETag", r.etag)
	c.Header("Cache-Control", "no-cache")
	if !edge.Unchanged(c, r.etag) {
		c.Data(http.StatusOK, contentType, r.body)
	}
}
