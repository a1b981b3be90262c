package operators

import (
	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// sessions lists the sessions of people in force, newest first: GET /console/sessions.
func (r *Section) sessions(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Sessions.Sessions(c.Request.Context(), false)
	if err != nil {
		return nil, err
	}
	shown := &SessionsPage{Frame: console.Frame{Title: "Sessions", Live: true, Every: every}, More: len(all) > pageRows}
	if people := r.page.Edge.People; people != nil {
		shown.Provider = people.Provider.Host()
	}
	for _, one := range all[:min(len(all), pageRows)] {
		acts := Buttons(sessions.End, map[string]string{"session": one.ID})
		shown.Sessions = append(shown.Sessions, ShownSession{Session: one, Acts: acts})
	}
	return shown, nil
}
