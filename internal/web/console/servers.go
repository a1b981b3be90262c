package console

import (
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// ShownServer is one server.
type ShownServer struct {
	*server.Server
	Runs []ShownLease
	Acts []Act
}

// Reason returns why the server is in its state, or "".
func (s ShownServer) Reason() string {
	switch {
	case s.Trouble() != "":
		return s.Trouble()
	case s.Drained:
		return "An operator drained the server: it finishes its running work and accepts no new work."
	case s.Health == server.Unseen:
		return "The server has not been probed yet."
	case s.Foreign > 0:
		return fmt.Sprintf("The queue of the server has %d prompts of other clients.", s.Foreign)
	}
	return ""
}

// JobLink is a job with the page that shows it.
type JobLink struct {
	ID   job.PublicID
	Page bool // the visitor may see the page of the job
}

// ShownLease is a segment that runs on a server.
type ShownLease struct {
	JobLink
	server.Lease
}

// used returns the used share of a device's memory in thousandths, at most 1,000.
func used(d server.Device) int64 {
	if d.Total <= 0 {
		return 0
	}
	return min(1000, max(0, int64(1000*(float64(d.Total-d.Free)/float64(d.Total)))))
}

// memory formats the memory of a device for people.
func memory(d server.Device) string {
	return fmt.Sprintf("%s of %s used", gib(max(0, d.Total-d.Free)), gib(d.Total))
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// when formats a time that may be missing.
func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
