// Package operators serves the pages on which operators act without a shell: queues, views, accounts with their keys
// and credit, ComfyUI servers, deliveries of webhooks, and the findings of the doctor. It promises that only
// operators can change anything on these pages, and that each change has a reason and is recorded as an event. The
// services below internal/operate make the changes, as for the command line and the admin API.
package operators

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Services implement the commands of the pages, as for the admin API.
type Services struct {
	Queues   queues.Service
	Views    views.Service
	Accounts accounts.Service
	Webhooks *webhooks.Service
	Servers  *servers.Service // nil = there is no registry of servers
	Doctor   doctor.Examiner
}

// Section serves the pages.
type Section struct {
	Services
	page     *page.Server
	examined examinations
}

// New returns the section and adds its pages to the navigation.
func New(p *page.Server, services Services) *Section {
	p.AddTemplates(Templates)
	p.AddLinks(
		console.NavLink{Path: "/accounts", Title: "Accounts", Operates: true},
		console.NavLink{Path: "/queues", Title: "Queues", Operates: true},
		console.NavLink{Path: "/views", Title: "Views", Operates: true},
		console.NavLink{Path: "/deliveries", Title: "Deliveries", Operates: true},
		console.NavLink{Path: "/doctor", Title: "Doctor", Operates: true},
	)
	return &Section{Services: services, page: p, examined: examinations{doctor: services.Doctor}}
}

// Routes returns the routes of the pages and of their forms.
func (r *Section) Routes() []edge.Route {
	routes := []edge.Route{
		r.page.Page("/queues", page.Operate, r.queues),
		form(r.page, queues.Set, r.Services.Queues),
		r.page.Page("/views", page.Operate, r.views),
		r.page.Page("/views/:view/check", page.Operate, r.checkView),
		form(r.page, views.Rebuild, r.Views),
		form(r.page, views.Resume, r.Views),
		r.page.Page("/accounts", page.Operate, r.accounts),
		form(r.page, accounts.Create, r.Accounts),
		r.page.Page("/accounts/:id", page.Operate, r.account),
		form(r.page, accounts.Change, r.Accounts),
		form(r.page, accounts.Grant, r.Accounts),
		r.page.Answer(accounts.IssueKey.Page, page.Operate, r.issueKey),
		form(r.page, accounts.RevokeKey, r.Accounts),
		r.page.Page("/deliveries", page.Operate, r.deliveries),
		form(r.page, webhooks.Replay, r.Webhooks),
		r.page.Page("/doctor", page.Operate, r.showDoctor),
		r.page.Form("/doctor", page.Operate, r.examineNow),
	}
	if r.Servers != nil {
		routes = append(routes,
			form(r.page, servers.Add, r.Servers),
			form(r.page, servers.Change, r.Servers))
	}
	return routes
}

// every is how often an open page is rebuilt: its content does not depend on events of one account.
const every = 2 * time.Second

// attribution returns the actor and the reason of a change. A form without a reason is refused.
func attribution(c *gin.Context, v page.Visitor) (operate.Attribution, error) {
	reason, err := page.Reason(c)
	if err == nil && reason == "" {
		err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "Give a reason: it is recorded with the change.")
	}
	if err != nil {
		return operate.Attribution{}, err
	}
	return operate.Attribution{Actor: v.Actor(), Reason: reason, RequestID: edge.RequestID(c)}, nil
}
