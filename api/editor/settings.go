package editor

import (
	"maps"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

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
	c.PureJSON(http.StatusOK, settings)
	return nil
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
	c.PureJSON(http.StatusOK, settings[c.Param("id")])
	return nil
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
