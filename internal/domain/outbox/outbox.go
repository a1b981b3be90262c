// Package outbox carries out intents: things that a committed transaction decided
// must happen in the workflow engine. An intent is written in that transaction,
// tried at once after commit, and otherwise by a Relay until it succeeds. It
// promises that every recorded intent is carried out at least once and in order
// per workflow; that doing it twice is harmless is the Carrier's part.
package outbox

import (
	"context"
	"encoding/json"
	"time"
)

// Kind says what an intent does.
type Kind string

// The kinds of intent.
const (
	StartRunGraph Kind = "start_run_graph" // payload: job.Start
	StartIngest   Kind = "start_ingest"    // payload: workflows.IngestAssetParams
	StartRunModel Kind = "start_run_model" // payload: call.Run
	StartExport   Kind = "start_export"    // payload: export.Ref
	Cancel        Kind = "cancel"          // no payload
)

// Intent is one recorded intent.
type Intent struct {
	ID         int64
	WorkflowID string
	Kind       Kind
	Payload    json.RawMessage
	Attempts   int
}

// Carrier does what an intent says. It must be idempotent. A workflow that is gone
// or already there is success.
type Carrier interface {
	Carry(ctx context.Context, in Intent) error
}

// Store is where intents are kept.
type Store interface {
	// Claim leases up to limit due intents, only the oldest of each workflow, until lease has passed.
	Claim(ctx context.Context, limit int, lease time.Duration) ([]Intent, error)
	// Done forgets intents that were carried out.
	Done(ctx context.Context, ids []int64) error
	// Retry makes a failed intent due again after delay.
	Retry(ctx context.Context, id int64, delay time.Duration, cause string) error
}
