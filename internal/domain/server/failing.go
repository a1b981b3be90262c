package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Failing counts the jobs that failed on a server since the last one that succeeded there, for reasons that the server may have caused.
// A server on which several failed rests, and then gets one segment at a time until one succeeds. A nil Failing counts none.
type Failing struct {
	Jobs    []job.ID  `json:"jobs"` // the last three
	Problem string    `json:"problem"`
	Rests   int       `json:"rests,omitempty"` // how often it has rested
	Until   time.Time `json:"until,omitzero"`  // it rests until then
}

// Outcome is the outcome of an attempt to run a segment of a job on a server.
type Outcome struct {
	Job     job.ID
	Problem string // why it failed; "" = it succeeded
	Machine bool   // the machine of the server is certainly the cause
}

const (
	restAfter   = 3 // jobs
	firstRest   = 30 * time.Second
	longestRest = 5 * time.Minute
)

// after returns the failures after another outcome, and the event if the server begins or ends to rest.
func (f *Failing) after(id ID, o Outcome, now time.Time) (next *Failing, eventType string, data any) {
	if o.Problem == "" {
		if f != nil && f.Rests > 0 {
			return nil, TypeRecovered, RecoveredV1{Server: id}
		}
		return nil, "", nil
	}
	next = &Failing{}
	if f != nil {
		*next = *f
	}
	if next.Problem = o.Problem; !slices.Contains(next.Jobs, o.Job) {
		next.Jobs = append(slices.Clone(next.Jobs), o.Job)
		next.Jobs = next.Jobs[max(0, len(next.Jobs)-restAfter):]
	}
	if next.resting(now) || !o.Machine && next.Rests == 0 && len(next.Jobs) < restAfter {
		return next, "", nil
	}
	next.Until = now.Add(min(firstRest<<min(next.Rests, 10), longestRest)).UTC().Truncate(time.Second)
	next.Rests++
	return next, TypeRested, RestedV1{Server: id, Jobs: next.Jobs, Problem: next.Problem, Until: next.Until}
}

// After returns the failures of the server after another outcome, and the event if it begins or ends to rest.
func (s *Server) After(o Outcome, now time.Time) (next *Failing, eventType string, data any) {
	return s.Failing.after(s.ID, o, now)
}

func (f *Failing) resting(now time.Time) bool { return f != nil && now.Before(f.Until) }

// reason returns why the server rests. It is shown to every account whose segments wait for the server, so it lacks the problem,
// which is a text of another account's job.
func (f *Failing) reason() string {
	return fmt.Sprintf("rests until %s UTC, because jobs failed on it", f.Until.Format(time.DateTime))
}
