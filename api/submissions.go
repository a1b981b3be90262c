package api

import (
	"context"

	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/load"
)

// Commands accepts commands on jobs; job.Service implements it.
type Commands interface {
	cloud.Commands
	console.Canceler
}

// Bounded returns commands whose submissions pass a gate: requests beyond what the machine can do are refused, and do not
// wait in line. The bodies of requests are read before.
func Bounded(c Commands, submissions *load.Gate) Commands { return bounded{c, submissions} }

type bounded struct {
	Commands
	submissions *load.Gate
}

// Submit implements jobio.Submitter.
func (b bounded) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	end, err := b.submissions.Begin(ctx, sub.Account)
	if err != nil {
		return job.Submitted{}, err
	}
	defer end()
	return b.Commands.Submit(ctx, sub)
}
