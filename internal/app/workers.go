package app

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/comfyui/machines"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/scan"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// startWorker runs the Temporal worker and the readers of the log that it needs.
func (in *Instance) startWorker(ctx context.Context, group *errgroup.Group) {
	stops := activities.NewStops()
	sweeper := sweep.JobSweeper{
		Client: in.client, Slots: in.jobs, Queues: in.jobs, Ender: in.jobs, Tiers: in.tiers, Log: in.log, Late: &in.late,
	}
	group.Go(func() error { return sweeper.Run(ctx) })
	group.Go(func() error { return in.follow(ctx, stops.Observe) })
	group.Go(func() error {
		return in.follow(ctx, func(events []eventlog.Recorded) {
			if err := sweeper.Open(ctx, sweep.OpenedQueues(events)); err != nil && ctx.Err() == nil {
				in.log.Warn("admission after a queue was opened failed; the next sweep will retry", "error", err)
			}
		})
	})
	group.Go(func() error {
		if err := awaitTemporal(ctx, in.client, in.cfg.TemporalNamespace, in.log); err != nil {
			return ignoreStop(err)
		}
		group.Go(func() error { in.takeOver(ctx); return nil })
		group.Go(func() error { in.namespace().PrepareLogged(ctx, in.log); return nil })
		rules, err := in.rules()
		if err != nil {
			return err
		}
		group.Go(func() error { livestore.NewWorkers(in.pool).Run(ctx, in.worker, rules, in.log); return nil })
		assets, err := in.assetWorker()
		if err != nil {
			return err
		}
		uploads := sweep.NewIngestReviver(in.client, in.assets, in.log)
		group.Go(func() error { return uploads.Run(ctx) })
		group.Go(func() error { return assets.Run(ctx) })
		in.startExports(ctx, group)
		in.startModels(ctx, group)
		in.startPools(ctx, group)
		runs := in.graphActivities(stops)
		in.startCache(ctx, group, runs)
		brief := in.workerOptions()
		brief.StopAfter = min(brief.StopAfter, segmentStop)
		onServers := worker.NewSegments(in.client, runs, brief)
		group.Go(func() error { return onServers.Run(ctx) })
		return worker.New(in.client, runs, in.workerOptions()).Run(ctx)
	})
}

// workerOptions returns the options of every Temporal worker.
func (in *Instance) workerOptions() worker.Options {
	return worker.Options{
		TaskQueue: in.cfg.TaskQueue, StopAfter: in.cfg.StopAfter, NoCache: in.cfg.NoWorkflowCache, Deployment: in.deployment(),
	}
}

// assetWorker ingests uploads and removes what has expired.
func (in *Instance) assetWorker() (*worker.AssetWorker, error) {
	records := in.assets
	var scanner upkeep.Scanner = scan.Content{Blobs: in.blobs}
	if in.cfg.ScanCommand != "" {
		var err error
		if scanner, err = scan.NewCommand(scanner, in.cfg.ScanCommand, in.cfg.ScanTimeout); err != nil {
			return nil, err
		}
	}
	ingest := &upkeep.Ingest{Records: records, Blobs: in.blobs, Scanner: scanner, Quick: in.cfg.ScanCommand == "", Log: in.log}
	retention := &upkeep.Retention{
		Assets: records, Jobs: in.jobs, Archives: in.blobs, Log: in.log,
		Policy: upkeep.JobPolicy{
			Retention: in.cfg.JobRetention, Erase: in.cfg.EraseJobs, Archives: in.cfg.ArchiveRetention, Views: views.Names(),
		},
		Collectors: []asset.Collector{
			{Blobs: in.blobs, References: asset.AnyOf{records, in.calls}},
			{Blobs: in.values, References: asset.Unreferenced{}, Grace: config.ValueGrace},
		},
	}
	return worker.NewAssets(in.client, ingest, retention, in.workerOptions()), nil
}

