package asset

import (
	"time"

	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// MaxBatch is how many small uploads one workflow looks into at most. As many ingestions do not wait for more.
const MaxBatch = 256

// NewGates returns the gate of the uploads of a process, and the gate of the intents to ingest what was uploaded, which
// give way to uploads: hashing the new bytes again, and Temporal's commits, would slow down the waiting clients, and
// ingestions of several uploads begin together. Nobody waits for an ingestion.
func NewGates(deliver func([]outbox.Intent)) (uploads, ingestions *load.Gate) {
	uploads = load.New(load.Options{Busy: 1, Calm: 100 * time.Millisecond})
	return uploads, load.New(load.Options{Yield: load.Yield{
		To: uploads, Deliver: deliver, Account: ingestion, Longest: 2 * time.Second, Batch: MaxBatch,
	}})
}

// ingestion returns the turn of an intent to ingest an asset, which all of them share, or "" for any other intent.
func ingestion(in outbox.Intent) string {
	if in.Kind != outbox.StartIngest {
		return ""
	}
	return string(outbox.StartIngest)
}
