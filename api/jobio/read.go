package jobio

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Reader reads jobs. Its results are never older than the log.
type Reader interface {
	// ByPublicID returns the job that clients of the account know by an id. An unknown one is NotFound.
	ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error)
}

// IDs knows which jobs clients mean; what it says is never behind the log.
type IDs interface {
	// IDs returns the ids of the jobs that clients of the account know by some ids. An id by which none is known is left
	// out, or returned as it is.
	IDs(ctx context.Context, account string, public []job.PublicID) ([]job.ID, error)
	// PublicIDs returns the ids by which clients know some jobs, in their order.
	PublicIDs(ctx context.Context, ids []job.ID) ([]job.PublicID, error)
}

// Find returns the job of the caller that the path names. An id that cannot be one is unknown, and so is another
// account's.
func Find(c *gin.Context, jobs Reader) (job.Job, error) {
	id, err := job.ParsePublicID(c.Param("id"))
	if err != nil {
		return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	}
	return jobs.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
}

// AllStates returns every state of a job.
func AllStates() []job.State {
	return []job.State{job.Queued, job.Running, job.Canceling, job.Succeeded, job.Canceled, job.Failed, job.Expired}
}

// Queue knows the order in which queued jobs run.
type Queue interface {
	// QueuePosition returns how many queued jobs run before id; ok is false when the job is not queued.
	QueuePosition(ctx context.Context, account string, id job.ID) (ahead int64, ok bool, err error)
}

// QueuePosition returns how many queued jobs run before j: 0 = next, nil = j is no longer queued.
func QueuePosition(ctx context.Context, queue Queue, j job.Job) (*int64, error) {
	ahead, queued, err := queue.QueuePosition(ctx, j.Account, j.ID)
	if err != nil || !queued {
		return nil, err
	}
	return &ahead, nil
}

// Steps knows how far running nodes are within themselves; livestore.Progress implements it.
type Steps interface {
	Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error)
}

// Progress returns the progress of j, that of its running nodes included. steps may be nil: progress is then counted by
// whole nodes.
func Progress(ctx context.Context, steps Steps, j job.Job) (*stream.Progress, error) {
	if len(j.Running) == 0 || steps == nil {
		return stream.ProgressOf(j, "", nil), nil
	}
	known, err := steps.Steps(ctx, j.ID, j.Run)
	return stream.ProgressOf(j, "", known), err
}
