package editor

import (
	_ "embed" // the script that links an editor with the console
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/fault"
)

// webFileWithin bounds the time to fetch a web file from a server.
const webFileWithin = 30 * time.Second

// getExtensions lists the scripts that an editor loads: GET /extensions.
func (s *Surface) getExtensions(c *gin.Context) error {
	scripts := []string{}
	if s.Edge.Cookies != nil { // this service serves an editor
		scripts = append(scripts, joinPath)
	}
	if s.Servers != nil {
		scripts = append(scripts, s.Servers.Extensions()...)
	}
	c.PureJSON(http.StatusOK, scripts)
	return nil
}

// joinPath is the path of the script that links an editor with the console.
const joinPath = "/extensions/millrace/millrace.js"

//go:embed files/millrace.js
var join []byte

// Serves reports whether a path is that of a custom node's web file or of the script that links an editor with
// the console.
func (s *Surface) Serves(path string) bool {
	return path == joinPath && s.Edge.Cookies != nil || s.Servers != nil && s.Servers.HasWebFile(path)
}

// Unrouted serves a custom node's web file from the server that the operator chose: GET /extensions/{name}/{file}.
func (s *Surface) Unrouted(c *gin.Context) error {
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		return fault.New(fault.NotFound, fault.CodeNotFound, "web files are read with GET")
	}
	if c.Request.URL.Path == joinPath {
		c.Header("Cache-Control", "no-cache")
		c.Header("X-Content-Type-Options", "nosniff")
		c.Data(http.StatusOK, "text/javascript; charset=utf-8", join)
		return nil
	}
	file, err := s.Servers.WebFile(c.Request.Context(), c.Request.URL.EscapedPath())
	if err != nil {
		return err
	}
	defer file.Close() // read only
	h := c.Writer.Header()
	h.Set("Content-Type", file.MediaType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(webFileWithin)); err != nil {
		return err
	}
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodGet {
		_, err = io.Copy(c.Writer, file)
	}
	return err
}
