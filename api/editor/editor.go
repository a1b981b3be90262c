// Package editor serves the data that a graph editor needs besides jobs and files: the definitions of all classes,
// the models and files of the account, its settings, and the files that the editor stores for its user. It promises
// the formats that editors of the self-hosted runtime expect. The pages around an editor are in package console.
package editor

import (
	"context"
	_ "embed" // the script that links an editor with the console
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

// NodeFiles returns the account's files that definitions offer as choices; files.Service implements it.
type NodeFiles interface {
	ForAccount(account string) node.Files
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge      *edge.Edge
	Classes   *node.Registry // nil = no object_info
	NodeFiles NodeFiles      // nil = accounts have no models; required with Classes
	Userdata  Userdata       // nil = no routes for the files of editors
	Servers   Servers        // nil = there are no ComfyUI servers

	Own func(ctx context.Context, account string) ([]*node.Class, error) // the classes of an account's deployments; nil = none
}

// Servers describes the classes and models of the ComfyUI servers; catalogue.Catalogue implements it.
type Servers interface {
	Models() comfyui.Models
	Extensions() []string
	HasWebFile(path string) bool
	WebFile(ctx context.Context, path string) (*comfyui.Download, error)
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	definitions *definitions
}

// New returns the surface.
func New(deps Deps) *Surface {
	return &Surface{Deps: deps, definitions: newDefinitions(deps.Classes)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return slices.Concat(s.definitionRoutes(), s.userdataRoutes(), s.settingRoutes(), s.modelRoutes())
}

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
	return edge.OK(c, scripts, nil)
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

// maxSettingID bounds the id of a setting.
const maxSettingID = 256

// settingRoutes store the settings of an account's editor. They are a file beside the editor's other files
// (userdata.SettingsPath), as in the self-hosted runtime.
func (s *Surface) settingRoutes() []edge.Route {
	if s.Userdata == nil {
		return nil
	}
	return edge.Cloud(
		edge.Route{Method: http.MethodGet, Path: "/settings", Handle: s.getSettings},
		edge.Route{Method: http.MethodPost, Path: "/settings", Access: edge.Store, Limit: userdata.MaxSettings, Handle: s.postSettings},
		edge.Route{Method: http.MethodGet, Path: "/settings/:id", Handle: s.getSetting},
		edge.Route{Method: http.MethodPost, Path: "/settings/:id", Access: edge.Store, Limit: userdata.MaxSettings, Handle: s.postSetting},
	)
}

// getSettings: GET /settings.
func (s *Surface) getSettings(c *gin.Context) error {
	settings, err := s.Userdata.Settings(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	if s.Edge.FromEditor(c) {
		settings = atFirst(settings)
	}
	c.Header("Cache-Control", "no-store")
	return edge.OK(c, settings, nil)
}

// atFirst returns the settings of an editor that nobody has configured: without the dialog of templates, of which
// this service has none, and without news from other hosts.
func atFirst(kept userdata.Settings) userdata.Settings {
	shown := userdata.Settings{
		"Comfy.TutorialCompleted":               userdata.Value("true"),
		"Comfy.Notification.ShowVersionUpdates": userdata.Value("false"),
	}
	maps.Copy(shown, kept)
	return shown
}

// getSetting: GET /settings/{id}. A setting that was never set is null.
func (s *Surface) getSetting(c *gin.Context) error {
	settings, err := s.Userdata.Settings(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-store")
	return edge.OK(c, settings[c.Param("id")], nil)
}

// postSettings stores the settings of the body and keeps the others: POST /settings.
func (s *Surface) postSettings(c *gin.Context) error {
	var values userdata.Settings
	if err := request.JSON(c, &values); err != nil {
		return err
	}
	if values == nil {
		return httperr.Invalidf("the body must be an object of settings by their ids")
	}
	return s.changeSettings(c, values)
}

// postSetting stores one setting, whose value is the body: POST /settings/{id}.
func (s *Surface) postSetting(c *gin.Context) error {
	var value userdata.Value
	if err := request.Value(c, &value); err != nil {
		return err
	}
	return s.changeSettings(c, userdata.Settings{c.Param("id"): value})
}

func (s *Surface) changeSettings(c *gin.Context, values userdata.Settings) error {
	for id := range values {
		if id == "" || len(id) > maxSettingID {
			return httperr.Invalidf("the id of a setting must have 1 to %d bytes", maxSettingID)
		}
	}
	if err := s.Userdata.ChangeSettings(c.Request.Context(), edge.Caller(c).Account, values); err != nil {
		return err
	}
	c.Status(http.StatusOK)
	return nil
}
