package jobs

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// Filter selects jobs. Empty fields select all.
type Filter struct {
	States  []string `json:"status"`
	Account string   `json:"account"` // name or id
	Since   string   `json:"since"`   // a duration before now, or a time
	Class   string   `json:"class"`   // class of a node that ran or failed
	Limit   int      `json:"limit"`   // default 100
}

// Outcome is the result of a command on one job.
type Outcome struct {
	Job    job.ID       `json:"job"`
	Public job.PublicID `json:"public_id,omitempty"` // set if a client chose one; see NameOutcomes
	// retried, canceled, requeued, skipped, refused; of a dry run "would retry" and "would be skipped"
	Done   string     `json:"outcome"`
	Retry  job.ID     `json:"retry,omitempty"` // the new job
	Code   fault.Code `json:"code,omitempty"`  // the error code of a refusal
	Detail string     `json:"detail,omitempty"`
}

// IDs writes the id of the job, followed by its public id if that differs.
func (o Outcome) IDs() string { return job.Job{ID: o.Job, Chosen: o.Public}.IDs() }

// NameOutcomes completes outcomes with the public ids that clients chose for the jobs.
func NameOutcomes(ctx context.Context, pool *postgres.Pool, all []Outcome) error {
	ids := make([]job.ID, len(all))
	for i, o := range all {
		ids[i] = o.Job
	}
	chosen, err := operatestore.New(pool).PublicIDs(ctx, ids)
	for i, o := range all {
		all[i].Public = chosen[o.Job]
	}
	return err
}
