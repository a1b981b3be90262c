// Package api builds the handler of the HTTP API from its surfaces, each of which is a package with a constructor that
// takes what it needs; package edge has what all of them share. It promises that a path without a route is answered by
// the first surface that serves it. Rules about jobs, files and accounts are behind the interfaces of the surfaces.
package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/load"
)

// Surface is a part of the API.
type Surface interface{ Routes() []edge.Route }

// Fallback is a surface that also answers paths without a route, such as those of an editor's files.
type Fallback interface {
	// Serves reports whether the surface answers a path.
	Serves(path string) bool
	// Unrouted answers a request whose path has no route.
	Unrouted(c *gin.Context) error
}

// New returns the handler of surfaces. The first Fallback that serves a path without a route answers it.
func New(e *edge.Edge, surfaces ...Surface) (http.Handler, error) {
	var routes []edge.Route
	var fallbacks []Fallback
	for _, s := range surfaces {
		routes = append(routes, s.Routes()...)
		if f, ok := s.(Fallback); ok {
			fallbacks = append(fallbacks, f)
		}
	}
	return e.Handler(routes, func(c *gin.Context) error {
		for _, f := range fallbacks {
			if f.Serves(c.Request.URL.Path) {
				return f.Unrouted(c)
			}
		}
		return httperr.NoSuchPath()
	})
}

// Bounded returns commands whose submissions pass a gate: requests beyond what the machine can do are refused, and do not
// wait in line. The bodies of requests are read before.
func Bounded(c jobio.Commands, submissions *load.Gate) jobio.Commands { return bounded{c, submissions} }

type bounded struct {
	jobio.Commands
	submissions *load.Gate
}

// Submit implements jobio.Commands.
func (b bounded) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	end, err := b.submissions.Begin(ctx, sub.Account)
	if err != nil {
		return job.Submitted{}, err
	}
	defer end()
	return b.Commands.Submit(ctx, sub)
}
