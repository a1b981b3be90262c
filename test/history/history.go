//go:build linux

// Package history records the answers that clients of a running service received, and checks with porcupine that they are linearizable: a
// service that carries out one request at a time could have given them. It does not start the service or cause faults.
//
// Every job and model call has its own history: the answers to all clients must agree, whichever process gave them.
package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History is the requests of all clients with their answers. It is safe for concurrent use.
type History struct {
	began time.Time

	mu         sync.Mutex // guards operations
	operations []porcupine.Operation
}

// New returns an empty history.
func New() *History { return &History{began: time.Now()} }

// request is a request of a client.
type request struct {
	Subject string // the job or call; each is judged separately
	Verb    verb
}

// answer is the answer that the client received.
type answer struct {
	Known bool   // false = no answer came: the request may have been carried out, now or later
	Jobs  int    // jobs in the answer to a search
	State string // state of the job or call; "" = it does not exist
	ID    string

	Beside bool // a submission whose client waited while another submission was answered with the same job
}

// do sends a request and records it with its answer. A question without an answer is not recorded, since it changes nothing.
func (h *History) do(client int, r request, send func() answer) answer {
	call := time.Since(h.began).Nanoseconds()
	a := send()
	returned := time.Since(h.began).Nanoseconds()
	if !a.Known {
		if !r.Verb.changes() {
			return a
		}
		returned = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: r, Call: call, Output: a, Return: returned})
	return a
}

// Answered returns the number of requests that were answered.
func (h *History) Answered() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.operations {
		if o.Output.(answer).Known {
			n++
		}
	}
	return n
}

// Anomaly is a job or call whose answers contradict each other.
type Anomaly struct {
	Subject string
	Asked   []string // its requests and answers, in the order of their answers
}

// String returns a line for each request.
func (a Anomaly) String() string { return a.Subject + ":\n  " + strings.Join(a.Asked, "\n  ") }

// judgeWithin bounds the time to judge one subject. A subject that takes longer counts as an anomaly.
const judgeWithin = 30 * time.Second

// Anomalies judges every subject and returns those whose answers no sequential service could have given.
func (h *History) Anomalies() (anomalies []Anomaly) {
	h.mu.Lock()
	defer h.mu.Unlock()
	by := map[string][]porcupine.Operation{}
	for _, o := range h.operations {
		subject := o.Input.(request).Subject
		by[subject] = append(by[subject], o)
		if o.Input.(request).Verb == cancel && o.Output.(answer).Known { // the service reads the state after it has canceled
			o.Input = request{subject, read}
			by[subject] = append(by[subject], o)
		}
	}
	for subject, operations := range by {
		judged := withoutRepeats(slices.Clone(operations))
		markBeside(judged)
		if porcupine.CheckOperationsTimeout(model, judged, judgeWithin) == porcupine.Ok {
			continue
		}
		slices.SortFunc(operations, func(a, b porcupine.Operation) int {
			return int(min(a.Return, math.MaxInt32<<20) - min(b.Return, math.MaxInt32<<20))
		})
		anomaly := Anomaly{Subject: subject}
		for _, o := range operations {
			anomaly.Asked = append(anomaly.Asked, describe(o))
		}
		anomalies = append(anomalies, anomaly)
	}
	slices.SortFunc(anomalies, func(a, b Anomaly) int { return strings.Compare(a.Subject, b.Subject) })
	return anomalies
}

// withoutRepeats leaves out all but the earliest of equal requests without an answer. Each of them may have been carried out at any later
// time, or never, and a second one changes nothing more. But clients try again hundreds of times while the service is away, and porcupine
// would consider each place of each of them until judgeWithin has passed.
func withoutRepeats(operations []porcupine.Operation) []porcupine.Operation {
	slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	seen := map[any]bool{}
	return slices.DeleteFunc(operations, func(o porcupine.Operation) bool {
		repeated := !o.Output.(answer).Known && seen[o.Input]
		if !o.Output.(answer).Known {
			seen[o.Input] = true
		}
		return repeated
	})
}

// markBeside marks the submissions of one subject that overlap and have the same job as their answer. The service records that a key was
// answered only after the answer, so a concurrent request may get the same answer.
func markBeside(operations []porcupine.Operation) {
	for i := range operations {
		for k := range operations[:i] {
			one, other := &operations[i], &operations[k]
			a, b := one.Output.(answer), other.Output.(answer)
			both := one.Input.(request).Verb == submit && other.Input.(request).Verb == submit
			if both && a.Known && a.ID != "" && a.ID == b.ID && one.Call < other.Return && other.Call < one.Return {
				a.Beside, b.Beside = true, true
				one.Output, other.Output = a, b
			}
		}
	}
}

func describe(o porcupine.Operation) string {
	r, a := o.Input.(request), o.Output.(answer)
	if !a.Known {
		return fmt.Sprintf("%v to -: client %d, %s: no answer", time.Duration(o.Call).Round(time.Microsecond), o.ClientId, r.Verb)
	}
	return fmt.Sprintf("%v to %v: client %d, %s: %d jobs, state %q, id %q", time.Duration(o.Call).Round(time.Microsecond),
		time.Duration(o.Return).Round(time.Microsecond), o.ClientId, r.Verb, a.Jobs, a.State, a.ID)
}
