// Package cloud serves the jobs of the cloud contract, as clients of the hosted service and of a self-hosted runtime know
// them: submissions, the queue, the history and what a job is now. It promises the shapes of that contract, also where
// the v2 surface says the same thing otherwise. Files are left to package media, what an editor keeps to package
// editor, and messages to package live.
package cloud

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Commands accepts commands on jobs; job.Service implements it.
type Commands interface {
	jobio.Submitter
	// CancelMany asks jobs to stop, pending and running, and returns those that were active.
	CancelMany(ctx context.Context, account string, ids []job.ID, requestID string) ([]job.ID, error)
	// ClearPending cancels every queued job.
	ClearPending(ctx context.Context, account, requestID string) ([]job.ID, error)
	// Interrupt asks running jobs to stop, or only the one given ("" = all).
	Interrupt(ctx context.Context, account string, only job.ID, requestID string) ([]job.ID, error)
}

// Reader reads jobs. Its results are never older than the log.
type Reader interface {
	jobio.Reader
	jobio.IDs
	// Line returns the account's unfinished jobs in run order, page by page.
	Line(ctx context.Context, account string, q jobs.Line) (jobs.LinePage, error)
	Lists
}

// Queue counts the jobs that wait or run; jobstore.Store implements it.
type Queue interface {
	// Remaining returns how many of the account's jobs have not ended.
	Remaining(ctx context.Context, account string) (int64, error)
}

// Lists reads jobs by offset.
type Lists interface {
	// ListAt returns the jobs that o selects, with the number of all.
	ListAt(ctx context.Context, account string, o jobs.Order) ([]job.Job, int64, error)
}

// Sources reads submissions as they were accepted, without credentials.
type Sources interface {
	Load(ctx context.Context, account string, id job.ID) (job.Source, error)
	// LoadWithin is Load of at most so many bytes; whole is false for a larger one.
	LoadWithin(ctx context.Context, account string, id job.ID, most int64) (src job.Source, whole bool, err error)
}

// History is what accounts have taken out of the lists of finished jobs.
type History interface {
	// Hide takes finished jobs out; ids that name none are ignored.
	Hide(ctx context.Context, account string, ids []string, requestID string) error
	// Clear takes all finished jobs out.
	Clear(ctx context.Context, account, requestID string) error
	// ListAt leaves out what is hidden.
	Lists
	// Hiding returns what is hidden; nil when nothing ever was.
	Hiding(ctx context.Context, account string) (*hidden.Hiding, error)
	// Hides reports whether it hides a finished job.
	Hides(ctx context.Context, account string, h *hidden.Hiding, id job.ID) (bool, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Jobs    Commands
	Reader  Reader
	Queue   Queue
	Sources Sources
	History History     // nil = nothing is ever hidden
	Waits   jobio.Waits // nil = no job waits for a ComfyUI server
	Devices Devices     // nil = there are no ComfyUI servers
}

// Devices returns the devices of all ComfyUI servers that answer.
type Devices func() []server.Device

// Options are the tunables of the surface.
type Options struct {
	MaxPrompt    int64  // bytes of a submission
	MaxUpload    int64  // bytes of an uploaded file, shown in features
	Assets       bool   // the deployment has assets, shown in features
	RuntimeNames bool   // exception types in the names of the self-hosted runtime
	RawStatus    bool   // GET /job/{id}/status says success and error as newer clients expect
	Version      string // shown in system_stats
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts   Options
	recent *sourceCache
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, recent: newSourceCache(sourceCacheBytes)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return slices.Concat(s.systemRoutes(), s.promptRoutes(), s.statusRoutes(), s.queueRoutes(), s.jobRoutes(), s.historyRoutes())
}
