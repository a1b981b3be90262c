// Package operators serves the pages on which operators act without a shell: queues, views, accounts with their keys
// and credit, sessions of people, pools of machines, weights, deliveries of webhooks, and the findings of the doctor. It
// promises that only operators can change anything on these pages, and that each change has a reason and is recorded as
// an event. The services below internal/operate make the changes, as for the command line and the admin API.
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
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Services implement the commands of the pages, as for the admin API.
type Services struct {
	Queues   queues.Service
	Views    views.Service
	Accounts accounts.Service
	Webhooks *webhooks.Service
	Servers  *servers.Service
	Sessions sessions.Service
	Pools    *pools.Service
	Weights  *weights.Service
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
		link("/pools", "Pools", "M2 2.5h5v5H2zM9 2.5h5v5H9zM2 9.5h5v4H2zM9 9.5h5v4H9z"),
		link("/weights", "Weights", "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3"),
		link("/accounts", "Accounts", "M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM2.5 14c.5-3 2.7-4.5 5.5-4.5s5 1.5 5.5 4.5"),
		link("/sessions", "Sessions", "M9.5 8.5a3.5 3.5 0 1 0-3-3L2 10v3.5h3V12h1.5v-1.5H8zM10.5 5.5h.1"),
		link("/queues", "Queues", "M2 4h12v8H2zM6 4v8M10 4v8"),
		link("/views", "Views", "M1.5 8s2.5-4.5 6.5-4.5S14.5 8 14.5 8s-2.5 4.5-6.5 4.5S1.5 8 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z"),
		link("/deliveries", "Deliveries", "M2 3.5h12v9H2zM2 4l6 5 6-5"),
		link("/doctor", "Doctor", "M1.5 8h3l2-5 3 10 2-5h3"),
	)
	return &Section{Services: services, page: p, examined: examinations{doctor: services.Doctor}}
}

// link returns the link to a page of operators.
func link(path, title, icon string) console.NavLink {
	return console.NavLink{Path: path, Title: title, Group: console.Operate, Icon: icon, Operates: true}
}

// Routes returns the routes of the pages and of their forms.
func (r *Section) Routes() []edge.Route {
	return []edge.Route{
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
		r.page.Page("/sessions", page.Operate, r.sessions),
		form(r.page, sessions.End, r.Sessions),
		r.page.Page("/pools", page.Operate, r.pools),
		form(r.page, pools.Change, r.Pools),
		r.page.Page("/weights", page.Operate, r.weights),
		form(r.page, weights.Remove, r.Weights),
		r.page.Page("/deliveries", page.Operate, r.deliveries),
		form(r.page, webhooks.Replay, r.Webhooks),
		r.page.Page("/doctor", page.Operate, r.showDoctor),
		r.page.Form("/doctor", page.Operate, r.examineNow),
		form(r.page, servers.Add, r.Servers),
		form(r.page, servers.Change, r.Servers),
	}
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
