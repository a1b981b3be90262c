package app

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/about"
	apiassets "github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/console/own"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/editor"
	"github.com/millrace-dev/millrace/api/jobio"
	apijobs "github.com/millrace-dev/millrace/api/jobs"
	apilive "github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/mcp"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/api/openai"
	"github.com/millrace-dev/millrace/api/packs"
	"github.com/millrace-dev/millrace/api/router"
	apiwebhooks "github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/comfyui/packroutes"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/job/credentials"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	modelrouter "github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/deploymentstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
	webeditor "github.com/millrace-dev/millrace/internal/web/editor"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/fanout"
	hiddenview "github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/serverusage"
	"github.com/millrace-dev/millrace/projections/stats"
	"github.com/millrace-dev/millrace/projections/usage"
)

// handler builds the API and starts the readers of the log that it needs.
func (in *Instance) handler(ctx context.Context, group *errgroup.Group) (http.Handler, error) {
	s, err := in.newSurfaces(ctx)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return s.live.Run(ctx, in.tail, in.bus) })
	group.Go(func() error {
		defer s.ends.Stop()
		return in.follow(ctx, s.ends.Observe)
	})
	group.Go(func() error { return s.offered.Run(ctx) })
	group.Go(func() error { return s.deployments.WatchDrift(ctx, in.log) })
	return api.New(s.edge, s.all()...)
}

// operates returns the console's check of the operators' credential; nil if the admin API has an address of its own.
func (in *Instance) operates() func(secret string) bool {
	operator, err := account.NewStatic(in.cfg.AdminToken)
	if err != nil || in.cfg.AdminAddr != "" {
		return nil
	}
	return func(secret string) bool {
		_, err := operator.Authenticate(context.Background(), secret)
		return err == nil
	}
}

// readiness reports whether a submission would now be accepted and stored.
type readiness struct{ in *Instance }

const (
	checkTimeout = 2 * time.Second
	// spaceRetry is the Retry-After when disk space is missing: an operator, or the sweep, must free space first.
	spaceRetry = time.Minute
)

// Check implements about.Readiness.
func (r readiness) Check(ctx context.Context) []about.Part {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return []about.Part{
		part("postgresql", true, r.writable(ctx)),
		part("log", true, r.following()),
		part("disk", true, r.CheckSpace()),
		part("temporal", false, r.temporal(ctx)),
		r.workers(ctx),
	}
}

func part(name string, required bool, err error) about.Part {
	p := about.Part{Name: name, OK: err == nil, Required: required, Detail: "ok"}
	if err != nil {
		p.Detail = "not available"
	}
	return p
}

// writable fails if the database does not answer or refuses writes, because it is a standby or was made read-only.
func (r readiness) writable(ctx context.Context) error {
	readOnly, err := operatestore.New(r.in.pool).ReadOnly(ctx)
	if err == nil && readOnly {
		err = errors.New("the database is read-only")
	}
	return err
}

// following fails until this process has read the log to its end: until then, nobody who waits in it learns of an end.
func (r readiness) following() error {
	if _, ok := r.in.tail.End(); !ok {
		return errors.New("the end of the event log is not known yet")
	}
	return nil
}

// CheckSpace implements edge.Space. Accepted work needs space for its outputs and, if the database is on the same
// disk, for its events, so new work is refused when the disk is nearly full.
func (r readiness) CheckSpace() error { return r.space(0) }

// space refuses so many bytes for which the disk has no space.
func (r readiness) space(bytes int64) error {
	err := disk.CheckSpace(r.in.cfg.DataDir, r.in.cfg.DiskReserve+bytes)
	if err == nil {
		return nil
	}
	return fault.Wrap(err, fault.Unavailable, "", "there is no space left to store this").WithRetryAfter(spaceRetry)
}

func (r readiness) temporal(ctx context.Context) error {
	_, err := r.in.client.CheckHealth(ctx, nil)
	return err
}

// workers checks that a worker process runs.
func (r readiness) workers(ctx context.Context) about.Part {
	force, err := livestore.NewWorkers(r.in.pool).Workforce(ctx)
	p := part("workers", false, err)
	if err == nil && force.Workers == 0 {
		p.OK, p.Detail = false, force.String()
	}
	return p
}

