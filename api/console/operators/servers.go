package operators

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/fault"
	operateservers "github.com/millrace-dev/millrace/internal/operate/servers"
)

// addServer registers a ComfyUI server: POST /console/servers.
func (r *Section) addServer(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	_, err = r.Servers.Add(c.Request.Context(), operateservers.Request{
		URL: strings.TrimSpace(c.PostForm("url")), Labels: strings.Fields(strings.ReplaceAll(c.PostForm("labels"), ",", " ")),
	}, by)
	return "/servers", err
}

// changeServer drains, resumes or removes a ComfyUI server: POST /console/servers/{id}/{change}.
func (r *Section) changeServer(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	change := c.Param("change")
	if !slices.Contains([]string{"drain", "resume", "remove"}, change) {
		return "", fault.New(fault.NotFound, fault.CodeNotFound, "%.32q is not a command for a server.", change)
	}
	_, err = r.Servers.Change(c.Request.Context(), change, c.Param("id"), by)
	return "/servers", err
}
