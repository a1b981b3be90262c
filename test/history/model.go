//go:build linux

package history

import "github.com/anishathalye/porcupine"

// verb is a kind of request.
type verb string

const (
	submit verb = "submit a job"   // under an idempotency key, which is used once: a second job is refused
	search verb = "search jobs"    // by a label that only this job has
	read   verb = "read a job"     // by its id
	cancel verb = "cancel a job"   // answers with the job's new state
	order  verb = "order a call"   // under an idempotency key; a repeated order answers the same id
	result verb = "read a result"  // of a call
	upload verb = "upload a file"  // under an idempotency key; a repeated upload answers the same id or is refused
	fetch  verb = "read a file"    // the hash of its asset
	refuse      = "already exists" // the state in an answer that refuses a second job or file of a key
)

func (v verb) changes() bool { return v == submit || v == cancel || v == order || v == upload }

// states is a set of states that a job may be in: nobody sees the moment at which a job begins or ends.
type states uint8

const (
	absent states = 1 << iota
	queued
	running
	canceling
	succeeded
	failed
	canceled
)

// named are the states as the v2 API calls them.
var named = map[string]states{
	"": absent, "queued": queued, "running": running, "canceling": canceling, "succeeded": succeeded, "failed": failed, "canceled": canceled,
}

// later returns the states that a job may have reached by itself.
func (s states) later() states {
	if s&queued != 0 {
		s |= running
	}
	if s&running != 0 {
		s |= succeeded | failed
	}
	if s&canceling != 0 {
		s |= succeeded | failed | canceled
	}
	return s
}

// afterCancel returns the states after a request to cancel.
func (s states) afterCancel() states {
	s = s.later()
	next := s &^ (queued | running)
	if s&queued != 0 {
		next |= canceled
	}
	if s&running != 0 {
		next |= canceling
	}
	return next.later()
}

// subject is the set of possible states of a job, call or file.
type subject struct {
	job    states
	id     string // of the job, call or asset; "" = no answer has named one
	result string // of the call, or the hash of the file; "" = none was read
	repeat bool   // a submission was not answered: the next one may answer with the job that it made
	stored bool   // a file was uploaded
}

// model is the sequential service.
var model = porcupine.Model{
	Init: func() any { return subject{job: absent} },
	Step: func(before, input, output any) (bool, any) {
		next := before.(subject).step(input.(request).Verb, output.(answer))
		return next.job != 0, next
	},
}

// step returns the possible states after a request and its answer. If the answer contradicts earlier answers, no state of the job is
// possible.
func (s subject) step(v verb, a answer) subject {
	if a.Known && a.ID != "" {
		if s.id != "" && s.id != a.ID {
			return subject{}
		}
		s.id = a.ID
	}
	switch {
	case v == submit && !a.Known:
		if s.repeat = true; s.job&absent != 0 {
			s.job |= queued
		}
	case v == submit && a.State == refuse:
		s.job &^= absent
	case v == submit && a.Beside && s.job&absent == 0: // the first submission was not answered yet
	case v == submit && s.repeat:
		if s.job&absent != 0 {
			s.job = s.job&^absent | queued
		}
	case v == submit:
		s.job = s.job & absent * queued
	case v == cancel && !a.Known:
		s.job |= s.job.afterCancel()
	case v == cancel:
		s.job = s.job.afterCancel() // the state in the answer is judged as a read
	case v == search && a.Jobs > 1:
		s.job = 0
	case v == search, v == read:
		s.job = s.job.later() & named[a.State]
	case v == upload && a.State == refuse && !s.stored:
		s.job = 0
	case v == upload:
		s.stored = true
	case v == order: // the id was compared
	case a.State != "" && (a.State == s.result || s.result == ""):
		s.result = a.State
	default: // another result, or none
		s.job = 0
	}
	return s
}
