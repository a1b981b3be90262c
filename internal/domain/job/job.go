// Package job is the job aggregate: its states, its events, and the fold from events to states. Folding is pure and
// total. Service decides which commands are refused; the Store runs the transactions.
package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ID identifies a job among all jobs of all accounts. It is a lower-case UUID. Clients know the job by its PublicID.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

// ParseID accepts the canonical lower-case form only.
func ParseID(s string) (ID, error) { return eventlog.ParseID[ID](s) }

// Stream returns the name of the job's event stream.
func (id ID) Stream() string { return "job-" + string(id) }

// IDOfStream returns the job that the stream belongs to.
func IDOfStream(stream string) (ID, bool) { return eventlog.IDOfStream[ID]("job-", stream) }

// WorkflowID returns the Temporal workflow id of one run of the job.
func (id ID) WorkflowID(run int) string { return fmt.Sprintf("job-%s-%d", id, run) }

// State is the state of a job, in the terms of the v2 API.
type State string

// The states; docs/state_machine.md draws the transitions.
const (
	Queued    State = "queued"
	Running   State = "running"
	Canceling State = "canceling"
	Succeeded State = "succeeded"
	Canceled  State = "canceled"
	Failed    State = "failed"
	Expired   State = "expired"
)

// States returns every state.
func States() []State {
	return append(OpenStates(), FinalStates()...)
}

// OpenStates returns the states of a job that has not ended.
func OpenStates() []State { return []State{Queued, Running, Canceling} }

// FinalStates returns the states that a job does not leave.
func FinalStates() []State { return []State{Succeeded, Failed, Canceled, Expired} }

// Final reports whether the state is final.
func (s State) Final() bool { return slices.Contains(FinalStates(), s) }

