package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/about"
	apiconsole "github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/edge"
	apijobs "github.com/millrace-dev/millrace/api/jobs"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/fanout"
	hiddenview "github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/stats"
	"github.com/millrace-dev/millrace/projections/usage"
)

// handler builds the API and starts the readers of the log that it needs.
func (in *Instance) handler(ctx context.Context, group *errgroup.Group) (http.Handler, error) {
	auth, err := in.authenticator()
	if err != nil {
		return nil, err
	}
	signer, err := in.signer()
	if err != nil {
		return nil, err
	}
	sealer, err := in.key.Sealer()
	if err != nil {
		return nil, err
	}
	service, err := in.JobService()
	if err != nil {
		return nil, err
	}
	router, err := in.modelRouter()
	if err != nil {
		return nil, err
	}
	endpoints, err := in.webhookService()
	if err != nil {
		return nil, err
	}
	media, err := blob.Origins(ctx, in.blobs)
	if err != nil {
		return nil, err
	}
	page, err := in.editor(sealer, media)
	if err != nil {
		return nil, err
	}
	operated, err := in.operatedPages()
	if err != nil {
		return nil, err
	}
	reader := jobs.NewReader(in.pool, in.types, in.tail)
	live := fanout.New(reader, in.events, in.types, in.hub, in.log)
	live.RuntimeNames = in.cfg.RuntimeNames
	group.Go(func() error { return live.Run(ctx, in.tail, in.bus) })
	ends := apijobs.NewEnds()
	group.Go(func() error {
		defer ends.Stop()
		return in.follow(ctx, ends.Observe)
	})
	return api.New(api.Deps{
		Auth: auth, Jobs: service, Reader: reader, Queue: in.jobs, Sources: in.sources(), Links: signer, Grants: signer,
		Live: live, Files: in.files, Classes: in.classes, NodeFiles: in.files, Steps: livestore.NewProgress(in.pool),
		Assets:    in.assetService(),
		AssetView: assets.NewReader(in.pool, in.types, nil), Keys: jobstore.NewKeys(in.pool), Internet: outbound.New(outbound.Options{}),
		Exports: in.exportService(), Downloads: download.Service{Store: in.downloadRecords(), Notify: in.relay.Notify},
		Logs: &job.Logs{Events: in.events, Registry: in.types}, Ends: ends,
		History: jobs.History{Service: hidden.Service{Events: in.events, Jobs: reader}, Marks: hiddenview.NewReader(in.pool, in.types), Jobs: reader},
		Storage: in.storage,
		Waits:   serverstore.New(in.pool, in.events), Servers: in.catalogue(ctx, group), Devices: in.devices,
		Userdata:  userdata.Service{Store: accountstore.NewUserdata(in.pool).Within(in.storage), Blobs: in.blobs},
		Console:   &api.Console{Histories: apiconsole.LogHistories{Events: in.events, Types: in.types}, Sealer: sealer, Retry: job.Retrier{Service: service, Sources: in.sources()}, Servers: serverstore.New(in.pool, in.events), Operator: in.operates(), Index: jobindex.NewReader(in.pool), Stats: stats.NewReader(in.pool), Now: reader, Calls: models.History{Record: in.calls, Listing: calls.NewReader(in.pool), Bodies: in.blobs}, Usage: usage.NewReader(in.pool), Operators: operated, Media: media},
		Editor:    page,
		Router:    router,
		Webhooks:  &webhooks.Deps{Endpoints: endpoints, Deliveries: webhookstore.New(in.pool, in.events)},
		Readiness: readiness{in}, Space: readiness{in}, Logger: in.log,
	}, api.Options{
		Mode: in.cfg.Auth, PublicURL: in.cfg.PublicURL, TrustedProxies: in.cfg.Proxies, AllowedHosts: in.allowedHosts(), AllowedOrigins: in.cfg.Origins,
		MaxPrompt: in.cfg.MaxBody, MaxUpload: in.cfg.MaxUpload, MaxModelBody: in.cfg.Router.MaxBody, ModelBodies: in.cfg.Router.Bodies, Version: version.Version,
		JobRetention: in.cfg.JobRetention, UploadIdle: in.cfg.UploadIdle, MaxSockets: in.cfg.MaxSockets, MaxStreams: in.cfg.MaxStreams,
		RawStatus: in.cfg.RawStatus, RouteByClient: in.cfg.RouteByClient, RuntimeNames: in.cfg.RuntimeNames,
	})
}

// operates returns the console's check of the operators' credential; nil if the admin API has an address of its own.
func (in *Instance) operates() func(secret string) bool {
	if in.cfg.AdminToken == "" || in.cfg.AdminAddr != "" {
		return nil
	}
	want := sha256.Sum256([]byte(in.cfg.AdminToken))
	return func(secret string) bool {
		sum := sha256.Sum256([]byte(secret))
		return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
	}
}

// price returns the price of runs of metered accounts.
func (in *Instance) price() job.Price {
	p := in.cfg.Prices
	p.Reserve = cmp.Or(p.Reserve, 60*p.NodeSecond)
	return job.Price{Run: p.Run, NodeSecond: p.NodeSecond, Reserve: p.Reserve}
}

// allowedHosts returns the names, besides loopback ones, to which mode none answers. If the operator has allowed
// other addresses, it answers to any name.
func (in *Instance) allowedHosts() []string {
	if in.cfg.AllowWide {
		return []string{"*"}
	}
	return nil
}

func (in *Instance) authenticator() (edge.Authenticator, error) {
	switch in.cfg.Auth {
	case account.ModeToken:
		return account.NewStatic(in.cfg.Token)
	case account.ModeKeys:
		return in.keysOrTokens()
	case account.ModeNone:
	}
	return account.Anyone{}, nil
}

// signer makes links to content. Its key is derived from the secret key, so that all replicas accept each other's links.
func (in *Instance) signer() (*signedurl.Signer, error) {
	keys, err := in.linkKeys()
	if err != nil {
		return nil, err
	}
	return signedurl.New(keys, signedurl.Options{})
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

// CheckSpace implements edge.Space. Accepted work needs space for its outputs and, if the database is on the same
// disk, for its events, so new work is refused when the disk is nearly full.
func (r readiness) CheckSpace() error {
	err := freeSpace(r.in.cfg.DataDir, r.in.cfg.DiskReserve)
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

// freeSpace fails if fewer than reserve bytes are free on the disk of dir.
func freeSpace(dir string, reserve int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(dir), &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < reserve { //nolint:unconvert // far from the bounds; other platforms have other types
		return fmt.Errorf("%d bytes are free in %s, less than the reserve of %d bytes", free, dir, reserve)
	}
	return nil
}

// JobService accepts commands on jobs.
func (in *Instance) JobService() (*job.Service, error) {
	sealer, err := in.key.Sealer()
	if err != nil {
		return nil, err
	}
	credentials, err := in.credentials()
	if err != nil {
		return nil, err
	}
	return job.NewService(job.Deps{
		Store: in.jobs, Validator: &graph.Validator{Classes: in.classes}, Limits: in.limits(), Files: in.files,
		Assets: in.files, Segments: in.servers, Labels: in.tiers, Blobs: in.blobs, Tiers: in.tiers, Sealer: sealer, Credentials: credentials, ForServers: len(in.cfg.Servers.ComfyOrg) > 0, Notify: in.starts.Notify,
		UnderWay: in.submitting, Graphs: in.graphs, Price: in.price(), Log: in.log,
	}), nil
}
