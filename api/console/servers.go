package console

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// ServersPage shows operators the ComfyUI servers, their running segments, and the segments that wait for one.
type ServersPage struct {
	console.Frame
	Servers []console.ShownServer
	Waiting []ShownWait
	Counts  []StateCount
	Add     *console.Act // nil = the visitor may not add servers
}

// StateCount is the number of servers in a state.
type StateCount struct {
	State server.State
	Count int
}

// ShownWait is a segment that waits for a server.
type ShownWait struct {
	console.JobLink
	server.Waiting
}

// Place returns the position in the queue for servers; 1 = next.
func (w ShownWait) Place() int { return w.Ahead + 1 }

// Servers reads the ComfyUI servers and the segments that wait for one; serverstore.Store implements it.
type Servers interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Waits(ctx context.Context) ([]server.Waiting, error)
}

// serversEvery is how often an open page of the servers is rebuilt: its content does not depend on events of one
// account.
const serversEvery = 2 * time.Second

// servers shows the ComfyUI servers: GET /console/servers.
func (s *Surface) servers(c *gin.Context, v page.Visitor) (console.Page, error) {
	if s.Servers == nil {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "This service has no ComfyUI servers.")
	}
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
	counts := map[server.State]int{}
	for _, one := range all {
		on := console.ShownServer{Server: one, Acts: s.serverActs(v, one)}
		for _, l := range one.Leases {
			on.Runs = append(on.Runs, console.ShownLease{JobLink: links[l.Job], Lease: l})
		}
		shown.Servers = append(shown.Servers, on)
		counts[one.State()]++
	}
	for _, state := range []server.State{server.Healthy, server.Busy, server.Draining, server.Stuck, server.Resting, server.Away, server.Refused} {
		if counts[state] > 0 {
			shown.Counts = append(shown.Counts, StateCount{State: state, Count: counts[state]})
		}
	}
	if s.operates(v) {
		shown.Add = &console.Act{
			Path: "/servers", Label: "Register a server", Warning: "Every process reads the classes of the server, and jobs are placed on it.",
			Fields: []console.ActField{
				{Name: "url", Label: "Address, as in http://10.0.0.7:8188", Required: true},
				{Name: "labels", Label: "Labels, separated by spaces"},
			},
		}
	}
	for _, w := range waiting {
		shown.Waiting = append(shown.Waiting, ShownWait{JobLink: links[w.Job], Waiting: w})
	}
	return shown, nil
}

// jobLinks returns the public ids of the jobs that run on servers or wait for one. If there are accounts, only the
// account of a job can open its page.
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

// operates reports whether the visitor may change servers.
func (s *Surface) operates(v page.Visitor) bool {
	return v.Operates && s.Operators != nil && s.Operators.Servers != nil
}

// serverActs returns the changes that the visitor may make to a server.
func (s *Surface) serverActs(v page.Visitor, one *server.Server) []console.Act {
	if !s.operates(v) {
		return nil
	}
	act := func(verb, label, warning string) console.Act {
		return console.Act{Path: "/servers/" + string(one.ID) + "/" + verb, Label: label, Warning: warning}
	}
	var acts []console.Act
	if one.Drained {
		acts = append(acts, act("resume", "Resume", "The server accepts new work again."))
	} else {
		acts = append(acts, act("drain", "Drain", "The server finishes its running work and accepts no new work."))
	}
	if !one.Fixed {
		acts = append(acts, act("remove", "Remove", "The server is removed from the registry. Its running work moves to another server."))
	}
	return acts
}
