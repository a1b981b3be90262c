package jobio

import (
	"context"
	"regexp"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// Waits reads why segments of jobs wait for ComfyUI servers; serverstore.Store implements it.
type Waits interface {
	// WaitsOf returns the waiting segments of some jobs, in the order in which they will be placed.
	WaitsOf(ctx context.Context, ids []job.ID) ([]server.Waiting, error)
}

// WaitingBody describes why a running job waits for a ComfyUI server.
type WaitingBody struct {
	Reason string `json:"reason"`
	Place  int    `json:"place"` // in the queue for servers; 1 = next
}

// Waiting returns why jobs wait for servers, by job. Jobs that do not wait are left out. waits may be nil.
func Waiting(ctx context.Context, waits Waits, list ...job.Job) (map[job.ID]*WaitingBody, error) {
	var ids []job.ID
	for _, j := range list {
		if len(j.Waiting) > 0 && !j.State.Final() {
			ids = append(ids, j.ID)
		}
	}
	if waits == nil || len(ids) == 0 {
		return nil, nil
	}
	found, err := waits.WaitsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	bodies := make(map[job.ID]*WaitingBody, len(ids))
	for _, w := range found {
		if bodies[w.Job] == nil {
			bodies[w.Job] = &WaitingBody{Reason: anonymous(w.Reason), Place: w.Ahead + 1}
		}
	}
	return bodies, nil
}

// address matches the address of a server in a reason. Only operators may see addresses of servers.
var address = regexp.MustCompile(`server https?://\S+`)

func anonymous(reason string) string { return address.ReplaceAllString(reason, "a server") }
