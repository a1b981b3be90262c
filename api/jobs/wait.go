package jobs

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// maxWait bounds how long a request waits: proxies close connections that are silent for longer.
const maxWait = 50 * time.Second

// preferredWait returns how long a client wants to wait for the end of a job (RFC 7240), or 0. An unknown or
// malformed preference is ignored.
func preferredWait(h http.Header) time.Duration {
	for _, line := range h.Values("Prefer") {
		for preference := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			value, _, _ = strings.Cut(value, ";") // wait has no parameters
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 16)
			if err != nil {
				return 0
			}
			return min(time.Duration(seconds)*time.Second, maxWait) // the first preference decides
		}
	}
	return 0
}

// find returns the job that a request names. If the client prefers to wait, find returns when the job has ended or
// the time is up. If the account has too many waiting requests, find returns at once.
func (s *Surface) find(c *gin.Context) (job.Job, error) {
	wait := preferredWait(c.Request.Header)
	j, err := jobio.Find(c, s.Reader)
	if err != nil || wait == 0 {
		return j, err
	}
	if !s.waits.Acquire(j.Account) {
		return j, nil
	}
	defer s.waits.Release(j.Account)
	c.Header("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	if j.State.Final() {
		return j, nil
	}
	ended, release := s.Ends.Watch(j.ID)
	defer release()
	if j, err = jobio.Find(c, s.Reader); err != nil || j.State.Final() { // the job may have ended before Watch
		return j, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-c.Request.Context().Done():
		return job.Job{}, context.Cause(c.Request.Context())
	}
	return jobio.Find(c, s.Reader)
}

// Ends wakes requests that wait for the end of a job. See must be called with the events of the log, in order.
type Ends struct {
	mu      sync.Mutex
	watched map[job.ID][]chan struct{}
	stopped bool
}

// NewEnds returns an Ends without waiting requests.
func NewEnds() *Ends { return &Ends{watched: map[job.ID][]chan struct{}{}} }

// Watch returns a channel that is closed when the job ends, or at Stop. The caller must call release.
func (e *Ends) Watch(id job.ID) (ended <-chan struct{}, release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	mine := make(chan struct{})
	if e.stopped {
		close(mine)
		return mine, func() {}
	}
	e.watched[id] = append(e.watched[id], mine)
	return mine, func() { e.release(id, mine) }
}

func (e *Ends) release(id job.ID, mine chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rest []chan struct{}
	for _, c := range e.watched[id] {
		if c != mine {
			rest = append(rest, c)
		}
	}
	if e.watched[id] = rest; len(rest) == 0 {
		delete(e.watched, id)
	}
}

// Observe wakes the requests that wait for jobs whose end is among events.
func (e *Ends) Observe(events []eventlog.Recorded) {
	for _, rec := range events {
		switch rec.Type {
		case job.TypeSucceeded, job.TypeFailed, job.TypeCanceled, job.TypeExpired:
			if id, ok := job.IDOfStream(rec.Stream); ok {
				e.end(id)
			}
		}
	}
}

func (e *Ends) end(id job.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.watched[id] {
		close(c)
	}
	delete(e.watched, id)
}

// Stop wakes all waiting requests, and all later ones at once: the process stops or can no longer follow the log.
func (e *Ends) Stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	for id, waiting := range e.watched {
		for _, c := range waiting {
			close(c)
		}
		delete(e.watched, id)
	}
}
