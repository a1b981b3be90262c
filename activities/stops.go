package activities

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Stops interrupts running nodes as soon as the cancellation of their job is in the log, instead of at the next
// heartbeat. It only makes stopping faster: the workflow's own cancellation decides.
type Stops struct {
	mu      sync.Mutex
	running map[job.ID]map[*context.CancelCauseFunc]struct{}
	stopped *expirable.LRU[job.ID, struct{}] // no activity watches the job while a batch moves from one activity to the next
}

// Bounds of the remembered canceled jobs. A batch is between two activities for less than this time.
const (
	maxStops      = 4096
	stopRetention = time.Minute
)

// NewStops returns an empty set.
func NewStops() *Stops {
	return &Stops{
		running: map[job.ID]map[*context.CancelCauseFunc]struct{}{}, stopped: expirable.NewLRU[job.ID, struct{}](maxStops, nil, stopRetention),
	}
}

// errStopped is the cause of a context that a cancel request ended.
var errStopped = fault.New(fault.Canceled, fault.CodeCanceled, "the job was canceled")

// Watch returns a context that ends when the job is canceled, or at once if it was canceled recently. The caller must
// call release.
func (s *Stops) Watch(ctx context.Context, id job.ID) (watched context.Context, release func()) {
	watched, cancel := context.WithCancelCause(ctx)
	key := &cancel
	s.mu.Lock()
	if s.running[id] == nil {
		s.running[id] = map[*context.CancelCauseFunc]struct{}{}
	}
	s.running[id][key] = struct{}{}
	if s.stopped.Contains(id) {
		cancel(errStopped)
	}
	s.mu.Unlock()
	return watched, func() {
		s.mu.Lock()
		delete(s.running[id], key)
		if len(s.running[id]) == 0 {
			delete(s.running, id)
		}
		s.mu.Unlock()
		cancel(nil)
	}
}

// Observe reads recorded events and interrupts the nodes of canceled jobs.
func (s *Stops) Observe(events []eventlog.Recorded) {
	for _, rec := range events {
		if rec.Type != job.TypeCancelRequested && rec.Type != job.TypeCanceled {
			continue
		}
		if id, ok := job.IDOfStream(rec.Stream); ok {
			s.stop(id)
		}
	}
}

func (s *Stops) stop(id job.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped.Add(id, struct{}{})
	for cancel := range s.running[id] {
		(*cancel)(errStopped)
	}
}
