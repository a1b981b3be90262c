package sweep

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
)

// IngestRecords lists and restarts unfinished ingestions.
type IngestRecords interface {
	// Uningested returns assets, in order of their ids from the first one after the given id, that have waited for at
	// least age.
	Uningested(ctx context.Context, after asset.ID, age time.Duration, limit int) ([]asset.IngestRef, error)
	// Reingest records a new ingestion of an asset together with its start intent.
	Reingest(ctx context.Context, ref asset.IngestRef, actor, reason string) (bool, error)
}

// NewIngestReviver returns a Reviver of accepted uploads without an ingestion workflow. The events of an ingestion
// always have the same ids, so a second ingestion changes nothing.
func NewIngestReviver(c client.Client, records IngestRecords, log *slog.Logger) *Reviver[asset.IngestRef, asset.ID] {
	return &Reviver[asset.IngestRef, asset.ID]{
		Client: c, What: "ingestions", Every: time.Minute, Age: 2 * time.Minute, Log: log,
		List: records.Uningested,
		Name: func(ref asset.IngestRef) (asset.ID, string) { return ref.Asset, ref.Asset.WorkflowID() },
		Revive: func(ctx context.Context, ref asset.IngestRef, _ WorkflowState) (bool, error) {
			return records.Reingest(ctx, ref, "sweeper", "nothing was looking into it")
		},
	}
}

// UnfinishedRecords lists and restarts the unfinished tasks of one kind: downloads or exports.
type UnfinishedRecords[Ref, ID any] interface {
	// Unfinished returns tasks, in order of their ids from behind after, that have waited for at least age.
	Unfinished(ctx context.Context, after ID, age time.Duration, limit int) ([]Ref, error)
	// Restart records a restart of a task together with its start intent.
	Restart(ctx context.Context, ref Ref, actor, reason string) (bool, error)
}

// NewDownloadReviver returns a Reviver of accepted downloads without a workflow.
func NewDownloadReviver(
	c client.Client, records UnfinishedRecords[download.Ref, download.ID], log *slog.Logger,
) *Reviver[download.Ref, download.ID] {
	return newTaskReviver(c, "downloads", "nothing was fetching it", records, log, func(ref download.Ref) (download.ID, string) {
		return ref.Download, ref.Download.WorkflowID()
	})
}

// NewExportReviver returns a Reviver of accepted exports without a workflow.
func NewExportReviver(c client.Client, records UnfinishedRecords[export.Ref, export.ID], log *slog.Logger) *Reviver[export.Ref, export.ID] {
	return newTaskReviver(c, "exports", "nothing was packing it", records, log, func(ref export.Ref) (export.ID, string) {
		return ref.Export, ref.Export.WorkflowID()
	})
}

func newTaskReviver[Ref any, ID ~string](
	c client.Client, what, reason string, records UnfinishedRecords[Ref, ID], log *slog.Logger, name func(Ref) (ID, string),
) *Reviver[Ref, ID] {
	return &Reviver[Ref, ID]{
		Client: c, What: what, Every: 30 * time.Second, Age: 30 * time.Second, Log: log,
		List: records.Unfinished, Name: name,
		Revive: func(ctx context.Context, ref Ref, _ WorkflowState) (bool, error) {
			return records.Restart(ctx, ref, "sweeper", reason)
		},
	}
}
