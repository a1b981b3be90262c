package server

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Key names one segment of one run of a job.
type Key struct {
	Job  job.ID `json:"job"`
	Run  int    `json:"run"`
	Unit int    `json:"segment"` // graph.Segment.Key
}

// Lease gives a segment to a server. Whoever takes a lease over holds it under a higher fence; what is done under a
// lower one is refused.
type Lease struct {
	Key
	Account string          `json:"account"`
	Server  ID              `json:"server"`
	Attempt int             `json:"attempt"` // from 1; part of the prompt's id
	Fence   int64           `json:"fence"`
	Holder  string          `json:"holder"`
	Until   time.Time       `json:"until"`
	Since   time.Time       `json:"since"`
	Reason  string          `json:"reason"` // why this server
	Models  []string        `json:"models,omitempty"`
	Copying bool            `json:"copying,omitempty"` // its prompt has ended: it takes no place of the server any more
	Fresh   bool            `json:"-"`                 // it was given to its holder just now, and nobody held it before
	Result  json.RawMessage `json:"-"`                 // of a segment that has ended; nil of one that has not
}

// promptSpace is the namespace of prompt ids; fixed for ever, since a prompt must be found again.
var promptSpace = uuid.MustParse("b1a3f2c6-5d64-5f0e-9c39-2f0b6f6e8d17")

// Prompt returns the id of the prompt of an attempt: the same whoever drives it.
func (k Key) Prompt(attempt int) uuid.UUID {
	raw, err := json.Marshal([]any{k.Job, k.Run, k.Unit, attempt})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return uuid.NewSHA1(promptSpace, raw)
}

// Need is what a segment needs a server to have: a class, and choices of its inputs. Of a class that only servers have
// it is also what the plan relies on: a server whose class has other inputs or outputs by now would run something else.
type Need struct {
	Class   string            `json:"class"`
	Choices map[string]string `json:"choices,omitempty"`
	Inputs  map[string]string `json:"inputs,omitempty"`  // types of the inputs that the node is given
	Outputs []string          `json:"outputs,omitempty"` // types of all outputs
}

// Wait is a segment that waits for a server.
type Wait struct {
	Key
	Account string    `json:"account"`
	Weight  int       `json:"weight,omitempty"` // share of the account, by its tier; 0 = 1
	Number  float64   `json:"number"`           // order of the job in the queue: lower goes first
	Since   time.Time `json:"since"`
	Attempt int       `json:"attempt"`
	Needs   []Need    `json:"needs"`
	Models  []string  `json:"models,omitempty"` // that its loaders name
	Labels  []string  `json:"labels,omitempty"`
	Only    ID        `json:"only,omitempty"`    // the one server to try, as long as it answers
	Avoid   []ID      `json:"avoid,omitempty"`   // servers that failed it; taken again when no other is left
	Refused []ID      `json:"refused,omitempty"` // servers that cannot run it
	Memory  int64     `json:"memory,omitempty"`  // more than so many bytes of a device
	Cause   string    `json:"why,omitempty"`     // why it is placed again
	Holder  string    `json:"holder"`
}

// Round is what a process brings to a round of placement.
type Round struct {
	Holder  string
	Waits   []Wait  // segments that begin to wait
	Vacated []Lease // whose prompts have ended well, and whose outputs are being copied
}

// Waiting is a segment that waits, with the reason and how many segments are before it.
type Waiting struct {
	Wait
	Reason string
	Ahead  int
}
