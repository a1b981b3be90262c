// Package console serves the pages for people: the jobs of an account, and the pages around a served editor. Its
// credential is a cookie that holds a sealed key. It promises to refuse forms of other sites. The package console
// below internal/web renders the pages.
package console

import (
	"context"
	"embed"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/deployments"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/console/overview"
	"github.com/millrace-dev/millrace/api/console/own"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/console/previews"
	"github.com/millrace-dev/millrace/api/console/thumbs"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/stats"
)

const (
	maxEvents = 500 // events on a page
	pageSize  = 45  // jobs on a page: less than 60 kB
)

// Deps are the dependencies of the console.
type Deps struct {
	Edge      *edge.Edge
	Jobs      jobio.Commands
	Reader    jobio.Reader
	Sources   jobio.Sources
	Links     jobio.Links
	Histories LogHistories
	Servers   jobio.Servers
	Operator  func(secret string) bool // reports whether a credential is the operators'; nil = there are no operators
	Waits     jobio.Waits
	Retry     *job.Retrier
	Sealer    edge.Sealer
	Live      live.Source
	Media     []string // origins of pictures and films beside the service's own
	Index     *jobindex.Reader
	Files     media.Files
	Stats     *stats.Reader
	Now       *jobs.Reader
	Classes   uiworkflow.Classes // of graphs that are submitted on a page
	Pictures  *media.Surface
	Models    models.Deps
	Directory page.Index // nil = the search field finds nothing by id or name
	Own       own.Deps   // assets, webhooks, keys and usage
	Operators *operators.Services
	Deployed  *deployment.Service
	Shadows   deployments.Shadows
}

// Templates are the templates of the pages of this package, and the files that they refer to.
//
//go:embed *.html *.js
var Templates embed.FS

// Surface serves the pages of the console.
type Surface struct {
	Deps
	page     *page.Server
	sections []section
	thumbs   *thumbs.Thumbs
	previews *previews.Previews
}

// section is a family of pages.
type section interface{ Routes() []edge.Route }

// New returns the surface.
func New(deps Deps) *Surface {
	s := &Surface{
		Deps: deps, thumbs: thumbs.New(),
		page: page.New(page.Deps{
			Edge: deps.Edge, Sealer: deps.Sealer, Operator: deps.Operator, Live: deps.Live, Media: deps.Media, Index: deps.Directory,
		}, page.Base),
	}
	s.page.AddTemplates(Templates)
	s.sections = append(s.sections, overview.New(overview.Deps{
		Page: s.page, Stats: deps.Stats, Now: deps.Now, Running: deps.Index, Servers: deps.Servers,
	}))
	s.page.AddLinks(
		console.NavLink{Path: "", Title: "Jobs", Icon: "M2 3.5h12M2 8h12M2 12.5h8"},
		console.NavLink{Path: "/gallery", Title: "Gallery", Icon: "M2 3h12v10H2zM2 11l4-4 3 3 2-2 3 3"},
		console.NavLink{Path: "/run", Title: "Workflow", Group: console.Create, Icon: "M4 2.5v11l9-5.5z", Account: true},
	)
	s.previews = previews.New(previews.Deps{Page: s.page, Live: deps.Live, Find: s.find})
	s.sections = append(s.sections, deployments.New(deployments.Deps{
		Page: s.page, Deployments: deps.Deployed, Reader: deps.Reader, Sources: deps.Sources, Previews: s.previews, Find: s.find,
		Shadows: deps.Shadows,
	}), models.New(s.page, deps.Models), s.previews, own.New(s.page, s.thumbs, deps.Own))
	s.page.AddLinks(console.NavLink{
		Path: "/servers", Title: "Servers", Group: console.Operate, Icon: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.1M4.5 11h.1", Operator: true,
	})
	s.sections = append(s.sections, operators.New(s.page, *deps.Operators))
	return s
}

// Routes returns the routes of the console. Its errors are pages, and its credential is a cookie that browsers send
// to these pages only.
func (s *Surface) Routes() []edge.Route {
	routes := append(s.page.Routes(), s.runRoutes()...)
	for _, r := range s.sections {
		routes = append(routes, r.Routes()...)
	}
	if s.Directory != nil {
		routes = append(routes, s.page.File("/find", page.Read, s.goTo))
	}
	return append(routes,
		s.page.Page("", page.Read, s.list),
		s.page.Page("/gallery", page.Read, s.gallery),
		s.page.File("/gallery/compare", page.ReadOne, s.compareTwo),
		s.page.Page("/servers", page.Operator, s.servers),
		s.page.Page("/jobs/:id", page.ReadOne, page.Of(s.find, s.job)),
		s.page.Page("/jobs/:id/outputs/:asset", page.ReadOne, s.shown),
		s.page.Page("/jobs/:id/outputs/:asset/use", page.ReadOne, s.use),
		s.page.File("/jobs/:id/files/:asset", page.ReadOne, s.file),
		s.page.File("/jobs/:id/thumbs/:asset", page.ReadOne, s.thumb),
		s.page.File("/shadows/:id/thumbs/:asset", page.ReadOne, s.shadowThumb),
		s.page.Page("/jobs/bulk", page.ReadOne, s.preview),
		s.page.Form("/jobs/bulk", page.Write, s.bulk),
		s.page.File("/jobs/files.zip", page.ReadOne, s.archive),
		s.page.Form("/jobs/:id/cancel", page.Write, page.Of(s.find, s.cancel)),
		s.page.Page("/jobs/:id/again", page.Write, page.Of(s.find, s.rerunForm)),
		s.page.LargeForm("/jobs/:id/retry", page.Write, maxInputs, page.Of(s.find, s.retry)),
	)
}

