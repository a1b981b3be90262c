// Package operators serves the pages on which operators act without a shell: queues, views, accounts with their keys
// and credit, ComfyUI servers, deliveries of webhooks, and the findings of the doctor. It promises that only
// operators can change anything on these pages, and that each change has a reason and is recorded as an event. The
// services below internal/operate make the changes, as for the command line and the admin API.
package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operateservers "github.com/millrace-dev/millrace/internal/operate/servers"
	operateviews "github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Services implement the commands of the pages, as for the admin API.
type Services struct {
	Queues   admin.Queues
	Views    operateviews.Service
	Accounts admin.Accounts
	Webhooks Webhooks
	Servers  Servers // nil = there is no registry of servers
	Doctor   admin.Doctor
}

// Webhooks are the operators' commands on deliveries of webhooks.
type Webhooks interface {
	Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error)
	Replay(ctx context.Context, id webhook.ID, only *uuid.UUID, by operate.Attribution) (int, error)
}

// Servers are the operators' commands on ComfyUI servers.
type Servers interface {
	Add(ctx context.Context, r operateservers.Request, by operate.Attribution) (operateservers.View, error)
	Change(ctx context.Context, verb, ref string, by operate.Attribution) (operateservers.View, error)
}

// Section serves the pages.
type Section struct {
	Services
	page     *page.Server
	examined examinations
}

// New returns the section and adds its pages to the navigation.
func New(p *page.Server, services Services) *Section {
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
		r.page.Form("/queues", page.Operate, r.setQueue),
		r.page.Page("/views", page.Operate, r.views),
		r.page.Page("/views/:view/check", page.Operate, r.checkView),
		r.page.Form("/views/:view/rebuild", page.Operate, r.rebuildView),
		r.page.Form("/views/:view/resume", page.Operate, r.resumeView),
		r.page.Page("/accounts", page.Operate, r.accounts),
		r.page.Form("/accounts", page.Operate, r.createAccount),
		r.page.Page("/accounts/:id", page.Operate, r.account),
		r.page.Form("/accounts/:id", page.Operate, r.changeAccount),
		r.page.Form("/accounts/:id/credit", page.Operate, r.grant),
		r.page.Answer("/accounts/:id/keys", page.Operate, r.issueKey),
		r.page.Form("/accounts/:id/keys/revoke", page.Operate, r.revokeKey),
		r.page.Page("/deliveries", page.Operate, r.deliveries),
		r.page.Form("/deliveries/replay", page.Operate, r.replay),
		r.page.Page("/doctor", page.Operate, r.showDoctor),
		r.page.Form("/doctor", page.Operate, r.examineNow),
	}
	if r.Servers != nil {
		routes = append(routes,
			r.page.Form("/servers", page.Operate, r.addServer),
			r.page.Form("/servers/:id/:change", page.Operate, r.changeServer))
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

// typed converts the JSON value that a service returned to type T.
func typed[T any](answer any) (T, error) {
	var out T
	raw, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return out, fmt.Errorf("read an answer: %w", err)
	}
	return out, nil
}
