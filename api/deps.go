package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/stream"
	hidden "github.com/millrace-dev/millrace/projections/history"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Deps are the parts behind the API. Those that may be nil say so.
type Deps struct {
	Auth      edge.Authenticator
	Jobs      Jobs
	Reader    JobReader
	Sources   Sources
	Steps     Steps // nil = polls show progress by whole nodes
	Links     Links
	Live      Live
	Files     Files  // nil = no routes for files
	Grants    Grants // required with Files
	Assets    Assets // nil = no routes for assets; needs Files
	AssetView AssetReader
	Keys      IdempotencyKeys // required with Assets
	Internet  Internet        // nil = no asset is made from an address
	Exports   Exports         // nil = no routes for archives of files
	Classes   *node.Registry  // nil = no object_info
	NodeFiles NodeFiles       // required with Classes
	Logs      Logs            // nil = jobs have no logs
	History   History         // nil = nothing is ever hidden
	Userdata  Userdata        // nil = no routes for the files of editors
	Console   *Console        // nil = no pages for people
	Editor    *Editor         // nil = no web editor, and no cookie counts as a credential
	Router    *ModelRouter    // nil = no routes of the model router
	Webhooks  *Webhooks       // nil = no routes of webhooks
	Readiness Readiness
	Space     edge.Space   // nil = there is always space
	Storage   edge.Storage // nil = accounts store as much as they like
	Logger    *slog.Logger
}

// NodeFiles gives the view of an account's files that definitions offer; files.Service is it.
type NodeFiles interface {
	ForAccount(account string) node.Files
}

// Jobs accepts commands on jobs; job.Service is it.
type Jobs interface {
	// Submit records a validated graph as a job; see job.Service.
	Submit(ctx context.Context, sub job.Submission) (job.Submitted, error)
	// CancelMany asks jobs to stop, pending and running, and returns those that were active.
	CancelMany(ctx context.Context, account string, ids []job.ID, requestID string) ([]job.ID, error)
	// ClearPending cancels every job that waits.
	ClearPending(ctx context.Context, account, requestID string) ([]job.ID, error)
	// Interrupt asks running jobs to stop, or only the one given ("" = all).
	Interrupt(ctx context.Context, account string, only job.ID, requestID string) ([]job.ID, error)
}

// JobReader reads jobs; what it says is never behind the log.
type JobReader interface {
	// Job returns a job of the account. Another's and an unknown one are NotFound.
	Job(ctx context.Context, account string, id job.ID) (job.Job, error)
	// Line returns the account's unfinished jobs in run order, page by page.
	Line(ctx context.Context, account string, q jobs.Line) (jobs.LinePage, error)
	// Remaining returns how many of the account's jobs have not ended.
	Remaining(ctx context.Context, account string) (int64, error)
	// List returns jobs newest first, ListAt by offset with the number of all.
	List(ctx context.Context, account string, q jobs.Query) (jobs.Page, error)
	ListAt(ctx context.Context, account string, o jobs.Order) ([]job.Job, int64, error)
	// QueuePosition returns how many queued jobs run before id; ok is false when it does not wait.
	QueuePosition(ctx context.Context, account string, id job.ID) (ahead int64, ok bool, err error)
	// QueuePositions is QueuePosition of several; those that do not wait are absent.
	QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error)
}

// Sources reads submissions as they were accepted, without credentials.
type Sources interface {
	Load(ctx context.Context, account string, id job.ID) (job.Source, error)
	// LoadWithin is Load of at most so many bytes; whole is false for a larger one.
	LoadWithin(ctx context.Context, account string, id job.ID, most int64) (src job.Source, whole bool, err error)
}

// History is what accounts have taken out of the lists of finished jobs.
type History interface {
	// Hide takes finished jobs out; ids that name none are passed over.
	Hide(ctx context.Context, account string, ids []string, requestID string) error
	// Clear takes all finished jobs out.
	Clear(ctx context.Context, account, requestID string) error
	// Hiding returns what is hidden, for jobs.Order; nil when nothing ever was.
	Hiding(ctx context.Context, account string) (*hidden.Hiding, error)
	// Hides reports whether it hides a finished job.
	Hides(ctx context.Context, account string, h *hidden.Hiding, id job.ID) (bool, error)
}

// Live tells what happens to an account's jobs as it happens; fanout.Fanout is it.
type Live interface {
	// Subscribe returns a subscription, which the caller closes, and the state that its
	// messages continue.
	Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error)
}

// Steps knows how far running nodes are within themselves; postgres.Progress is it.
type Steps interface {
	Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error)
}

// Links makes links to stored files that need no credential.
type Links interface {
	// Sign returns path and query of a link to the content of an asset, and when it ends.
	Sign(asset, hash, filename, contentType string) (path string, expires time.Time)
}

// Readiness knows the state of the parts that a submission depends on.
type Readiness interface {
	Check(ctx context.Context) []Part
}

// Part is the state of one part.
type Part struct {
	Name     string
	OK       bool
	Required bool   // without it a submission could not be accepted and kept
	Detail   string // shown to everybody: no addresses, no secrets
}

func (d Deps) validate() error {
	parts := map[string]bool{
		"Auth": d.Auth == nil, "Jobs": d.Jobs == nil, "Reader": d.Reader == nil, "Sources": d.Sources == nil,
		"NodeFiles": d.Classes != nil && d.NodeFiles == nil,
		"Grants":    d.Files != nil && d.Grants == nil,
		"Assets":    d.Assets != nil && (d.Files == nil || d.AssetView == nil || d.Keys == nil),
		"Editor":    d.Editor != nil && (d.Editor.Files == nil || d.Editor.Sealer == nil),
		"Router":    d.Router != nil && (d.Router.Models == nil || d.Router.Calls == nil || d.Router.Cursors == nil),
		"Webhooks":  d.Webhooks != nil && (d.Webhooks.Endpoints == nil || d.Webhooks.Deliveries == nil),
		"Links":     d.Links == nil, "Live": d.Live == nil, "Readiness": d.Readiness == nil, "Logger": d.Logger == nil,
	}
	var missing []error
	for name, absent := range parts {
		if absent {
			missing = append(missing, fmt.Errorf("the API needs its dependency %s", name))
		}
	}
	return errors.Join(missing...)
}
