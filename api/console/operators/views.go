package operators

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// views shows the progress of every view: GET /console/views.
func (r *Section) views(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Views.Views(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := &ViewsPage{Frame: console.Frame{Title: "Views", Live: true, Every: every}}
	for _, one := range all {
		line := ShownView{Name: one.Name, Position: one.Position, Behind: one.Behind}
		if views.Rebuildable(one.Name) {
			line.Acts = []console.Act{{
				Path: "/views/" + one.Name + "/rebuild", Label: "Rebuild",
				Warning: "A new copy of the view is built from the log, which may take minutes, and then replaces the current one.",
			}}
		}
		for _, h := range one.Halted {
			line.Streams = append(line.Streams, HaltedStream{Stream: h.Stream, Position: h.Position, Error: h.Error, Acts: []console.Act{{
				Path: "/views/" + one.Name + "/resume", Label: "Resume", Hidden: map[string]string{"stream": h.Stream},
				Warning: "The view continues with this stream. If the cause of the failure remains, it halts again.",
			}}})
		}
		shown.Views = append(shown.Views, line)
	}
	return shown, nil
}

// checkView compares a view with a new fold of the log, which may take minutes: GET /console/views/{view}/check.
func (r *Section) checkView(c *gin.Context, _ page.Visitor) (console.Page, error) {
	found, err := r.Views.Check(c.Request.Context(), c.Param("view"))
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return nil, err
	}
	return &CheckedPage{Frame: console.Frame{Title: "Check of a view"}, View: c.Param("view"), Found: string(text)}, nil
}

func (r *Section) rebuildView(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	_, err = r.Views.Rebuild(c.Request.Context(), c.Param("view"), by)
	return "/views", err
}

func (r *Section) resumeView(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	return "/views", r.Views.Resume(c.Request.Context(), c.Param("view"), c.PostForm("stream"), by)
}
