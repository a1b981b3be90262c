package api

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// submissions bounds the submissions that are validated and recorded at once. A submission takes milliseconds, and is recorded
// together with others; 72 are served in any case, and beyond them those that need not wait for long. Those of an
// account share a connection to the database; fewer at once would be recorded in smaller transactions.
var submissions = limit.WorkOptions{What: "submissions", Slots: 48, Few: 24, Many: 512, Wait: 100 * time.Millisecond} // a constant

// bounded are commands on jobs of which a bounded number of submissions is under way: requests beyond what the machine can
// do are refused, and do not wait in line. The bodies of requests are read before.
type bounded struct {
	Commands
	work *limit.Work
}

// Submit implements jobio.Submitter.
func (b bounded) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	end, err := b.work.Begin(ctx, sub.Account)
	if err != nil {
		return job.Submitted{}, err
	}
	defer end()
	return b.Commands.Submit(ctx, sub)
}
