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
	// ByPublicID returns the job of the account with a public id. An unknown job is NotFound.
	ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error)
}

// IDs translates between public ids and ids of jobs. Its results are never older than the log.
type IDs interface {
	// IDs returns the ids of the account's jobs with some public ids. An unknown public id is left out or returned
	// unchanged.
	IDs(ctx context.Context, account string, public []job.PublicID) ([]job.ID, error)
	// PublicIDs returns the public ids of some jobs, in the order of ids.
	PublicIDs(ctx context.Context, ids []job.ID) ([]job.PublicID, error)
}

// Find returns the caller's job that the path names. A malformed id and the id of another account's job are NotFound.
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

// Queue reads the order in which queued jobs run; jobstore.Store implements it.
type Queue interface {
	// QueuePositions returns the number of queued jobs that run before each of some jobs. Jobs that are not queued are absent.
	QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error)
}

// QueuePosition returns the number of queued jobs that run before j: 0 = j is next, nil = j is not queued.
func QueuePosition(ctx context.Context, queue Queue, j job.Job) (*int64, error) {
	positions, err := QueuePositions(ctx, queue, j.Account, []job.Job{j})
	return positions[j.ID], err
}

// QueuePositions is QueuePosition for several jobs of an account. Jobs that are not queued are absent.
func QueuePositions(ctx context.Context, queue Queue, account string, list []job.Job) (map[job.ID]*int64, error) {
	var ids []job.ID
	for _, j := range list {
		if j.State == job.Queued {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ahead, err := queue.QueuePositions(ctx, account, ids)
	positions := make(map[job.ID]*int64, len(ahead))
	for id, n := range ahead {
		positions[id] = &n
	}
	return positions, err
}

// Steps reads the progress inside running nodes; livestore.Progress implements it.
type Steps interface {
	Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error)
}

// Progress returns the progress of j, including the progress inside its running nodes. If steps is nil, progress is
// counted in whole nodes.
func Progress(ctx context.Context, steps Steps, j job.Job) (*stream.Progress, error) {
	if len(j.Running) == 0 || steps == nil {
		return stream.ProgressOf(j, "", nil), nil
	}
	known, err := steps.Steps(ctx, j.ID, j.Run)
	return stream.ProgressOf(j, "", known), err
}