// awaitReady waits, in a process that runs workers too, until one has announced itself and the process has read the log to its end;
// false if ctx ends before that.
func (in *Instance) awaitReady(ctx context.Context) bool {
	for r := (readiness{in}); in.has(Worker) && (r.following() != nil || !r.workers(ctx).OK); {
		if pause.For(ctx, readyPoll) != nil {
			return false
		}
	}
	return ctx.Err() == nil
}

// readyPoll is the interval between two checks whether a starting process is ready.
const readyPoll = 20 * time.Millisecond

// JobService accepts commands on jobs.
func (in *Instance) JobService() *job.Service {
	prices := in.cfg.Prices
	deps := job.Deps{
		Store: in.jobs, Validator: &graph.Validator{Classes: in.classes}, Limits: in.limits(), Files: in.files, Assets: in.files,
		Segments: in.servers, Labels: in.tiers, Blobs: in.blobs, Tiers: in.tiers, Sealer: in.sealer, Fetchable: in.settings.weights.Models,
		ForServers: len(in.settings.comfyOrg) > 0, Notify: in.starts.Notify, Graphs: in.graphs, Log: in.log,
		Price: job.Price{Run: prices.Run, NodeSecond: prices.NodeSecond, Reserve: cmp.Or(prices.Reserve, 60*prices.NodeSecond)},
	}
	if in.settings.mode == account.ModeKeys {
		deps.Credentials = credentials.Submitted{Keys: in.auth}
	}
	service := job.NewService(deps)
	service.Deployments = in.Deployments(service)
	return service
}

// Deployments accepts commands on deployments, and calls, which it submits to jobs.
func (in *Instance) Deployments(jobs deployment.Submitter) *deployment.Service {
	return deployment.NewService(deployment.Deps{
		Store: deploymentstore.New(in.pool, in.events), Blobs: in.blobs, Validator: &graph.Validator{Classes: in.classes}, Limits: in.limits(),
		Files: in.files, Jobs: jobs, Keys: keystore.New(in.pool), Assets: in.assetService(in.uploads), Space: in.fits,
		Fetch: outbound.New(outbound.Options{}).Sources(outbound.Bounds{Bytes: in.cfg.MaxUpload}),
	})
}

// fits refuses a file of an account for which there is no space.
func (in *Instance) fits(ctx context.Context, account string, bytes int64) error {
	return cmp.Or(readiness{in}.space(bytes), in.storage.Fits(ctx, account, bytes))
}

// surfaces holds what several surfaces of the API share. Each surface has a method that builds it.
type surfaces struct {
	in          *Instance
	edge        *edge.Edge
	service     *job.Service
	submit      jobio.Commands // service, with a bounded number of submissions
	reader      *jobs.Reader
	live        *fanout.Fanout
	ends        *apijobs.Ends
	offers      *modelrouter.Offers
	cursors     *catalog.Cursors
	steps       *livestore.Progress
	servers     *serverstore.Store
	offered     *catalogue.Catalogue // by ComfyUI servers, besides their classes
	deployments *deployment.Service
	called      *called.Service
	media       []string       // origins of pictures and films beside the service's own
	files       *webeditor.Dir // of a web editor, or nil
}

// newSurfaces makes the shared parts. It starts nothing.
func (in *Instance) newSurfaces(ctx context.Context) (*surfaces, error) {
	s := &surfaces{
		in: in, reader: jobs.NewReader(in.pool, in.types, in.tail), ends: apijobs.NewEnds(), offers: in.offers(),
		steps: livestore.NewProgress(in.pool), servers: serverstore.New(in.pool, in.events), offered: in.catalogue(),
	}
	s.live = fanout.New(s.reader, in.events, in.types, in.hub, in.log)
	s.live.RuntimeNames = in.cfg.RuntimeNames
	key, err := in.key.Derive("model cursors")
	if err != nil {
		return nil, err
	}
	s.cursors = catalog.NewCursors(key, time.Now)
	s.service = in.JobService()
	s.submit = api.Bounded(s.service, in.submissions)
	return s, s.openEdge(ctx)
}

