package deployments

import (
	"context"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	operated "github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Shadows runs recorded calls through other versions; the service of operators implements it.
type Shadows interface {
	Shadow(ctx context.Context, d deployment.Deployment, s operated.Shadowing, by eventlog.By) (string, []operated.Pair, error)
	Report(ctx context.Context, d deployment.Deployment, run string) (operated.ShadowReport, error)
}

// ShadowPage pairs recorded calls with what another version makes of their inputs.
type ShadowPage struct {
	console.Frame
	Found
	Report    operated.ShadowReport
	By        map[string]int  // numbers of pairs by their outcomes
	Differing []operated.Pair // without the pairs that are identical
}

const (
	shadowSince = 24 * time.Hour // how old the calls of a run may be that a page begins
	shadowsKept = 32             // reports of runs that have ended; each compares up to 200 pairs of pictures
)

// shadow shows the report of a run: GET /console/deployments/{name}/shadows/{run}.
func (s *Section) shadow(c *gin.Context, _ page.Visitor, f Found) (console.Page, error) {
	key := [2]string{string(f.ID), c.Param("run")}
	report, known := s.ended.Get(key)
	if !known {
		var err error
		if report, err = s.Shadows.Report(c.Request.Context(), f.Deployment, c.Param("run")); err != nil {
			return nil, err
		}
		if report.Counts[operated.Unended] == 0 {
			s.ended.Add(key, report)
		}
	}
	shown := &ShadowPage{Frame: console.Frame{Title: "Shadow of " + f.Name}, Found: f, Report: report, By: map[string]int{}}
	for _, p := range report.Pairs {
		shown.By[string(p.Outcome)]++
		if p.Outcome != operated.Identical {
			shown.Differing = append(shown.Differing, p)
		}
	}
	return shown, nil
}

// beginShadow runs the calls of the last day through a version: POST /console/deployments/{name}/shadow.
func (s *Section) beginShadow(c *gin.Context, v page.Visitor) (string, error) {
	f, err := s.find(c, v)
	if err != nil {
		return "", err
	}
	version, _ := strconv.Atoi(c.PostForm("version")) // 0 is no version, which is refused
	by, err := author(c, v)
	if err != nil {
		return "", err
	}
	run, refused, err := s.Shadows.Shadow(c.Request.Context(), f.Deployment, operated.Shadowing{
		Version: version, Since: time.Now().Add(-shadowSince),
	}, by)
	if err != nil {
		return "", err
	}
	if _, err := s.Shadows.Report(c.Request.Context(), f.Deployment, run); fault.Is(err, fault.NotFound) && len(refused) > 0 {
		return "", fault.New(fault.Invalid, fault.CodeInvalidInput, "Version %d refuses the inputs of every call: %s", version, refused[0].Detail)
	}
	return "/deployments/" + f.Name + "/shadows/" + run, nil
}
