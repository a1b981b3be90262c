package operators

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/operate"
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
		line := ShownView{View: one}
		if views.Rebuildable(one.Name) {
			line.Acts = Buttons(views.Rebuild, map[string]string{"view": one.Name})
		}
		for _, h := range one.Halted {
			acts := Buttons(views.Resume, map[string]string{"view": one.Name, "stream": h.Stream})
			line.Streams = append(line.Streams, HaltedStream{Halted: h, Acts: acts})
		}
		shown.Views = append(shown.Views, line)
	}
	return shown, nil
}

// checkView compares a view with a new fold of the log, which may take minutes: GET /console/views/{view}/check.
func (r *Section) checkView(c *gin.Context, _ page.Visitor) (console.Page, error) {
	found, err := views.Check.Do(c.Request.Context(), r.Views, &views.Named{View: c.Param("view")}, operate.Attribution{})
	if err == nil {
		found, err = operate.Redacted(found)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return nil, err
	}
	return &CheckedPage{Frame: console.Frame{Title: "Check of a view"}, View: c.Param("view"), Found: string(text)}, nil
}
