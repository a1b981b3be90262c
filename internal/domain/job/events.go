package job

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeSubmitted       = "job.submitted.v1"
	TypeAdmitted        = "job.admitted.v1"
	TypeStarted         = "job.started.v1"
	TypeNodesCached     = "job.nodes_cached.v1"
	TypeNodeStarted     = "node.started.v1"
	TypeNodeExecuted    = "node.executed.v1"
	TypeNodeFailed      = "node.failed.v1"
	TypeCancelRequested = "job.cancel_requested.v1"
	TypeSucceeded       = "job.succeeded.v1"
	TypeFailed          = "job.failed.v1"
	TypeCanceled        = "job.canceled.v1"
	TypeExpired         = "job.expired.v1"
	TypeRequeued        = "job.requeued.v1"
	TypeRetired         = "job.retired.v1"
)

// SubmittedV1 records an accepted submission.
type SubmittedV1 struct {
	Number     float64           `json:"number"`
	Surface    Surface           `json:"surface"`
	ClientID   string            `json:"client_id,omitempty"`
	Document   Document          `json:"document"`
	Targets    []string          `json:"targets"`
	NodesTotal int               `json:"nodes_total"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Credential bool              `json:"credential,omitempty"` // a credential was submitted and stored encrypted
	Origin     *Origin           `json:"origin,omitempty"`     // set for a retry
	Price      *Price            `json:"price,omitempty"`      // set for a charged job

	WorkflowID string `json:"workflow_id,omitempty"` // of the editor's workflow

	PublicID PublicID `json:"public_id,omitempty"` // chosen by the client; absent = the job's own id

	Deployment *Deployed `json:"deployment,omitempty"` // set for a call of a deployment

	Calls *Calls `json:"calls,omitempty"` // set for a graph whose nodes call deployments

	InTurn bool `json:"in_turn,omitempty"` // the client follows one job at a time: messages of this job follow those of its earlier ones
}

// Deployed names the deployment that a job is a call of, and the version of its graph. The named inputs are in the document.
type Deployed struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"` // at the time of the call
	Version int               `json:"version"`
	Outputs map[string]string `json:"outputs,omitempty"` // names of outputs by the nodes that make them
}

// Output returns the name of the output that a node makes, "" for another node.
func (d *Deployed) Output(node string) string { return d.Outputs[node] }

// OutputOf returns the name of the output to which a node's output belongs, and the rest of the id of a node that expansion made,
// which is "" for a node of the graph. A name of "" means that callers do not see the output.
func (d *Deployed) OutputOf(out NodeOutput) (name, inner string) {
	_, _, root := out.Within.Places(out.Node)
	return d.Output(root), strings.TrimPrefix(out.Node, root)
}

// AdmittedV1 records that the job got a slot: the run may start.
type AdmittedV1 struct {
	Run int `json:"run"`
}

// StartedV1 records that a worker began a run.
type StartedV1 struct {
	Run        int    `json:"run"`
	NodesTotal int    `json:"nodes_total"`
	Worker     string `json:"worker,omitempty"`
	Execution  string `json:"execution"` // first run id of the workflow execution that began it
}

// NodesCachedV1 records the cached nodes, in document order; the list may be empty. For a segment, it records the
// nodes that the ComfyUI server had cached.
type NodesCachedV1 struct {
	Run   int      `json:"run"`
	Nodes []string `json:"nodes"`
	More  bool     `json:"more,omitempty"` // in addition to earlier ones
}

// NodeStartedV1 records that a node started.
type NodeStartedV1 struct {
	Run     int    `json:"run"`
	Node    string `json:"node"`
	Class   string `json:"class"`
	Attempt int    `json:"attempt,omitempty"`

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt
}

// Expansion is the position of a node of an expansion. Only nodes of the prompt count for the progress of a job.
type Expansion struct {
	Parent  string `json:"parent"`  // the node whose expansion contains the node
	Display string `json:"display"` // the node that clients display in its place
	Real    string `json:"real"`    // the node of the prompt from which it originates

	Class  string `json:"class,omitempty"`  // of Real, if that is a node that calls a deployment
	Counts bool   `json:"counts,omitempty"` // the node counts for the progress: it belongs to the graph of a version
}