// follow passes events to see as soon as they are in the log, beginning with the first one after Open.
func (in *Instance) follow(ctx context.Context, see func([]eventlog.Recorded)) error {
	err := eventlog.Follow(ctx, in.tail, in.tail.Start(), see)
	if ctx.Err() != nil || errors.Is(err, eventlog.ErrTailClosed) {
		return nil //nolint:nilerr // the process is stopping
	}
	return err
}

// Tiers returns the rights of accounts, according to the configuration.
type Tiers struct {
	cfg      config.Config
	settings settings
	Accounts func(ctx context.Context, id string) (account.Account, error) // nil: only the local account
	// Payers returns an account, and whether it can pay for a call; nil: only the local account, which can.
	Payers func(ctx context.Context, id string) (account.Account, bool, error)
}

// NewTiers returns the rights of the local account, to which the caller adds Accounts and Payers.
func NewTiers(cfg config.Config) (Tiers, error) {
	s, err := parse(cfg)
	return Tiers{cfg: cfg, settings: s}, err
}

// CheckLabels implements job.Labels.
func (t Tiers) CheckLabels(ctx context.Context, id string, labels []string) error {
	if t.Accounts == nil {
		return nil
	}
	a, err := t.Accounts(ctx, id)
	if err != nil {
		return err
	}
	return a.Labels.Check(labels)
}

// Bounds implements job.Tiers.
func (t Tiers) Bounds(ctx context.Context, id string) (job.Bounds, error) {
	if _, hidden := account.ShadowOf(id); hidden {
		return job.Bounds{Slots: 1, QueueDepth: t.cfg.QueueDepth}, nil
	}
	tier := account.TierLocal
	if id != account.LocalID && t.Accounts != nil {
		a, err := t.Accounts(ctx, id)
		if err != nil {
			return job.Bounds{}, err
		}
		tier = a.Tier
	}
	return job.Bounds{Slots: t.settings.slots.Of(tier, t.cfg.Slots), QueueDepth: t.cfg.QueueDepth}, nil
}

// rules returns the settings of this process that commands on other machines need.
func (in *Instance) rules() (livestore.Rules, error) {
	absent, err := standard.Absent(in.ffmpeg)
	rules := livestore.Rules{WebhookAllow: in.cfg.Webhooks.Allow, Absent: absent, Machines: in.own.Machines()}
	if in.has(API) {
		rules.Address = cmp.Or(in.cfg.PublicURL, "http://"+in.cfg.Addr)
	}
	return rules, err
}

// privateMark is the suffix of the names of workers that use the private servers of a data directory. One process at
// a time has the lock of the directory, so all other workers with such names have ended.
func privateMark(dir string) string {
	if dir == "" {
		return ""
	}
	return "@" + dir
}

// takeOver lets work of earlier processes on the private servers continue before their heartbeats expire.
func (in *Instance) takeOver(ctx context.Context) {
	mark := privateMark(in.cfg.PrivateServers)
	if mark == "" {
		return
	}
	if err := in.calls.ForgetWorkers(ctx, mark, in.worker); err != nil && ctx.Err() == nil {
		in.log.Warn("model calls of the previous process wait until its heartbeat expires", "error", err)
	}
	releaser := sweep.ActivityReleaser{
		Client: in.client, Namespace: in.cfg.TemporalNamespace, Identity: in.worker,
		Ended: func(identity string) bool { return strings.HasSuffix(identity, mark) && identity != in.worker },
	}
	released, err := releaser.Release(ctx)
	if err != nil && ctx.Err() == nil {
		in.log.Warn("activities of the previous process wait for their heartbeat timeout", "error", err)
	}
	if released > 0 {
		in.log.Info("activities of the previous process restarted", "count", released)
	}
}

// nodeCache returns the cache of results of nodes, or nil if it is switched off.
func (in *Instance) nodeCache() *nodecache.Cache {
	if in.cfg.NodeCache == 0 {
		return nil
	}
	return &nodecache.Cache{
		Store: jobstore.NewNodeCache(in.pool), Bytes: in.cfg.NodeCache, Age: in.cfg.CacheAge, From: in.cfg.CacheFrom, Brief: nodecache.NewBrief(),
	}
}

