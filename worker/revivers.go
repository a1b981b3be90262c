package worker

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// IngestRecords knows the assets whose ingestion is not done.
type IngestRecords interface {
	// Uningested returns assets, in order of their ids from behind after, that have waited for at least age.
	Uningested(ctx context.Context, after asset.ID, age time.Duration, limit int) ([]asset.IngestRef, error)
	// Reingest records a new ingestion of an asset together with its start intent.
	Reingest(ctx context.Context, ref asset.IngestRef, actor, reason string) ([]outbox.Intent, error)
}

// NewIngestReviver returns a Reviver of accepted uploads without an ingestion workflow. The events of an ingestion
// have the same ids each time, so that a second ingestion changes nothing.
func NewIngestReviver(c client.Client, records IngestRecords, notify func([]outbox.Intent), log *slog.Logger) *Reviver[asset.IngestRef, asset.ID] {
	return &Reviver[asset.IngestRef, asset.ID]{
		Client: c, What: "ingestions", Every: time.Minute, Age: 2 * time.Minute, Notify: notify, Log: log,
		List: records.Uningested,
		Name: func(ref asset.IngestRef) (asset.ID, string) { return ref.Asset, ref.Asset.WorkflowID() },
		Revive: func(ctx context.Context, ref asset.IngestRef, _ WorkflowState) ([]outbox.Intent, error) {
			return records.Reingest(ctx, ref, "sweeper", "nothing was looking into it")
		},
	}
}

// DownloadRecords lists and restarts unfinished downloads.
type DownloadRecords interface {
	// Unfinished returns downloads, in order of their ids from behind after, that have waited for at least age.
	Unfinished(ctx context.Context, after download.ID, age time.Duration, limit int) ([]download.Ref, error)
	// Restart records a restart of a download together with its start intent.
	Restart(ctx context.Context, ref download.Ref, actor, reason string) ([]outbox.Intent, error)
}

// NewDownloadReviver returns a Reviver of accepted downloads without a workflow.
func NewDownloadReviver(c client.Client, records DownloadRecords, notify func([]outbox.Intent), log *slog.Logger) *Reviver[download.Ref, download.ID] {
	return &Reviver[download.Ref, download.ID]{
		Client: c, What: "downloads", Every: 30 * time.Second, Age: 30 * time.Second, Notify: notify, Log: log,
		List: records.Unfinished,
		Name: func(ref download.Ref) (download.ID, string) { return ref.Download, ref.Download.WorkflowID() },
		Revive: func(ctx context.Context, ref download.Ref, _ WorkflowState) ([]outbox.Intent, error) {
			return records.Restart(ctx, ref, "sweeper", "nothing was fetching it")
		},
	}
}

// ExportRecords lists and restarts unfinished exports.
type ExportRecords interface {
	// Unfinished returns exports, in order of their ids from behind after, that have waited for at least age.
	Unfinished(ctx context.Context, after export.ID, age time.Duration, limit int) ([]export.Ref, error)
	// Restart records a restart of an export together with its start intent.
	Restart(ctx context.Context, ref export.Ref, actor, reason string) ([]outbox.Intent, error)
}

// NewExportReviver returns a Reviver of accepted exports without a workflow.
func NewExportReviver(c client.Client, records ExportRecords, notify func([]outbox.Intent), log *slog.Logger) *Reviver[export.Ref, export.ID] {
	return &Reviver[export.Ref, export.ID]{
		Client: c, What: "exports", Every: 30 * time.Second, Age: 30 * time.Second, Notify: notify, Log: log,
		List: records.Unfinished,
		Name: func(ref export.Ref) (export.ID, string) { return ref.Export, ref.Export.WorkflowID() },
		Revive: func(ctx context.Context, ref export.Ref, _ WorkflowState) ([]outbox.Intent, error) {
			return records.Restart(ctx, ref, "sweeper", "nothing was packing it")
		},
	}
}
