package about

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
)

// Root serves the address of a service that serves no editor: browsers are redirected to a page, and programs learn that
// the service is alive, as ComfyUI's clients ask at this address.
type Root struct {
	edge *edge.Edge
	page string
}

// NewRoot returns the surface that redirects browsers to the page with a path.
func NewRoot(e *edge.Edge, page string) *Root { return &Root{e, page} }

// Routes returns the routes of the surface.
func (s *Root) Routes() []edge.Route {
	return []edge.Route{{Method: http.MethodGet, Path: "/", Access: edge.Public, Handle: s.root}}
}

// Serves implements api.Fallback for the bare path prefix of the public URL.
func (s *Root) Serves(path string) bool { return path == "" }

// Unrouted answers at the bare path prefix as at the root.
func (s *Root) Unrouted(c *gin.Context) error { return s.root(c) }

// root: GET /.
func (s *Root) root(c *gin.Context) error {
	c.Header("Vary", "Accept")
	if !strings.Contains(c.GetHeader("Accept"), "text/html") {
		return edge.OK(c, gin.H{"status": "alive"}, nil)
	}
	edge.Redirect(c, s.edge.BaseURL(c.Request)+s.page)
	return nil
}
