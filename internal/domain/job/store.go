package job

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Bounds are what an account's tier allows.
type Bounds struct {
	Slots      int // jobs that run at once
	QueueDepth int // jobs that wait; more are refused with queue_full
}

// RunRef names one run of a job.
type RunRef struct {
	Job     ID     `json:"job"`
	Account string `json:"account"`
	Run     int    `json:"run"`
}

// Start is what a start intent carries.
type Start struct {
	RunRef
	// Again lets a run begin whose workflow the engine takes for over: the log says whether it is.
	Again bool `json:"again,omitempty"`
}

// NewJob is a validated submission as the Store records it.
type NewJob struct {
	ID             ID
	Account        string
	Fact           SubmittedV1 // its Number is settled by the Store unless Number is given
	Number         *float64    // the client's own, or nil for the account's counter
	Front          bool        // with the counter: before everything that waits
	Sealed         []byte      // credential, or nil
	Holds          []string    // ids of the assets it needs, which cannot be deleted before it ends
	IdempotencyKey string      // "" = none
	Operation      string      // scope of the key
	RequestID      string
	Actor          string // "" = the account itself
	Reason         string
	Bounds         Bounds
	Price          Price // of a metered account
}

// Admission is what the Store decided.
type Admission struct {
	Job     Job
	Intents []outbox.Intent // to carry out now; also in the outbox
}

// Ending is the end of one run of a job.
type Ending struct {
	ID      ID
	Account string
	Run     int
	Type    string // TypeSucceeded, TypeFailed or TypeCanceled
	Fact    any
	Before  []eventlog.Event // events of the run that are appended with its end, before it
	Bounds  Bounds
	Actor   string
	Reason  string
}

// ErrRecordedInPart refuses an Ending some of whose events before the end are in the log, and the end
// is not: they must be appended on their own first.
var ErrRecordedInPart = errors.New("some of the facts are recorded already")

// Ended is the outcome of an ending: the intents of the jobs it admitted.
type Ended struct {
	Applied bool // false: the job had ended before
	Intents []outbox.Intent
}

// CancelRequest asks to stop jobs of one account.
type CancelRequest struct {
	Account   string
	IDs       []ID // those that are unknown, finished or another's are passed over
	RequestID string
	Actor     string // "" = the account itself
	Reason    string
	Bounds    Bounds
}

// Cancellation is the outcome of a cancel request.
type Cancellation struct {
	IDs     []ID // jobs that waited and are canceled, or run and were asked to stop
	Intents []outbox.Intent
}

// Store carries out the transactions of a job's life. Each locks the account's lane
// first and appends its events last.
type Store interface {
	// Submit records the job, admitted or queued. fault codes: queue_full, insufficient_credits (Exhausted),
	// idempotency_key_reuse (Conflict), duplicate_job (Conflict: the id is taken).
	Submit(ctx context.Context, n NewJob) (Admission, error)
	// End records the end of a run, frees its slot and admits who waits. It may answer ErrRecordedInPart.
	End(ctx context.Context, e Ending) (Ended, error)
	// Cancel cancels waiting jobs at once and asks running ones to stop.
	Cancel(ctx context.Context, r CancelRequest) (Cancellation, error)
	// Waiting and Holding list an account's jobs without and with a slot, in run order.
	Waiting(ctx context.Context, account string) ([]ID, error)
	Holding(ctx context.Context, account string) ([]ID, error)
}
