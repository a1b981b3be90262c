package api

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/editor"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/jobs"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/model/catalog"
	modelrouter "github.com/millrace-dev/millrace/internal/model/router"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/projections/jobindex"
	jobsview "github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/stats"
	"github.com/millrace-dev/millrace/projections/usage"
)

// Deps are the dependencies of the API. Fields that may be nil are marked. Each surface receives its part of them in
// a Deps of its own.
type Deps struct {
	Auth      edge.Authenticator
	Jobs      Commands
	Reader    JobReader
	Queue     JobQueue
	Sources   cloud.Sources
	Steps     jobio.Steps // nil = polls show progress by whole nodes
	Links     jobio.Links
	Live      live.Source
	Files     Files             // nil = no routes for files
	Grants    *signedurl.Signer // required with Files
	Assets    assets.Assets     // nil = no routes for assets; needs Files
	AssetView assets.AssetReader
	Keys      Keys             // required with Assets
	Internet  assets.Internet  // nil = assets cannot be made from a URL
	Exports   assets.Exports   // nil = no routes for exports
	Downloads assets.Downloads // nil = URLs are not downloaded in tasks
	Classes   *node.Registry   // nil = no object_info
	NodeFiles editor.NodeFiles // required with Classes
	Logs      *job.Logs        // nil = jobs have no logs
	Ends      *jobs.Ends       // nil = requests cannot wait for the end of a job
	History   cloud.History    // nil = nothing is ever hidden
	Userdata  editor.Userdata  // nil = no routes for the files of editors
	Waits     jobio.Waits      // nil = no job waits for a ComfyUI server
	Servers   editor.Servers   // nil = there are no ComfyUI servers
	Devices   cloud.Devices    // nil = only the devices of this machine
	Console   *Console         // nil = no pages for people
	Editor    *Editor          // nil = no web editor, and cookies are not credentials
	Router    *ModelRouter     // nil = no routes of the model router
	Webhooks  *webhooks.Deps   // nil = no routes of webhooks
	Readiness about.Readiness
	Space     edge.Space   // nil = there is always space
	Storage   edge.Storage // nil = the storage of accounts is not limited
	Logger    *slog.Logger
}

// Commands accepts commands on jobs; job.Service implements it.
type Commands interface {
	cloud.Commands
	console.Canceler
}

// JobReader reads jobs for all surfaces.
type JobReader interface {
	cloud.Reader
	jobs.Reader
}

// JobQueue reads the queues of accounts; jobstore.Store implements it.
type JobQueue interface {
	cloud.Queue
	jobio.Queue
}

// Files stores the files of accounts; files.Service implements it.
type Files interface {
	media.Files
	assets.Files
	jobs.Names
}

// Keys stores single-use keys; postgres.Keys implements it.
type Keys interface {
	assets.IdempotencyKeys
	jobs.Keys
}

// Console are the further dependencies of the pages for people.
type Console struct {
	Histories console.Histories
	Retry     console.Retrier // nil = jobs cannot be run again from the page
	Sealer    edge.Sealer
	Servers   console.Servers          // nil = no page of ComfyUI servers
	Operator  func(secret string) bool // reports whether a credential is the operators'; nil = there are no operators
	Index     *jobindex.Reader         // nil = jobs can only be filtered by their state
	Stats     *stats.Reader            // nil = no overview; needs Index
	Now       *jobsview.Reader         // required with Stats
	Calls     models.History           // nil fields = no pages of partner models
	Usage     *usage.Reader            // nil = no page of usage
	Operators *operators.Services      // nil = operators change nothing here
	Media     []string                 // origins of pictures and films beside the service's own, as that of a bucket
}

// Editor is a web editor that is served on the same origin as the API.
type Editor struct {
	Files  console.EditorFiles
	Sealer edge.Sealer // seals the key in a browser's cookie
}

// ModelRouter are the dependencies of the model router.
type ModelRouter struct {
	Models  *modelrouter.Offers
	Calls   router.Calls
	Tokens  router.Authenticator // checks JSON Web Tokens; nil = they are not accepted
	Cursors *catalog.Cursors
	Off     bool // no account may use the router

	NoFallback bool // a call never falls back to another server, even if its caller allows it
}

func (d Deps) validate() error {
	parts := map[string]bool{
		"Auth": d.Auth == nil, "Jobs": d.Jobs == nil, "Reader": d.Reader == nil, "Queue": d.Queue == nil, "Sources": d.Sources == nil,
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
