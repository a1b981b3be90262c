package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/openapi"
)

// documentRoutes serve the OpenAPI document of the surfaces, and the page that shows it.
func (s *server) documentRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/openapi.json", access: public, handle: s.getDocument},
		{method: http.MethodGet, path: "/docs", access: public, handle: s.getDocs},
	}
}

// rendered is something that is the same for every caller, with its ETag.
type rendered struct {
	body []byte
	etag string
}

func newRendered(body []byte) *rendered {
	sum := sha256.Sum256(body)
	return &rendered{body, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// documents are the OpenAPI document and its page.
type documents struct{ document, page *rendered }

// renderDocuments renders both for where this service is mounted.
func (s *server) renderDocuments() (documents, error) {
	mount := ""
	if s.public != nil {
		mount = s.public.Path
	}
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
func (s *server) getDocument(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	answerRendered(c, "application/json; charset=utf-8", docs.document)
	return nil
}

// getDocs: GET /docs. The page loads nothing and runs nothing.
func (s *server) getDocs(c *gin.Context) error {
	docs, err := s.documents()
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	answerRendered(c, "text/html; charset=utf-8", docs.page)
	return nil
}

func answerRendered(c *gin.Context, contentType string, r *rendered) {
	c.Header("ETag", r.etag)
	c.Header("Cache-Control", "no-cache")
	if etagMatches(c.GetHeader("If-None-Match"), r.etag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	c.Data(http.StatusOK, contentType, r.body)
}
