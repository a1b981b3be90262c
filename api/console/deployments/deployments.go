// Package deployments serves the pages of an account's deployments: the list, one deployment with a form of its inputs, its
// versions, its traffic and its calls, and the page that publishes a graph. It promises that a form that is sent twice runs once.
// Package deployment carries out what the forms ask for, as it does for the other surfaces.
package deployments

import (
	"cmp"
	"embed"
	"fmt"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/hashicorp/golang-lru/v2"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/console/previews"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	operated "github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Deps are the dependencies of the pages.
type Deps struct {
	Page        *page.Server
	Deployments *deployment.Service
	Reader      jobio.Reader
	Sources     jobio.Sources
	Previews    *previews.Previews
	Shadows     Shadows
	Find        func(*gin.Context, page.Visitor) (job.Job, error) // the job of a visitor that the path names
}

// Templates are the templates of the pages of this package.
//
//go:embed *.html
var Templates embed.FS

// Section serves the pages.
type Section struct {
	Deps
	ended *lru.Cache[[2]string, operated.ShadowReport] // runs that have ended, by deployment and run
}

// New returns the section and adds its pages to the navigation.
func New(deps Deps) *Section {
	deps.Page.AddTemplates(Templates)
	deps.Page.AddLinks(console.NavLink{
		Path: "/deployments", Title: "Deployments", Group: console.Create, Icon: "M8 1.5v8M5 4.5l3-3 3 3M2 9.5v4h12v-4", Account: true,
	})
	ended, _ := lru.New[[2]string, operated.ShadowReport](shadowsKept) // it fails for a size below one only
	return &Section{deps, ended}
}

// maxForm bounds a form with the values of inputs, or with a workflow, in bytes.
const maxForm = 32 << 20

// Routes returns the routes of the pages and of their forms.
func (s *Section) Routes() []edge.Route {
	large := func(r edge.Route) edge.Route { r.Limit = maxForm; return r }
	p := s.Page
	routes := []edge.Route{
		p.Page("/deployments", page.ReadOne, s.list),
		p.Page("/deployments/:name", page.ReadOne, page.Of(s.find, s.show)),
		large(p.Answer("/deployments/:name/code", page.ReadOne, page.Of(s.find, s.code))),
		large(p.Answer("/deployments/:name/run", page.Write, page.Of(s.find, s.run))),
		p.Page("/jobs/:id/deploy", page.Write, page.Of(s.Find, s.ofJob)),
		large(p.Answer("/deploy", page.Write, s.choose)),
		p.Page("/deployments/:name/shadows/:run", page.ReadOne, page.Of(s.find, s.shadow)),
		p.Form("/deployments/:name/shadow", page.Write, s.beginShadow),
		p.LargeForm("/deploy/add", page.Write, maxForm, s.add),
		p.Form("/deployments/:name/promote", page.Write, s.changing(s.promote)),
	}
	for name, do := range operated.Verbs {
		routes = append(routes, p.Form("/deployments/:name/"+name, page.Write, s.changing(
			func(c *gin.Context, f Found, by eventlog.By) (deployment.Deployment, error) {
				return do(s.Deployments, c.Request.Context(), f.Account, string(f.ID), by)
			})))
	}
	return routes
}

// DeploymentsPage lists the deployments of an account.
type DeploymentsPage struct {
	console.Frame
	Deployments []Listed
	CanChange   bool
}

// Listed is one row of the list.
type Listed struct {
	deployment.Deployment
	Answers string
	Drifted []string // classes of the version that answers whose definitions have changed
}

// list lists the deployments of the account: GET /console/deployments.
func (s *Section) list(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := s.Deployments.List(c.Request.Context(), v.Account)
	shown := &DeploymentsPage{Frame: console.Frame{Title: "Deployments"}, CanChange: changes(v)}
	for _, d := range all {
		live, _ := d.Version(d.Live)
		shown.Deployments = append(shown.Deployments, Listed{d, answers(d), live.Drifted})
	}
	return shown, err
}

// answers says which versions answer, in words.
func answers(d deployment.Deployment) string {
	if d.Share.Version == 0 {
		return fmt.Sprintf("version %d", d.Live)
	}
	return fmt.Sprintf("version %d, and version %d %d %% of calls", d.Live, d.Share.Version, d.Share.Percent)
}

// changes reports whether the visitor may change deployments of the account.
func changes(v page.Visitor) bool { return v.Allows(account.ScopeWrite) && !v.All() }

// Found is the deployment that a path names, with the version.
type Found struct {
	deployment.Deployment
	Shown  int  // the version that the page shows
	Pinned bool // the path names the version
}

// find returns the deployment of the visitor's account that the path names, as portrait or portrait@2.
func (s *Section) find(c *gin.Context, v page.Visitor) (Found, error) {
	name, version, err := deployment.Reference(c.Param("name"))
	if err != nil {
		return Found{}, err
	}
	d, err := s.Deployments.Find(c.Request.Context(), v.Account, name)
	if err == nil && version > len(d.Versions) {
		err = fault.New(fault.NotFound, fault.CodeVersionNotFound, "The deployment %s has no version %d.", d.Name, version)
	}
	return Found{d, cmp.Or(version, d.Live), version > 0}, err
}

// path returns the path below Base of the page of a deployment.
func (f Found) path() string {
	if f.Pinned {
		return fmt.Sprintf("/deployments/%s@%d", f.Name, f.Shown)
	}
	return "/deployments/" + f.Name
}

// changing carries out a change of a deployment: POST /console/deployments/{name}/{change}.
func (s *Section) changing(act func(*gin.Context, Found, eventlog.By) (deployment.Deployment, error)) page.Action {
	return func(c *gin.Context, v page.Visitor) (string, error) {
		f, err := s.find(c, v)
		if err != nil {
			return "", err
		}
		by, err := author(c, v)
		if err != nil {
			return "", err
		}
		d, err := act(c, f, by)
		if d.State == deployment.Deleted {
			return "/deployments", err
		}
		return "/deployments/" + f.Name, err
	}
}

// author returns the visitor as the actor of a change, with the reason that the form gives.
func author(c *gin.Context, v page.Visitor) (eventlog.By, error) {
	reason, err := page.Reason(c)
	return eventlog.By{Actor: v.Actor(), Reason: reason, RequestID: edge.RequestID(c)}, err
}

// promote has a version answer calls, all of them or a share.
func (s *Section) promote(c *gin.Context, f Found, by eventlog.By) (deployment.Deployment, error) {
	version, _ := strconv.Atoi(c.PostForm("version")) // 0 is no version, which is refused
	percent, err := strconv.Atoi(c.PostForm("percent"))
	if err != nil {
		return deployment.Deployment{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "The share must be a number from 0 to 100.")
	}
	return s.Deployments.Promote(c.Request.Context(), deployment.Promotion{
		Account: f.Account, Name: string(f.ID), Version: version, Percent: percent, Force: c.PostForm("force") != "", By: by,
	})
}