// Job is the folded state of one job. Views store its JSON encoding.
type Job struct {
	ID          ID                `json:"id"`
	Chosen      PublicID          `json:"public_id,omitempty"` // public id that the client chose
	Account     string            `json:"account"`
	State       State             `json:"state"`
	Version     int64             `json:"version"`  // of the stream, folded so far
	Position    int64             `json:"position"` // of the last folded event
	Number      float64           `json:"number"`   // queue order: lower runs first
	Surface     Surface           `json:"surface"`
	ClientID    string            `json:"client_id,omitempty"`
	Targets     []string          `json:"targets"` // accepted output nodes, document order
	NodesTotal  int               `json:"nodes_total"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Origin      *Origin           `json:"origin,omitempty"`      // of a retry
	Deployment  *Deployed         `json:"deployment,omitempty"`  // of a call of a deployment
	Calls       *Calls            `json:"calls,omitempty"`       // nodes of the graph that call deployments
	WorkflowID  string            `json:"workflow_id,omitempty"` // of the editor's workflow
	InTurn      bool              `json:"in_turn,omitempty"`     // as in SubmittedV1
	Run         int               `json:"run"`                   // run number, 0 before admission
	Execution   string            `json:"execution,omitempty"`   // of the workflow that began the run
	SubmittedAt time.Time         `json:"submitted_at"`
	AdmittedAt  *time.Time        `json:"admitted_at,omitempty"`
	StartedAt   *time.Time        `json:"started_at,omitempty"`
	EndedAt     *time.Time        `json:"ended_at,omitempty"`
	UpdatedAt   time.Time         `json:"updated_at"`
	NodesDone   int               `json:"nodes_done"`
	Cached      []string          `json:"cached,omitempty"`   // cached nodes, which did not run
	Executed    []string          `json:"executed,omitempty"` // nodes finished in this run, in order
	Running     map[string]string `json:"running,omitempty"`  // node id → class, started and not ended
	Outputs     []NodeOutput      `json:"outputs,omitempty"`  // in order of completion
	Error       *Failure          `json:"error,omitempty"`
	Interrupted *NodeRef          `json:"interrupted,omitempty"` // where a running job was canceled
	Waiting     []SegmentWait     `json:"waiting,omitempty"`     // segments waiting for a server
}

// Surface is the API that a job was submitted to.
type Surface string

// The APIs that accept jobs. The last three accept calls of deployments only.
const (
	SurfaceCloud  Surface = "cloud"  // POST /api/prompt
	SurfaceV2     Surface = "v2"     // POST /api/v2/jobs
	SurfaceRouter Surface = "router" // POST /v2/models/deployments/{name}
	SurfaceOpenAI Surface = "openai" // POST /openai/v1/images/…
	SurfaceMCP    Surface = "mcp"    // POST /mcp
)

// Document locates the accepted submission, a Source in JSON: inline if small, otherwise in a blob.
// Exactly one field is set. Inline is a string and not an object, because the order of a graph's
// nodes matters and a jsonb column does not keep it.
type Document struct {
	Inline string `json:"inline,omitempty"`
	Blob   string `json:"blob,omitempty"` // "blake3:<hex>"
}

// NodeRef names a node and its class.
type NodeRef struct {
	Node  string `json:"node"`
	Class string `json:"class"`
}

// NodeOutput is the output of one node: the UI map of ComfyUI's `executed` message, and its files as assets.
type NodeOutput struct {
	Node  string          `json:"node"`
	Class string          `json:"class"`
	UI    json.RawMessage `json:"ui"`
	Files []OutputFile    `json:"files,omitempty"`

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt
	Reused bool       `json:"reused,omitempty"` // taken from an earlier job, for a node of an expansion; nodes of the prompt are in Job.Cached
}

// OutputFile is a file that a node saved. It is an asset with the job's id.
type OutputFile struct {
	Asset       string    `json:"asset"` // asset id, UUID
	Hash        string    `json:"hash"`
	Size        int64     `json:"size"`
	ContentType string    `json:"content_type"`
	Filename    string    `json:"filename"`
	Subfolder   string    `json:"subfolder"`
	Folder      string    `json:"folder"` // "output" or "temp"
	SavedAt     time.Time `json:"saved_at"`
}

// Failure describes why a job failed, in the terms of both APIs. It is shown to clients.
type Failure struct {
	Code          fault.Code      `json:"code"` // v2 JobError code, such as node_execution_error
	Message       string          `json:"message"`
	Node          string          `json:"node,omitempty"`
	Class         string          `json:"class,omitempty"`
	ExceptionType string          `json:"exception_type,omitempty"` // cloud contract
	RuntimeType   string          `json:"runtime_type,omitempty"`   // the name of the exception on the ComfyUI server that raised it
	Traceback     []string        `json:"traceback,omitempty"`
	Inputs        json.RawMessage `json:"inputs,omitempty"` // current_inputs, formatted
}

// Places returns the ids that messages about a node contain: its parent (nil for a node of the prompt), the node to
// display in its place, and the node of the prompt from which it originates. The receiver may be nil.
func (e *Expansion) Places(id string) (parent *string, display, root string) {
	switch {
	case e == nil:
		return nil, id, id
	case e.Class != "":
		return nil, e.Display, e.Real
	}
	return &e.Parent, e.Display, e.Real
}

// Shown returns the node that clients see in the place of a node of the graph of a version: the one that called it. The receiver may be
// nil.
func (e *Expansion) Shown(id, class string) (shown, shownClass string) {
	if e == nil || e.Class == "" {
		return id, class
	}
	return e.Real, e.Class
}

// PublicID is the id under which clients know a job. It is a lower-case UUID, unique within its account. A client may
// choose it, so that two accounts may have the same one. The public id of a job whose client chose none is its ID.
type PublicID string

// ParsePublicID accepts the canonical lower-case form only.
func ParsePublicID(s string) (PublicID, error) {
	id, err := ParseID(s)
	return PublicID(id), err
}

// choices is the namespace of the ids of jobs whose clients chose a public id. It must never change: if an account
// chooses a public id again, it must get the id of the existing job.
var choices = uuid.MustParse("c1f4c27e-6c0b-5d0e-9a3f-0b9d5a8f5e62")

// IDOfChoice returns the id of the job for which the account chose a public id: a version 5 UUID of the two. It
// differs between accounts, so that an account can neither block a public id for another account nor find out whether
// another account uses it.
func IDOfChoice(account string, chosen PublicID) ID {
	key, err := json.Marshal([]string{account, string(chosen)})
	if err != nil {
		panic(err) // strings always marshal
	}
	return ID(uuid.NewSHA1(choices, key).String())
}

// PublicID returns the public id of the job.
func (j Job) PublicID() PublicID {
	return cmp.Or(j.Chosen, PublicID(j.ID))
}

// IDs returns the id of the job for operators, followed by the public id if it differs.
func (j Job) IDs() string {
	if j.Chosen == "" {
		return string(j.ID)
	}
	return fmt.Sprintf("%s (public id %s)", j.ID, j.Chosen)
}

// OutputsReused reports whether any output of the job was taken from an earlier job.
func (j Job) OutputsReused() bool {
	return slices.ContainsFunc(j.Outputs, func(o NodeOutput) bool { return o.Reused || slices.Contains(j.Cached, o.Node) })
}
