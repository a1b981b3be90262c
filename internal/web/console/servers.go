package console

import (
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// ServersPage shows operators the ComfyUI servers, what runs on each, and what waits for one.
type ServersPage struct {
	Frame
	Servers []ShownServer
	Waiting []ShownWait
	Counts  []StateCount
	Add     *Act // nil = the visitor may not
}

// StateCount is how many servers are in a state.
type StateCount struct {
	State server.State
	Count int
}

// ShownServer is one server.
type ShownServer struct {
	*server.Server
	Runs []ShownLease
	Acts []Act
}

// Reason says why the server is in its state; "" needs none.
func (s ShownServer) Reason() string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.Drained:
		return "An operator drained it: it ends what it runs and takes nothing new."
	case s.Health == server.Unseen:
		return "Nobody has looked at it yet."
	case s.Foreign > 0:
		return fmt.Sprintf("%d prompts of others are on it.", s.Foreign)
	}
	return ""
}

// JobLink is a job with the page that shows it.
type JobLink struct {
	ID   job.PublicID
	Page bool // whether who looks may see the page of the job
}

// ShownLease is a part of a graph that runs on a server.
type ShownLease struct {
	JobLink
	server.Lease
}

// ShownWait is a part of a graph that waits for a server.
type ShownWait struct {
	JobLink
	server.Waiting
}

// Place is the place in the queue for servers; 1 = next.
func (w ShownWait) Place() int { return w.Ahead + 1 }

// Template implements Page.
func (*ServersPage) Template() string { return "servers" }

// used returns the used share of a device's memory in thousandths, at most 1,000.
func used(d server.Device) int64 {
	if d.Total <= 0 {
		return 0
	}
	return min(1000, max(0, int64(1000*(float64(d.Total-d.Free)/float64(d.Total)))))
}

// memory writes the memory of a device for people.
func memory(d server.Device) string {
	return fmt.Sprintf("%s of %s used", gib(max(0, d.Total-d.Free)), gib(d.Total))
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// when writes a time that may be missing.
func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