// startCache keeps the node cache of graph runs within its bounds.
func (in *Instance) startCache(ctx context.Context, group *errgroup.Group, runs *activities.Graph) {
	if runs.Cache != nil {
		group.Go(func() error { return runs.Cache.Run(ctx, runs.Values.ForgetCached, in.log) })
	}
}

// chooser returns the service that finds the files of an export, for the API and the worker.
func (in *Instance) chooser() export.Chooser {
	return export.Chooser{
		Jobs: jobs.NewReader(in.pool, in.types, nil), Files: in.files, Shelf: assets.NewReader(in.pool, in.types, nil),
		Limits: export.Limits{Files: in.cfg.Exports.Files, Bytes: in.cfg.Exports.Bytes},
	}
}

func (in *Instance) exports() *assetstore.Exports {
	return assetstore.NewExports(in.pool, in.events, in.storage)
}

// exportService accepts exports.
func (in *Instance) exportService() export.Service {
	return export.Service{Store: in.exports(), Chooser: in.chooser(), Storage: in.storage}
}

// downloadRecords returns the transactions of downloads.
func (in *Instance) downloadRecords() *assetstore.Downloads {
	return assetstore.NewDownloads(in.pool, in.events, in.sealers)
}

// startExports runs accepted exports and downloads, and revives those that lost their workflow.
func (in *Instance) startExports(ctx context.Context, group *errgroup.Group) {
	records := in.exports()
	packer := worker.NewExports(in.client, &upkeep.Exports{
		Records: records, Chooser: in.chooser(), Blobs: in.blobs, Bus: in.bus, Retention: in.cfg.Exports.Retention, Log: in.log,
	}, in.downloads(), in.workerOptions())
	sweeper := sweep.NewTaskReviver(in.client, task.Export, records, in.log)
	fetches := sweep.NewTaskReviver(in.client, task.Download, in.downloadRecords(), in.log)
	group.Go(func() error { return sweeper.Run(ctx) })
	group.Go(func() error { return fetches.Run(ctx) })
	group.Go(func() error { return packer.Run(ctx) })
}

// startPools runs the pools of machines.
func (in *Instance) startPools(ctx context.Context, group *errgroup.Group) {
	pools := in.OperatedPools()
	keeper := &machines.Keeper{
		Pools: pools.Store, Servers: pools.Servers, Placement: in.servers, Log: in.log, Allow: in.cfg.Webhooks.Allow,
		Allowed: in.cfg.Servers.PoolCommands || in.cfg.PrivateServers != "", Wire: outbound.New(outbound.Options{}),
	}
	group.Go(func() error { return sweep.NewPoolReviver(in.client, pools.Store, in.log).Run(ctx) })
	group.Go(func() error {
		return worker.NewPools(in.client, &upkeep.Machines{Keeper: keeper}, in.workerOptions()).Run(ctx)
	})
}

// downloads returns the service that fetches addresses for accounts, through the guard that refuses internal addresses.
func (in *Instance) downloads() *upkeep.Downloads {
	client := outbound.New(outbound.Options{})
	return &upkeep.Downloads{
		Records: in.downloadRecords(), Assets: in.assetService(nil), Find: assets.NewReader(in.pool, in.types, nil).ByPublicID,
		Fetch:       client.Sources(outbound.Bounds{Bytes: in.cfg.MaxUpload, Total: time.Hour}), // large files need a long time
		FetchWeight: client.Sources(outbound.Bounds{Bytes: upkeep.MaxWeight, Total: time.Hour}, in.settings.weights.Hosts()...),
		Fits:        in.fits, Bus: in.bus, Log: in.log,
	}
}

// assetService accepts commands on assets. Its uploads pass the gate; nil = nothing gives way to them.
func (in *Instance) assetService(uploads *load.Gate) *asset.Service {
	return asset.NewService(in.assets, in.blobs, asset.Options{Uploads: uploads, Retention: in.cfg.AssetRetention})
}