// openEdge makes what all surfaces share. Cookies are credentials if there is a web editor.
func (s *surfaces) openEdge(ctx context.Context) (err error) {
	s.deployments = s.in.Deployments(s.submit)
	s.service.Deployments = s.deployments
	s.called = called.New(called.Deps{
		Deployments: s.deployments, Jobs: s.submit, Reader: s.reader, Sources: s.in.sources(), Queue: s.in.jobs, Ends: s.ends,
		Keys: keystore.New(s.in.pool), Links: s.in.signer, Logger: s.in.log, MaxWaits: s.in.cfg.MaxSockets,
	})
	deps := edge.Deps{
		Auth: s.in.auth, KeysOfV2: s.in.keys, Space: readiness{s.in}, Storage: s.in.storage, Logger: s.in.log, Deployments: s.deployments,
		People: s.in.people,
	}
	if s.media, err = blob.Origins(ctx, s.in.blobs); err != nil {
		return err
	}
	if s.files, err = openEditor(s.in.cfg, s.media...); err != nil {
		return err
	}
	if s.files != nil {
		deps.Cookies = s.in.sealer
	}
	s.edge, err = edge.New(deps, edge.Options{
		Mode: s.in.settings.mode, PublicURL: s.in.cfg.PublicURL, AnyHost: s.in.cfg.AllowWide, AllowedOrigins: s.in.cfg.Origins,
		TrustedProxies: s.in.cfg.Proxies,
	})
	return err
}

// all returns every surface. The router answers its unknown paths before an editor does.
func (s *surfaces) all() []api.Surface {
	onCloud, pictures := s.onCloud(), s.pictures()
	all := []api.Surface{
		onCloud, s.onV2(), s.streams(onCloud), pictures, s.assets(), s.router(), s.editorAPI(), s.console(pictures),
		s.openAI(), s.mcp(),
		apiwebhooks.New(apiwebhooks.Deps{Endpoints: s.in.webhookService(), Deliveries: webhookstore.New(s.in.pool, s.in.events)}),
		about.New(s.edge, readiness{s.in}), packs.New(s.edge, packroutes.New(packroutes.Options{
			Rules: s.in.settings.packRoutes, Pool: s.in.servers, Jobs: s.reader, Usage: serverusage.NewReader(s.in.pool),
		})),
	}
	if s.files != nil {
		return append(all, console.NewEditor(s.edge, s.files))
	}
	return append(all, about.NewRoot(s.edge, page.Base))
}

// onCloud builds the jobs of the cloud contract.
func (s *surfaces) onCloud() *cloud.Surface {
	return cloud.New(cloud.Deps{
		Edge: s.edge, Jobs: s.submit, Reader: s.reader, Queue: s.in.jobs, Sources: s.in.sources(), Waits: s.servers,
		Devices: s.in.servers.Devices,
		History: jobs.History{
			Service: hidden.Service{Events: s.in.events, Jobs: s.reader}, Marks: hiddenview.NewReader(s.in.pool, s.in.types), Jobs: s.reader,
		},
	}, cloud.Options{
		MaxPrompt: s.in.cfg.MaxBody, MaxUpload: s.in.cfg.MaxUpload, Assets: true,
		RuntimeNames: s.in.cfg.RuntimeNames, RawStatus: s.in.cfg.RawStatus, Version: version.Version,
	})
}

// onV2 builds the jobs of the v2 contract.
func (s *surfaces) onV2() *apijobs.Surface {
	return apijobs.New(apijobs.Deps{
		Edge: s.edge, Jobs: s.submit, Reader: s.reader, Queue: s.in.jobs, Sources: s.in.sources(), Steps: s.steps, Links: s.in.signer,
		Keys: keystore.New(s.in.pool), Names: s.in.files, Waits: s.servers, Ends: s.ends, Calls: s.deployments,
		Logs: &job.Logs{Events: s.in.events, Registry: s.in.types},
	}, apijobs.Options{MaxPrompt: s.in.cfg.MaxBody, JobRetention: s.in.cfg.JobRetention, MaxWaits: s.in.cfg.MaxStreams})
}

// openAI builds the images API of OpenAI over deployments.
func (s *surfaces) openAI() *openai.Surface {
	return openai.New(openai.Deps{Edge: s.edge, Called: s.called, Blobs: s.in.blobs}, openai.Options{MaxBody: s.in.cfg.MaxBody})
}

// mcp builds the tools of deployments.
func (s *surfaces) mcp() *mcp.Surface {
	return mcp.New(mcp.Deps{Edge: s.edge, Called: s.called, Steps: s.steps, Blobs: s.in.blobs}, mcp.Options{
		MaxBody: s.in.cfg.MaxBody, Version: version.Version,
	})
}