// NodeExecutedV1 records a finished node. UI and Files are empty for a node without output.
type NodeExecutedV1 struct {
	Run    int             `json:"run"`
	Node   string          `json:"node"`
	Class  string          `json:"class"`
	UI     json.RawMessage `json:"ui,omitempty"`
	Files  []OutputFile    `json:"files,omitempty"`
	Millis int64           `json:"millis"`
	Waited int64           `json:"waited_millis,omitempty"` // part of Millis in which its calls of partner models waited for a slot
	Cached bool            `json:"cached,omitempty"`        // taken from the cache; the node did not run
	Log    []string        `json:"log,omitempty"`           // texts that the node logged, cut to a bound

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt

	Blocked string `json:"blocked,omitempty"` // message of the blocker that prevented the node, or one of its calls, from running
}

// NodeFailedV1 records that a node failed. The job's failure follows. For a node of an expansion, Failure names the
// node of the prompt and Inner names the node that failed.
type NodeFailedV1 struct {
	Run     int     `json:"run"`
	Failure Failure `json:"failure"`
	Inner   string  `json:"inner,omitempty"`
}

// CancelRequestedV1 records that the user requested the cancellation of a running job.
type CancelRequestedV1 struct {
	Run int `json:"run"`
}

// SucceededV1 ends a job that succeeded.
type SucceededV1 struct {
	Run int `json:"run"`
}

// FailedV1 ends a job with an error.
type FailedV1 struct {
	Run     int     `json:"run"`
	Failure Failure `json:"failure"`
}

// CanceledV1 ends a job that its user canceled. At is nil if the job had not started.
type CanceledV1 struct {
	Run int      `json:"run"`
	At  *NodeRef `json:"at,omitempty"`
}

// ExpiredV1 ends a job whose retention passed before it could run.
type ExpiredV1 struct{}

// RequeuedV1 records that an operator or the sweeper restarted a run that no worker was running.
type RequeuedV1 struct {
	Run int `json:"run"`
}

// RetiredV1 records that an ended job is past its retention. Views remove it. Its events move from the log to the
// archive, or are erased if Archive is empty.
type RetiredV1 struct {
	Events  int64  `json:"events"`            // number of events before this one
	Archive string `json:"archive,omitempty"` // "blake3:<hex>"
}

// Register adds the job's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[SubmittedV1](TypeSubmitted).Says("a submission was accepted"),
		eventlog.TypeOf[AdmittedV1](TypeAdmitted).Says("it got a slot; the run may start"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("a worker began the run"),
		eventlog.TypeOf[NodesCachedV1](TypeNodesCached).Says("nodes were found in the cache"),
		eventlog.TypeOf[NodeStartedV1](TypeNodeStarted).Says("a node started"),
		eventlog.TypeOf[NodeExecutedV1](TypeNodeExecuted).Says("a node finished"),
		eventlog.TypeOf[SegmentWaitingV1](TypeSegmentWaiting).Says("a segment waits for a ComfyUI server"),
		eventlog.TypeOf[SegmentPlacedV1](TypeSegmentPlaced).Says("a segment was placed on a ComfyUI server"),
		eventlog.TypeOf[SegmentEndedV1](TypeSegmentEnded).Says("an attempt to run a segment on a ComfyUI server ended"),
		eventlog.TypeOf[SlotReleasedV1](TypeSlotReleased).Says("it gave its slot back while it waits for a ComfyUI server"),
		eventlog.TypeOf[SlotTakenV1](TypeSlotTaken).Says("it has a slot again"),
		eventlog.TypeOf[NodeFailedV1](TypeNodeFailed).Says("a node failed; the job's failure follows"),
		eventlog.TypeOf[CancelRequestedV1](TypeCancelRequested).Says("the user requested the cancellation of a running job"),
		eventlog.TypeOf[SucceededV1](TypeSucceeded).Says("it succeeded"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("it failed"),
		eventlog.TypeOf[CanceledV1](TypeCanceled).Says("its user canceled it"),
		eventlog.TypeOf[ExpiredV1](TypeExpired).Says("it expired: it waited in the queue past its retention"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("an operator or the sweeper restarted a run whose workflow was lost"),
		eventlog.TypeOf[RetiredV1](TypeRetired).Says("an ended job is past its retention: views remove it, and its earlier events leave the log"),
	)
}

// namespace of event ids. It must never change: an event must get the same id on every attempt.
var namespace = uuid.MustParse("6a0d1c0e-3f0b-5b53-9f5e-7d2b1f6f9a41")

// EventID returns the id of an event, the same on every attempt: a version 5 UUID of
// the job, our run number, the node ("" for events of the job), a call index and the event type.
func EventID(id ID, run int, node string, index int, eventType string) uuid.UUID {
	return eventlog.DeriveID(namespace, id, run, node, index, eventType)
}
