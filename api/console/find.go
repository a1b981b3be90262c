package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/projections/jobindex"
)

// places maps each kind of search result to its page.
var places = map[string]string{
	"job": "/jobs/", "call": "/calls/", "asset": "/assets/", "account": "/accounts/",
	"deployment": "/deployments/",
}

// goTo redirects to the page of the object that the text names, or to the jobs with that text: GET /console/find.
func (s *Surface) goTo(c *gin.Context, v page.Visitor) error {
	text := strings.TrimSpace(c.Query("find"))
	found, err := s.locate(c.Request.Context(), v, text)
	query := url.Values{}
	if named := v.Named(); named != "" {
		query.Set("account", named)
	}
	to := ""
	switch {
	case err == nil && s.mayOpen(v, found):
		to = places[found.Noun] + url.PathEscape(found.ID)
		query.Del("account")
		if v.ByToken() && found.Noun != "account" {
			query.Set("account", found.Account)
		}
	case err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict):
		return err
	case text != "":
		query.Set("q", text)
	}
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	c.Redirect(http.StatusSeeOther, s.page.Prefix(c)+page.Base+to)
	return nil
}

// locate returns the job, call, asset, deployment of the visitor's account, or account that text names.
func (s *Surface) locate(ctx context.Context, v page.Visitor, text string) (records.Found, error) {
	if v.Account != "" && s.Deployed != nil && deployment.CheckName(text) == nil {
		d, err := s.Deployed.Find(ctx, v.Account, text)
		if err == nil {
			return records.Found{Noun: "deployment", ID: d.Name, Account: d.Account}, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return records.Found{}, err
		}
	}
	return s.Directory.Locate(ctx, text)
}

// mayOpen reports whether the visitor may see the page of what was found.
func (s *Surface) mayOpen(v page.Visitor, found records.Found) bool {
	if found.Noun == "account" {
		return v.Operates
	}
	return v.ByToken() || found.Account == v.Account
}

// counter is the end of the name of an output, by which Millrace tells outputs with one prefix apart.
var counter = regexp.MustCompile(`_\d+_?$`)

// titleOf returns the title of a job: that of its workflow, or else the prefix of its first output, or else its
// classes.
func titleOf(j job.Job, known jobindex.Description) string {
	title := known.Title
	for _, o := range jobio.Outputs(j) {
		name := path.Base(o.File.Filename)
		title = cmp.Or(title, counter.ReplaceAllString(strings.TrimSuffix(name, path.Ext(name)), ""))
	}
	const few = 3
	classes := known.Classes[:min(len(known.Classes), few)]
	return cmp.Or(title, strings.Join(slices.Clone(classes), ", "), "Job "+string(j.PublicID())[:8])
}
