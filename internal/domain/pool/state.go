package pool

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
)

// Phase is what a machine does.
type Phase string

// The phases.
const (
	Requested Phase = "requested" // its start has not ended
	Starting  Phase = "starting"  // its start has ended, and its server has not registered itself
	Joined    Phase = "joined"
	Lost      Phase = "lost" // it is to be stopped
)

// Machine is a machine that may exist.
type Machine struct {
	ID          string    `json:"id"`
	Handle      string    `json:"handle,omitempty"`
	Server      server.ID `json:"server,omitempty"`
	Phase       Phase     `json:"phase"`
	RequestedAt time.Time `json:"requested_at"`
	JoinedAt    time.Time `json:"joined_at,omitzero"`
	Cause       string    `json:"cause,omitempty"` // why it is lost
}

// State is the state of a pool.
type State struct {
	Spec Terms `json:"terms"`

	Paused   bool      `json:"paused,omitempty"`
	Removed  bool      `json:"removed,omitempty"`
	Classes  string    `json:"classes,omitempty"` // digest of the definitions that its machines offer; "" = unknown
	Number   int       `json:"number"`            // machines requested so far
	Machines []Machine `json:"machines"`          // oldest first
	Ended    []Ended   `json:"ended,omitempty"`   // the last ones that stopped

	Failures int       `json:"failures,omitempty"` // starts that failed since a machine joined
	FailedAt time.Time `json:"failed_at,omitzero"`
	Problem  string    `json:"problem,omitempty"` // of the last one
	Boot     float64   `json:"boot,omitempty"`    // seconds until a machine joins: a moving average
	Day      string    `json:"day,omitempty"`     // in UTC
	Spent    int64     `json:"spent,omitempty"`   // on that day, by machines that have stopped, in USD millionths
}

// Pool is a stored pool.
type Pool struct {
	Name string `json:"pool"`
	Provider
	State
}

// Over reports whether the pool was removed and has no machines.
func (p *Pool) Over() bool { return p.Removed && len(p.Machines) == 0 }

// SecondPrice returns the price of a second of a machine, in USD millionths.
func (p *Pool) SecondPrice() int64 { return p.Spec.Price / 3600 }

// Work is what the server of a machine has done.
type Work struct {
	Machine  string
	Server   server.ID
	Used     time.Time // when its last segment ended
	Segments int64
	Seconds  float64
}

// Ended is a machine that has stopped.
type Ended struct {
	ID      string    `json:"id"`
	Handle  string    `json:"handle,omitempty"`
	Server  server.ID `json:"server,omitempty"`
	At      time.Time `json:"at"`
	Seconds int64     `json:"seconds"`
	Work    int64     `json:"work"`

	Segments int64 `json:"segments"`
}

// maxEnded bounds the stopped machines that a State remembers.
const maxEnded = 50

// Machine returns a machine by its id, or nil.
func (s *State) Machine(id string) *Machine {
	at := slices.IndexFunc(s.Machines, func(m Machine) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	return &s.Machines[at]
}

// After returns the state after an event that was recorded at a time.
func (s State) After(event any, at time.Time) State {
	s.Machines = slices.Clone(s.Machines)
	switch e := event.(type) {
	case AppliedV1:
		s.Spec, s.Removed = e.Terms, false
		if e.Classes != "" {
			s.Classes = e.Classes
		}
		s.Failures, s.Problem = 0, ""
	case PausedV1:
		s.Paused = true
	case ResumedV1:
		s.Paused = false
	case RemovedV1:
		s.Removed = true
	case RequestedV1:
		s.Number++
		s.Machines = append(s.Machines, Machine{ID: e.Machine, Phase: Requested, RequestedAt: at})
	case FoundV1:
		s.Machines = append(s.Machines, Machine{
			ID: e.Handle, Handle: e.Handle, Phase: Lost, RequestedAt: at, Cause: "it is listed, and Millrace has not started it",
		})
	case StoppedV1:
		s.stopped(e, at)
	case StartedV1, JoinedV1, LostV1:
		s.change(e, at)
	}
	return s
}

// change changes a machine.
func (s *State) change(event any, at time.Time) {
	switch e := event.(type) {
	case StartedV1:
		if m := s.Machine(e.Machine); m != nil && m.Phase == Requested {
			m.Phase, m.Handle = Starting, e.Handle
		} else if m != nil {
			m.Handle = e.Handle
		}
	case JoinedV1:
		if m := s.Machine(e.Machine); m != nil {
			m.Phase, m.Server, m.JoinedAt = Joined, e.Server, at
			took := at.Sub(m.RequestedAt).Seconds()
			s.Boot = cmp.Or(s.Boot, took)
			s.Boot += (took - s.Boot) / 4
		}
		s.Classes, s.Failures, s.Problem = e.Classes, 0, ""
	case LostV1:
		if m := s.Machine(e.Machine); m != nil {
			m.Phase, m.Cause = Lost, e.Cause
		}
		if e.Failed {
			s.Failures++
			s.FailedAt, s.Problem = at, e.Cause
		}
	}
}

// stopped adds the price of a machine to its day.
func (s *State) stopped(e StoppedV1, at time.Time) {
	m := s.Machine(e.Machine)
	if m == nil {
		return
	}
	if day := at.UTC().Format(time.DateOnly); day != s.Day {
		s.Day, s.Spent = day, 0
	}
	s.Spent += s.cost(*m, at)
	s.Ended = append(slices.Clone(s.Ended), Ended{m.ID, m.Handle, m.Server, at, e.Seconds, e.Work, e.Segments})
	s.Ended = s.Ended[max(0, len(s.Ended)-maxEnded):]
	s.Machines = slices.DeleteFunc(s.Machines, func(m Machine) bool { return m.ID == e.Machine })
}

// cost returns what a machine has cost on the day of a time.
func (s *State) cost(m Machine, now time.Time) int64 {
	from := now.UTC().Truncate(24 * time.Hour)
	if m.RequestedAt.After(from) {
		from = m.RequestedAt
	}
	return int64(float64(s.Spec.Price) * now.Sub(from).Hours())
}

// SpentOn returns what the pool has spent on the day of a time, in USD millionths.
func (s *State) SpentOn(now time.Time) int64 {
	var spent int64
	if s.Day == now.UTC().Format(time.DateOnly) {
		spent = s.Spent
	}
	for _, m := range s.Machines {
		spent += s.cost(m, now)
	}
	return spent
}
