package job

import (
	"encoding/json"
	"runtime"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// startGap is the time between two starts in a process with one processor while submissions have precedence: a small job
// takes about ten milliseconds of one, so starts take an eighth of the processors.
const startGap = 80 * time.Millisecond

// NewGates returns the gate of the submissions of a process, and the gate of the intents of jobs, whose starts give way to
// submissions.
//
// A submission takes milliseconds, and is recorded together with others: fewer at once would be recorded in smaller
// transactions. 72 are accepted in any case, and more if they need not wait for long. They have precedence while half of
// the slots are used, and for several times as long as the slowest of a batch take to come back.
func NewGates(deliver func([]outbox.Intent)) (submissions, starts *load.Gate) {
	submissions = load.New(load.Options{
		What: "submissions", Slots: 48, Few: 24, Many: 512, Wait: 100 * time.Millisecond,
		Busy: 24, Calm: 250 * time.Millisecond,
	})
	return submissions, load.New(load.Options{Yield: load.Yield{
		To: submissions, Deliver: deliver, Account: accountToStart, Gap: startGap / time.Duration(runtime.GOMAXPROCS(0)),
	}})
}

// accountToStart returns the account of an intent to start a job, or "" for any other intent.
func accountToStart(in outbox.Intent) string {
	var start Start
	if in.Kind != outbox.StartRunGraph || json.Unmarshal(in.Payload, &start) != nil {
		return "" // its delivery reports the error
	}
	return start.Account
}
