package job

import (
	"encoding/json"

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
	Credential bool              `json:"credential,omitempty"` // one came with it and was sealed
	Origin     *Origin           `json:"origin,omitempty"`     // of a retry
	Price      *Price            `json:"price,omitempty"`      // of a job that is charged for

	WorkflowID string `json:"workflow_id,omitempty"` // of the editor's workflow
}

// AdmittedV1 records that a slot was given: the run may start.
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

// NodesCachedV1 records which nodes the cache answers, in document order; it may be empty. One of a segment names those
// that a server answers from its own.
type NodesCachedV1 struct {
	Run   int      `json:"run"`
	Nodes []string `json:"nodes"`
	More  bool     `json:"more,omitempty"` // beside those named before
}

// NodeStartedV1 records that a node began.
type NodeStartedV1 struct {
	Run     int    `json:"run"`
	Node    string `json:"node"`
	Class   string `json:"class"`
	Attempt int    `json:"attempt,omitempty"`

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt
}

// Expansion says where a node stands that another one expanded to. Such a node counts for nothing in the
// job's progress: the one in the prompt does.
type Expansion struct {
	Parent  string `json:"parent"`  // the node that expanded to it
	Display string `json:"display"` // the node that clients are shown in its place
	Real    string `json:"real"`    // the node of the prompt that all came from
}

// NodeExecutedV1 records a finished node. UI and Files are empty for a node without output.
type NodeExecutedV1 struct {
	Run    int             `json:"run"`
	Node   string          `json:"node"`
	Class  string          `json:"class"`
	UI     json.RawMessage `json:"ui,omitempty"`
	Files  []OutputFile    `json:"files,omitempty"`
	Millis int64           `json:"millis"`
	Cached bool            `json:"cached,omitempty"` // replayed from the cache, nothing ran
	Log    []string        `json:"log,omitempty"`    // texts that the node logged while it ran, bounded

	Within *Expansion `json:"within,omitempty"` // nil = a node of the prompt

	Blocked string `json:"blocked,omitempty"` // why the node, or one of its calls, was kept from running, when there is something to say
}

// NodeFailedV1 records that a node failed; the job's failure follows. Of a node of an expansion the failure
// names the node of the prompt, and Inner the one that failed.
type NodeFailedV1 struct {
	Run     int     `json:"run"`
	Failure Failure `json:"failure"`
	Inner   string  `json:"inner,omitempty"`
}

// CancelRequestedV1 records that the user asked a running job to stop.
type CancelRequestedV1 struct {
	Run int `json:"run"`
}

// SucceededV1 ends a job well.
type SucceededV1 struct {
	Run int `json:"run"`
}

// FailedV1 ends a job with an error.
type FailedV1 struct {
	Run     int     `json:"run"`
	Failure Failure `json:"failure"`
}

// CanceledV1 ends a job by its user's will. At is nil when it had not started.
type CanceledV1 struct {
	Run int      `json:"run"`
	At  *NodeRef `json:"at,omitempty"`
}

// ExpiredV1 ends a job whose retention passed before it could run.
type ExpiredV1 struct{}

// RequeuedV1 records that an operator had a run started again that nothing was running.
type RequeuedV1 struct {
	Run int `json:"run"`
}

// RetiredV1 records that an ended job is past its retention: views forget it, and its events leave the log
// for the archive, or for good when Archive is empty.
type RetiredV1 struct {
	Facts   int64  `json:"facts"`             // how many there were before this one
	Archive string `json:"archive,omitempty"` // "blake3:<hex>"
}

// Register adds the job's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[SubmittedV1](TypeSubmitted).Says("a submission was accepted"),
		eventlog.TypeOf[AdmittedV1](TypeAdmitted).Says("a slot was given; the run may start"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("a worker began the run"),
		eventlog.TypeOf[NodesCachedV1](TypeNodesCached).Says("which nodes the cache answers"),
		eventlog.TypeOf[NodeStartedV1](TypeNodeStarted).Says("a node began"),
		eventlog.TypeOf[NodeExecutedV1](TypeNodeExecuted).Says("a node ended well"),
		eventlog.TypeOf[SegmentWaitingV1](TypeSegmentWaiting).Says("a part of the graph waits for a ComfyUI server"),
		eventlog.TypeOf[SegmentPlacedV1](TypeSegmentPlaced).Says("a part of the graph was given to a ComfyUI server"),
		eventlog.TypeOf[SegmentEndedV1](TypeSegmentEnded).Says("a ComfyUI server is done with a part of the graph, or was given up"),
		eventlog.TypeOf[NodeFailedV1](TypeNodeFailed).Says("a node failed; the job's failure follows"),
		eventlog.TypeOf[CancelRequestedV1](TypeCancelRequested).Says("the user asked a running job to stop"),
		eventlog.TypeOf[SucceededV1](TypeSucceeded).Says("the end, well"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("the end, with an error"),
		eventlog.TypeOf[CanceledV1](TypeCanceled).Says("the end, by the user's will"),
		eventlog.TypeOf[ExpiredV1](TypeExpired).Says("the end of a job that waited in the queue past its retention"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("a run that nothing runs is started again, by an operator or the sweeper"),
		eventlog.TypeOf[RetiredV1](TypeRetired).Says("an ended job is past its retention: views forget it, the facts before this one leave the log"),
	)
}

// namespace of event ids; fixed for ever, since ids must come out the same on every attempt.
var namespace = uuid.MustParse("6a0d1c0e-3f0b-5b53-9f5e-7d2b1f6f9a41")

// FactID returns the id of an event, the same on every attempt: a version 5 UUID of
// the job, our run number, the node ("" for events of the job), a call index and the event type.
func FactID(id ID, run int, node string, index int, eventType string) uuid.UUID {
	key, err := json.Marshal([]any{id, run, node, index, eventType})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return uuid.NewSHA1(namespace, key)
}
