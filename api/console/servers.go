package console

import (
	"bytes"
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Servers are the ComfyUI servers, and what waits for one; serverstore.Store is it.
type Servers interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Waits(ctx context.Context) ([]server.Waiting, error)
}

// operates reports whether a credential is the operators'.
func (s *Surface) operates(secret string) bool {
	return secret != "" && s.Operator != nil && s.Operator(secret)
}

// serveOperator runs a handler for an operator. With accounts that is who signed in with the operators' credential;
// without them it is whoever may use the service, as there is one account, which is the operator's.
func (s *Surface) serveOperator(c *gin.Context, handle func(*gin.Context) error) {
	if s.operates(edge.CookieKey(c.Request, consoleCookie, consoleOwner, s.Sealer)) {
		if err := handle(c); err != nil {
			s.pages.problem(c, err)
		}
		return
	}
	s.serve(c, account.ScopeRead, func(c *gin.Context, _ account.Identity) error {
		if s.Edge.Mode() == account.ModeKeys {
			return fault.New(fault.Denied, "forbidden", "This page is for operators: sign out, and sign in with the token of the admin API.")
		}
		return handle(c)
	})
}

// servers shows the ComfyUI servers: GET /console/servers.
func (s *Surface) servers(c *gin.Context) error {
	if s.Servers == nil {
		return fault.New(fault.NotFound, "not_found", "There are no servers here.")
	}
	all, err := s.Servers.Servers(c.Request.Context())
	if err != nil {
		return err
	}
	waiting, err := s.Servers.Waits(c.Request.Context())
	if err != nil {
		return err
	}
	page := console.ServersPage{}
	links, err := s.jobLinks(c.Request.Context(), all, waiting)
	if err != nil {
		return err
	}
	counts := map[server.State]int{}
	for _, one := range all {
		shown := console.ShownServer{Server: one}
		for _, l := range one.Leases {
			shown.Runs = append(shown.Runs, console.ShownLease{JobLink: links[l.Job], Lease: l})
		}
		page.Servers = append(page.Servers, shown)
		counts[one.State()]++
	}
	for _, state := range []server.State{server.Healthy, server.Busy, server.Draining, server.Away, server.Refused} {
		if counts[state] > 0 {
			page.Counts = append(page.Counts, console.StateCount{State: state, Count: counts[state]})
		}
	}
	for _, w := range waiting {
		page.Waiting = append(page.Waiting, console.ShownWait{JobLink: links[w.Job], Waiting: w})
	}
	s.pages.render(c, http.StatusOK, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.Live = "Servers", true
		page.Frame = f
		return s.pages.templates.Servers(b, page)
	})
	return nil
}

// jobLinks returns the ids by which clients know the jobs that run on servers or wait for one. With accounts, the pages of
// jobs are for their accounts alone.
func (s *Surface) jobLinks(ctx context.Context, all []*server.Server, waiting []server.Waiting) (map[job.ID]console.JobLink, error) {
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
	links := make(map[job.ID]console.JobLink, len(ids))
	for i, id := range ids {
		links[id] = console.JobLink{ID: public[i], Page: s.Edge.Mode() != account.ModeKeys}
	}
	return links, nil
}