// storageUsed describes the storage that the account uses and its limit.
func (s *Surface) storageUsed(c *gin.Context, of string) (string, error) {
	kept, err := s.Edge.Storage.Usage(c.Request.Context(), of)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Files: %s in %d", amount.Bytes(kept.Bytes), kept.Files)
	if kept.Limit > 0 {
		text = fmt.Sprintf("Files: %s of %s in %d", amount.Bytes(kept.Bytes), amount.Bytes(kept.Limit), kept.Files)
	}
	if kept.Full() {
		text += ". The account cannot store more files until some are deleted."
	}
	return text, nil
}

func elapsed(j job.Job, now time.Time) inspect.Millis {
	if j.EndedAt != nil {
		now = *j.EndedAt
	}
	return inspect.Millis(now.Sub(j.SubmittedAt))
}

// ServersPage shows operators the ComfyUI servers, their running segments, and the segments that wait for one.
type ServersPage struct {
	console.Frame
	Servers []console.ShownServer
	Waiting []ShownWait
	Counts  []StateCount
	Names   map[string]string // names of accounts by their ids
	Add     *console.Act      // nil = the visitor may not add servers
}

// StateCount is the number of servers in a state.
type StateCount struct {
	State server.State
	Count int
}

// ShownWait is a segment that waits for a server.
type ShownWait struct {
	ID job.PublicID
	server.Waiting
}

// Place returns the position in the queue for servers; 1 = next.
func (w ShownWait) Place() int { return w.Ahead + 1 }

// serversEvery is how often an open page of the servers is rebuilt: its content does not depend on events of one
// account.
const serversEvery = 2 * time.Second

// servers shows the ComfyUI servers: GET /console/servers.
func (s *Surface) servers(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := s.Servers.Servers(c.Request.Context())
	if err != nil {
		return nil, err
	}
	waiting, err := s.Servers.Waits(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := &ServersPage{Frame: console.Frame{Title: "Servers", Live: true, Every: serversEvery}}
	links, err := s.jobLinks(c.Request.Context(), all, waiting)
	if err != nil {
		return nil, err
	}
	if shown.Names, err = s.page.Names(c.Request.Context()); err != nil {
		return nil, err
	}
	counts := map[server.State]int{}
	for _, one := range all {
		on := console.ShownServer{Server: one, Acts: s.serverActs(v, one)}
		for _, l := range one.Leases {
			on.Runs = append(on.Runs, console.ShownLease{ID: links[l.Job], Lease: l})
		}
		shown.Servers = append(shown.Servers, on)
		counts[one.State()]++
	}
	for _, state := range []server.State{
		server.Healthy, server.Busy, server.Draining, server.Stuck, server.Resting, server.Away, server.Refused,
	} {
		if counts[state] > 0 {
			shown.Counts = append(shown.Counts, StateCount{State: state, Count: counts[state]})
		}
	}
	if v.Operates {
		shown.Add = &operators.Buttons(servers.Add, nil)[0]
	}
	for _, w := range waiting {
		shown.Waiting = append(shown.Waiting, ShownWait{ID: links[w.Job], Waiting: w})
	}
	return shown, nil
}

// jobLinks returns the public ids of the jobs that run on servers or wait for one.
func (s *Surface) jobLinks(ctx context.Context, all []*server.Server, waiting []server.Waiting) (map[job.ID]job.PublicID, error) {
	var ids []job.ID
	for _, one := range all {
		for _, l := range one.Leases {
			ids = append(ids, l.Job)
		}
	}
	for _, w := range waiting {
		ids = append(ids, w.Job)
	}
	public, err := s.Reader.PublicIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	links := make(map[job.ID]job.PublicID, len(ids))
	for i, id := range ids {
		links[id] = public[i]
	}
	return links, nil
}

// serverActs returns the changes that the visitor may make to a server.
func (s *Surface) serverActs(v page.Visitor, one *server.Server) []console.Act {
	if !v.Operates {
		return nil
	}
	pointless := map[string]bool{"drain": one.Drained, "resume": !one.Drained, "remove": one.Fixed}
	acts := operators.Buttons(servers.Change, map[string]string{"id": string(one.ID)})
	return slices.DeleteFunc(acts, func(a console.Act) bool { return pointless[path.Base(a.Path)] })
}
