package job

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Bounds are the limits of an account's tier.
type Bounds struct {
	Slots      int // jobs that run at the same time
	QueueDepth int // waiting jobs; more are refused with queue_full
}

// RunRef identifies one run of a job.
type RunRef struct {
	Job     ID     `json:"job"`
	Account string `json:"account"`
	Run     int    `json:"run"`
}

// Start is the payload of a start intent.
type Start struct {
	RunRef
	// Again starts a run even if Temporal reports that its workflow has closed. The log decides whether the run has
	// ended.
	Again bool `json:"again,omitempty"`
}

// NewJob is a validated submission to record.
type NewJob struct {
	ID             ID
	Account        string
	Submitted      SubmittedV1 // the Store sets its Number unless Number is given
	Number         *float64    // the client's own, or nil for the account's counter
	Front          bool        // without Number: before all waiting jobs
	Sealed         []byte      // credential, or nil
	Pins           []string    // ids of the assets it uses; they cannot be deleted until it ends
	IdempotencyKey string      // "" = no key
	Operation      string      // scope of the key
	RequestID      string
	Actor          string // "" = the account itself
	Reason         string
	Bounds         Bounds
	Price          Price  // of a metered account
	RouteKey       string // for which the deployment must choose the submitted version; "" = the version is fixed
}

// Admission is the result of Submit.
type Admission struct {
	Job     Job
	Intents []outbox.Intent // that start the job: to deliver now; they are in the outbox too
}

// Ending is the end of one run of a job.
type Ending struct {
	ID      ID
	Account string
	Run     int
	Type    string // TypeSucceeded, TypeFailed or TypeCanceled
	Data    any
	Before  []eventlog.Event // events of the run to append before its end, in one transaction
	After   int64            // version of the job's stream that the appended events must follow; 0 = any
	Lease   *LeaseEnd        // of the segment with which the run ends, ended in the same transaction; nil = no segment
	Bounds  Bounds
	Actor   string
	Reason  string
}

// LeaseEnd ends the lease of a segment of a run on a ComfyUI server. If another driver has taken over the lease, the
// run is not ended.
type LeaseEnd struct {
	Segment int
	Fence   int64
	Result  json.RawMessage // of the segment
}

// ErrRecordedInPart refuses an Ending if the log has some of its Before events but not its end. The caller must
// append the Before events separately first.
var ErrRecordedInPart = errors.New("some of the events are recorded already")

// ErrOvertaken refuses an Ending whose job has other events after the version Ending.After.
var ErrOvertaken = errors.New("the job has events that the run did not read")

// Ended is the result of End.
type Ended struct {
	Applied bool // false = the job had ended already
}

// CancelRequest is a request to stop jobs of one account.
type CancelRequest struct {
	Account   string
	IDs       []ID // unknown and finished jobs, and jobs of other accounts, are ignored
	RequestID string
	Actor     string // "" = the account itself
	Reason    string
	Bounds    Bounds
}

// Store runs the transactions on jobs. Each locks the account's admission row first and appends its events last.
type Store interface {
	// Submit records the job as admitted or queued. Fault codes: queue_full, insufficient_credits (Exhausted),
	// idempotency_key_reuse (Conflict), duplicate_job (Conflict: the account has a job with that public id). A call whose
	// version does not answer any more is deployment.ErrMoved.
	Submit(ctx context.Context, n NewJob) (Admission, error)
	// End records the end of a run, frees its slot and admits waiting jobs. It may return ErrRecordedInPart or ErrOvertaken.
	End(ctx context.Context, e Ending) (Ended, error)
	// Cancel cancels waiting jobs at once and asks running ones to stop. It returns these jobs.
	Cancel(ctx context.Context, r CancelRequest) ([]ID, error)
	// Waiting and WithSlot list an account's jobs without a slot and with one, in run order.
	Waiting(ctx context.Context, account string) ([]ID, error)
	WithSlot(ctx context.Context, account string) ([]ID, error)
}
