// Package live streams events of jobs as they happen: over WebSockets, in the format of editors, and as server-sent
// events of one job. It promises that a stream ends when its key is revoked, and that a slow client is disconnected
// rather than misses a message. Package fanout makes the messages.
package live

import (
	"context"
	"sync"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Source publishes messages about an account's jobs; fanout.Fanout implements it.
type Source interface {
	// Subscribe returns a subscription, which the caller must close, and the state that its messages continue.
	Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge     *edge.Edge
	Source   Source
	Reader   jobio.Reader
	Queue    jobio.Queue
	Steps    jobio.Steps // nil = progress is counted by whole nodes
	Links    jobio.Links
	Features func() map[string]any // the feature flags for a client that sends its own
}

// Options are the tunables of the surface.
type Options struct {
	MaxSockets    int  // WebSockets of one account on this process
	MaxStreams    int  // event streams of one account on this process
	RouteByClient bool // WebSocket messages of a job go only to the client that submitted it
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts    Options
	sockets *limit.Connections
	streams *limit.Connections
	buffers sync.Pool // of the WebSocket library
	batches sync.Pool // of batchConn
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, sockets: limit.NewConnections(opts.MaxSockets), streams: limit.NewConnections(opts.MaxStreams)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.socketRoutes(), s.eventRoutes()...) }
