// Package outbox delivers intents to Temporal. An intent is a request, such as the start of a workflow, that a
// transaction records in a table together with its events. A Relay delivers it right after the commit, and retries
// until it succeeds. Every recorded intent is delivered at least once, and in order for each workflow. A Starter must
// therefore accept an intent that was delivered before.
package outbox

import (
	"context"
	"encoding/json"
	"time"
)

// Kind is the kind of an intent.
type Kind string

// The kinds of intent.
const (
	StartRunGraph Kind = "start_run_graph" // payload: job.Start
	StartIngest   Kind = "start_ingest"    // payload: workflows.IngestAssetParams
	StartRunModel Kind = "start_run_model" // payload: call.Run
	StartExport   Kind = "start_export"    // payload: task.Ref
	StartDownload Kind = "start_download"  // payload: task.Ref
	StartPool     Kind = "start_pool"      // payload: the name of the pool, in a list
	Cancel        Kind = "cancel"          // no payload

	// StartIngests is never recorded: a Joiner makes it of several StartIngest.
	StartIngests Kind = "start_ingests" // payload: []asset.IngestRef
)

// Intent is one recorded request to Temporal.
type Intent struct {
	ID         int64
	WorkflowID string
	Kind       Kind
	Payload    json.RawMessage
	Attempts   int
	With       []int64 // further intents that are delivered with this one; see Joiner
	// Over is called when a Relay that was passed the intent has delivered it, or has left it to be claimed later. It may be nil,
	// and is not called for intents that are delivered with another, or if the Relay stops.
	Over func(delivered bool)
}

// New returns an intent with a payload, which is a struct or a list of strings and numbers.
func New(kind Kind, workflow string, payload any) Intent {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return Intent{WorkflowID: workflow, Kind: kind, Payload: raw}
}

// ids returns the intent's own id and those of the intents that are delivered with it.
func (in Intent) ids() []int64 { return append([]int64{in.ID}, in.With...) }

func (in Intent) over(delivered bool) {
	if in.Over != nil {
		in.Over(delivered)
	}
}

// Starter delivers intents to Temporal. Deliver must be idempotent: starting a workflow that
// exists, and canceling one that does not, are successes.
type Starter interface {
	Deliver(ctx context.Context, in Intent) error
}

// Joiner is a Starter that delivers some intents together at less cost. Join returns the intents that are to be delivered
// in place of the given ones; each given id is in one of them, as its ID or in With.
type Joiner interface {
	Join(intents []Intent) []Intent
}

// Store keeps intents until they are delivered.
type Store interface {
	// Claim leases up to limit due intents for the given time. It returns only the oldest intent of each workflow.
	Claim(ctx context.Context, limit int, lease time.Duration) ([]Intent, error)
	// Done deletes delivered intents.
	Done(ctx context.Context, ids []int64) error
	// Retry makes a failed intent due again after delay.
	Retry(ctx context.Context, id int64, delay time.Duration, cause string) error
}
