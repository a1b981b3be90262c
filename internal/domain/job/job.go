// Package job is the job aggregate: its states, the events of its life and the
// fold from one to the other. Folding is pure and total; rules that refuse a
// command live in Service, transactions in the Store that it is given.
package job

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ID identifies a job on every surface (prompt_id of the cloud contract). Lower-case UUID.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

// ParseID accepts the canonical lower-case form only.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s {
		return "", fmt.Errorf("%q is not a canonical lower-case UUID", s)
	}
	return ID(s), nil
}

// Stream returns the name of the job's event stream.
func (id ID) Stream() string { return "job-" + string(id) }

// IDOfStream returns the job whose stream that is.
func IDOfStream(stream string) (ID, bool) {
	if len(stream) != len("job-")+36 || stream[:4] != "job-" {
		return "", false
	}
	return ID(stream[4:]), true
}

// WorkflowID returns the Temporal workflow id of one run of the job.
func (id ID) WorkflowID(run int) string { return fmt.Sprintf("job-%s-%d", id, run) }

// State is a job's state in the vocabulary of the v2 events.
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

// Final reports whether a job in this state never changes again.
func (s State) Final() bool {
	switch s {
	case Succeeded, Canceled, Failed, Expired:
		return true
	case Queued, Running, Canceling:
		return false
	}
	return false
}

// Job is the folded state of one job, stored in views as JSON in this very shape.
type Job struct {
	ID          ID                `json:"id"`
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
	WorkflowID  string            `json:"workflow_id,omitempty"` // of the editor's workflow
	Run         int               `json:"run"`                   // our run number, 0 before admission
	Execution   string            `json:"execution,omitempty"`   // of the workflow that began the run
	SubmittedAt time.Time         `json:"submitted_at"`
	AdmittedAt  *time.Time        `json:"admitted_at,omitempty"`
	StartedAt   *time.Time        `json:"started_at,omitempty"`
	EndedAt     *time.Time        `json:"ended_at,omitempty"`
	UpdatedAt   time.Time         `json:"updated_at"`
	NodesDone   int               `json:"nodes_done"`
	Cached      []string          `json:"cached,omitempty"`   // nodes answered from the cache
	Executed    []string          `json:"executed,omitempty"` // nodes finished in this run, in order
	Running     map[string]string `json:"running,omitempty"`  // node id → class, started and not ended
	Outputs     []NodeOutput      `json:"outputs,omitempty"`  // in order of completion
	Error       *Failure          `json:"error,omitempty"`
	Interrupted *NodeRef          `json:"interrupted,omitempty"` // where a running job was canceled
	Waiting     []SegmentWait     `json:"waiting,omitempty"`     // segments that wait for a server, and why
}

// Surface is the API a job came in by.
type Surface string

// The two surfaces that accept jobs.
const (
	SurfaceCloud Surface = "cloud" // POST /api/prompt
	SurfaceV2    Surface = "v2"    // POST /api/v2/jobs
)

// Document locates the submission as accepted, a Source in JSON: inline when small, otherwise a
// blob. Exactly one field is set. Inline is a string and not an object, because the order of a
// graph's nodes matters and a jsonb column does not keep it.
type Document struct {
	Inline string `json:"inline,omitempty"`
	Blob   string `json:"blob,omitempty"` // "blake3:<hex>"
}

// NodeRef names a node and its class.
type NodeRef struct {
	Node  string `json:"node"`
	Class string `json:"class"`
}

// NodeOutput is what one node showed: the UI map of `executed`, and its files as assets.
type NodeOutput struct {
	Node  string          `json:"node"`
	Class string          `json:"class"`
	UI    json.RawMessage `json:"ui"`
	Files []OutputFile    `json:"files,omitempty"`

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt
	Reused bool       `json:"reused,omitempty"` // of an earlier job, and a node of an expansion; those of the prompt are in Job.Cached
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

// Failure says why a job failed, in the terms of both surfaces. Public.
type Failure struct {
	Code          string          `json:"code"` // v2 JobError code, such as node_execution_error
	Message       string          `json:"message"`
	Node          string          `json:"node,omitempty"`
	Class         string          `json:"class,omitempty"`
	ExceptionType string          `json:"exception_type,omitempty"` // cloud contract
	Traceback     []string        `json:"traceback,omitempty"`
	Inputs        json.RawMessage `json:"inputs,omitempty"` // current_inputs, formatted
}

// Places returns what messages say of a node beside its id: its parent, nil for a node of the prompt, the
// node to show, and the node of the prompt. The receiver may be nil.
func (e *Expansion) Places(id string) (parent *string, display, root string) {
	if e == nil {
		return nil, id, id
	}
	return &e.Parent, e.Display, e.Real
}
