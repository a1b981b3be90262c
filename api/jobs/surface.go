// Package jobs serves the jobs of the v2 contract: submissions with an idempotency key, jobs with links to their
// outputs, lists, cancellation and logs. It promises that the answer to an accepted submission is the job that was
// recorded. Package live streams the events of a job.
package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Commands accepts commands on jobs; job.Service implements it.
type Commands interface {
	jobio.Submitter
	// CancelMany requests that jobs stop, pending and running ones, and returns those that were active.
	CancelMany(ctx context.Context, account string, ids []job.ID, requestID string) ([]job.ID, error)
}

// Reader reads jobs. Its results are never older than the log.
type Reader interface {
	jobio.Reader
	// Job returns a job by its own id.
	Job(ctx context.Context, account string, id job.ID) (job.Job, error)
	// List returns jobs, newest first.
	List(ctx context.Context, account string, q jobs.Query) (jobs.Page, error)
}

// Sources reads submissions as they were accepted, without credentials.
type Sources interface {
	Load(ctx context.Context, account string, id job.ID) (job.Source, error)
}

// Names reads the names of assets; files.Service implements it.
type Names interface {
	// NameAssets returns the graph of a job with the references to assets replaced by the names of their files.
	NameAssets(ctx context.Context, account string, id job.ID, prompt json.RawMessage) (json.RawMessage, error)
}

// Keys reads the idempotency keys that are in use.
type Keys interface {
	// Check fails with Conflict, idempotency_key_reuse, for a key in use.
	Check(ctx context.Context, account, operation, key string) error
	// Unanswered returns the id of the job that a request with the key made without receiving an answer.
	Unanswered(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error)
	// Answered records that the request was answered with the job. From then on the key is refused.
	Answered(ctx context.Context, account, operation, key string, made uuid.UUID) error
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Jobs    Commands
	Reader  Reader
	Queue   jobio.Queue
	Sources Sources
	Steps   jobio.Steps // nil = progress is counted by whole nodes
	Links   jobio.Links
	Keys    Keys        // nil = an invalid workflow is refused before a key in use
	Names   Names       // nil = graphs contain references to assets as submitted
	Waits   jobio.Waits // nil = no job waits for a ComfyUI server
	Logs    *job.Logs   // nil = jobs have no logs
	Ends    *Ends       // nil = requests cannot wait for the end of a job
}

// Options are the tunables of the surface.
type Options struct {
	MaxPrompt    int64         // bytes of a submission
	JobRetention time.Duration // from submission to expires_at
	MaxWaits     int           // waiting requests of one account on this process
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts  Options
	waits *limit.Connections
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, waits: limit.NewConnections(opts.MaxWaits)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.jobRoutes(), s.logRoutes()...) }
