package server

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Key identifies one segment of one run of a job.
type Key struct {
	Job  job.ID `json:"job"`
	Run  int    `json:"run"`
	Unit int    `json:"segment"` // graph.Segment.Key
}

// Lease assigns a segment to a server. A process that takes over the lease gets a higher fence, and changes under a
// lower fence are refused.
type Lease struct {
	Key
	Account string          `json:"account"`
	Server  ID              `json:"server"`
	Attempt int             `json:"attempt"` // from 1; part of the prompt's id
	Fence   int64           `json:"fence"`
	Holder  string          `json:"holder"`
	Until   time.Time       `json:"until"`
	Since   time.Time       `json:"since"`
	Reason  string          `json:"reason"` // why this server was chosen
	Models  []string        `json:"models,omitempty"`
	Copying bool            `json:"copying,omitempty"` // its prompt has ended, so it occupies no slot of the server
	Fresh   bool            `json:"-"`                 // its holder just got it, and it had no holder before
	Result  json.RawMessage `json:"-"`                 // result of a segment that has ended, otherwise nil
}

// promptSpace is the namespace of prompt ids. It must never change: a later driver must find the prompt.
var promptSpace = uuid.MustParse("b1a3f2c6-5d64-5f0e-9c39-2f0b6f6e8d17")

// Prompt returns the id of the prompt of an attempt, which is the same for every driver.
func (k Key) Prompt(attempt int) uuid.UUID {
	raw, err := json.Marshal([]any{k.Job, k.Run, k.Unit, attempt})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return uuid.NewSHA1(promptSpace, raw)
}

// Need is a requirement of a segment for its server: a class, and choices of its inputs. For a class that only
// servers have, it includes the types that the plan uses, because a server whose class has other inputs or outputs
// would run something else.
type Need struct {
	Class   string            `json:"class"`
	Choices map[string]string `json:"choices,omitempty"`
	Inputs  map[string]string `json:"inputs,omitempty"`  // types of the inputs that the node uses
	Outputs []string          `json:"outputs,omitempty"` // types of all outputs
}

// Wait is a segment that waits for a server.
type Wait struct {
	Key
	Account string    `json:"account"`
	Weight  int       `json:"weight,omitempty"` // share of the account, by its tier; 0 = 1
	Number  float64   `json:"number"`           // order of the job in the queue; the lowest goes first
	Since   time.Time `json:"since"`
	Attempt int       `json:"attempt"`
	Fence   int64     `json:"fence,omitempty"` // of the segment's last lease, which it replaces; 0 = the segment had none
	Needs   []Need    `json:"needs"`
	Models  []string  `json:"models,omitempty"` // models that its loaders name
	Labels  []string  `json:"labels,omitempty"`
	Only    ID        `json:"only,omitempty"`    // the only server to try, as long as it answers
	Avoid   []ID      `json:"avoid,omitempty"`   // servers on which it failed; used again if no other server is left
	Refused []ID      `json:"refused,omitempty"` // servers that refused it
	Memory  int64     `json:"memory,omitempty"`  // the device must have more than this many bytes
	Cause   string    `json:"why,omitempty"`     // why it must be placed again
	Holder  string    `json:"holder"`

	Fetching string `json:"fetching,omitempty"` // which weight is being fetched for it, and from where
}

// Round is the input of a process to a round of placement.
type Round struct {
	Holder  string
	Waits   []Wait  // segments that start to wait
	Vacated []Lease // leases whose prompts have succeeded and whose outputs are being copied
}

// Waiting is a waiting segment, the reason, and the number of segments before it.
type Waiting struct {
	Wait
	Reason string
	Ahead  int
}