// streams builds WebSockets and server-sent events.
func (s *surfaces) streams(c *cloud.Surface) *apilive.Surface {
	return apilive.New(apilive.Deps{
		Edge: s.edge, Source: s.live, Reader: s.reader, Queue: s.in.jobs, Steps: s.steps, Links: s.in.signer, Features: c.Features,
	}, apilive.Options{MaxSockets: s.in.cfg.MaxSockets, MaxStreams: s.in.cfg.MaxStreams, RouteByClient: s.in.cfg.RouteByClient})
}

// pictures builds the files of the cloud contract.
func (s *surfaces) pictures() *media.Surface {
	return media.New(media.Deps{Edge: s.edge, Files: s.in.files, Grants: s.in.signer, Links: s.in.signer},
		media.Options{UploadIdle: s.in.cfg.UploadIdle})
}

// assets builds the assets of the v2 contract and the library of editors.
func (s *surfaces) assets() *apiassets.Surface {
	service := s.in.assetService(s.in.uploads)
	return apiassets.New(apiassets.Deps{
		Edge: s.edge, Files: s.in.files, Assets: service, View: assets.NewReader(s.in.pool, s.in.types, nil),
		Keys: keystore.New(s.in.pool), Links: s.in.signer, Internet: outbound.New(outbound.Options{}), Exports: s.in.exportService(),
		Downloads: s.in.downloadRecords(),
		Resumable: &asset.Resumable{Uploads: assetstore.Uploads{Store: s.in.assets}, Service: service, Blobs: s.in.blobs},
	}, apiassets.Options{
		MaxUpload: s.in.cfg.MaxUpload, MaxResumable: upkeep.MaxWeight, UploadIdle: s.in.cfg.UploadIdle, Editor: s.files != nil,
	})
}

// router builds the model router.
func (s *surfaces) router() *router.Surface {
	r := s.in.cfg.Router
	return router.New(
		router.Deps{Edge: s.edge, Models: s.offers, Calls: s.in.service, Tokens: s.in.tokens, Cursors: s.cursors, Called: s.called},
		router.Options{
			Off: r.Disabled, NoFallback: !r.Fallback, UploadIdle: s.in.cfg.UploadIdle,
			MaxModelBody: r.MaxBody, ModelBodies: cmp.Or(r.Bodies, 8*r.MaxBody), Deadline: r.Deadline, JobPrice: s.service.Price,
		})
}

// editorAPI builds what a graph editor reads besides jobs and files.
func (s *surfaces) editorAPI() *editor.Surface {
	return editor.New(editor.Deps{
		Edge: s.edge, Classes: s.in.classes, NodeFiles: s.in.files, Servers: s.offered, Own: s.deployments.Classes,
		Userdata: userdata.Service{Store: accountstore.NewUserdata(s.in.pool, s.in.events).Within(s.in.storage), Blobs: s.in.blobs},
	})
}

// console builds the pages for people.
func (s *surfaces) console(pictures *media.Surface) *console.Surface {
	operated := s.in.operated()
	files, shelf := s.in.files, assets.NewReader(s.in.pool, s.in.types, nil)
	return console.New(console.Deps{
		Edge: s.edge, Sealer: s.in.sealer, Operator: s.in.operates(), Live: s.live, Media: s.media,
		Jobs: s.submit, Reader: s.reader, Sources: s.in.sources(), Links: s.in.signer, Waits: s.servers, Servers: s.servers,
		Histories: console.LogHistories{Events: s.in.events, Types: s.in.types},
		Retry:     &job.Retrier{Service: s.service, Sources: s.in.sources()},
		Index:     jobindex.NewReader(s.in.pool), Stats: stats.NewReader(s.in.pool), Now: s.reader,
		Files: files, Classes: s.in.classes, Pictures: pictures,
		Models: models.Deps{
			Models: s.offers, Calls: s.in.service, Off: s.in.cfg.Router.Disabled, NoFallback: !s.in.cfg.Router.Fallback,
			History: models.History{Record: s.in.calls, Listing: calls.NewReader(s.in.pool), Bodies: s.in.blobs},
		},
		Directory: records.Index{Pool: s.in.pool},
		Own: own.Deps{
			Assets: shelf, Deleter: s.in.assetService(s.in.uploads), Files: files,
			Endpoints: s.in.webhookService(), Deliveries: webhookstore.New(s.in.pool, s.in.events),
			Accounts: &operated.Accounts, Usage: usage.NewReader(s.in.pool), Servers: serverusage.NewReader(s.in.pool),
		},
		Operators: &operated, Deployed: s.deployments, Shadows: s.in.OperatedDeployments(),
	})
}
