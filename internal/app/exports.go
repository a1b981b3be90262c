package app

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/sweep"
)

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
	}, in.downloads(), worker.ExportOptions{TaskQueue: in.cfg.TaskQueue, StopAfter: in.cfg.StopAfter, Deployment: in.deployment()})
	sweeper := sweep.NewExportReviver(in.client, records, in.log)
	fetches := sweep.NewDownloadReviver(in.client, in.downloadRecords(), in.log)
	group.Go(func() error { return sweeper.Run(ctx) })
	group.Go(func() error { return fetches.Run(ctx) })
	group.Go(func() error { return packer.Run(ctx) })
}

// downloads returns the service that fetches addresses for accounts, through the guard that refuses internal addresses.
func (in *Instance) downloads() *upkeep.Downloads {
	return &upkeep.Downloads{
		Records: in.downloadRecords(), Assets: in.assetService(nil), Find: assets.NewReader(in.pool, in.types, nil).ByPublicID,
		// large files need a long time
		Fetch: outbound.New(outbound.Options{}).Sources(outbound.Bounds{Bytes: in.cfg.MaxUpload, Total: time.Hour}),
		Fits:  in.storage.Fits, Bus: in.bus, Log: in.log,
	}
}

// assetService accepts commands on assets. Its uploads pass the gate; nil = nothing gives way to them.
func (in *Instance) assetService(uploads *load.Gate) *asset.Service {
	return asset.NewService(in.assets, in.blobs, asset.Options{Uploads: uploads, Retention: in.cfg.AssetRetention})
}
