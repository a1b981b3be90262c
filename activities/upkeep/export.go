package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/stream"
)

// ExportRecords stores the progress and the end of exports.
type ExportRecords interface {
	TaskRecords[export.Export, export.FailedV1]
	// Complete makes the archive an asset and ends the export. A second call changes nothing.
	Complete(ctx context.Context, ref task.Ref, archive asset.New, done export.CompletedV1) error
}

// Exports holds the activities of ExportAssets.
type Exports struct {
	Records   ExportRecords
	Chooser   export.Chooser
	Blobs     blob.Store
	Bus       stream.Publisher
	Retention time.Duration // retention of an archive
	Log       *slog.Logger
}

// PackExport packs the files of an export into an archive, which becomes an asset of the account. An interrupted
// attempt leaves nothing, and the next one starts over. An error that no attempt can fix ends the export with the
// reason.
func (x *Exports) PackExport(ctx context.Context, ref task.Ref) error {
	return carryOut(ctx, ref, x.Records, x.Log, func(ctx context.Context, state export.Export) error {
		return x.pack(ctx, ref, state)
	}, func(state export.Export, err error) export.FailedV1 {
		return export.FailedV1{Code: string(fault.CodeOf(err)), Message: publicly(err, notPacked), Files: state.Requested.Files}
	})
}

// notPacked is the message of an export that failed without a public reason.
const notPacked = "The files could not be packed."

// GiveUpExport ends an export that could not be packed within its time limit.
func (x *Exports) GiveUpExport(ctx context.Context, ref task.Ref) error {
	return attempt.Error(x.Records.Fail(ctx, ref, export.FailedV1{Code: string(fault.CodeInternalError), Message: notPacked}))
}

// pack writes the archive. If a file is damaged, pack starts over without it.
func (x *Exports) pack(ctx context.Context, ref task.Ref, state export.Export) error {
	choice, err := x.Chooser.Choose(ctx, ref.Account, state.Requested.Request)
	if err != nil {
		return err
	}
	items := export.Named(choice.Entries, state.Requested.Request.Naming)
	for without := map[asset.ID]bool{}; ; {
		var damaged *export.DamagedError
		err := x.packOnce(ctx, ref, state, choice, items, without)
		if !errors.As(err, &damaged) {
			return err
		}
		x.Log.Error("damaged asset left out of an export", "export", ref.Task, "asset", damaged.Asset, "error", err)
		without[damaged.Asset] = true
	}
}

// packOnce writes an archive without the files in without, and makes it an asset.
func (x *Exports) packOnce(ctx context.Context, ref task.Ref, state export.Export, choice export.Choice, items []export.Item,
	without map[asset.ID]bool,
) error {
	w, err := x.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return fmt.Errorf("begin the archive of export %s: %w", ref.Task, err)
	}
	defer w.Abort() // after Commit it has no effect
	progress := &reporter{account: ref.Account, bus: x.Bus, log: x.Log}
	packer := export.Packer{Blobs: x.Blobs, Report: func(p task.Progress) { progress.report(ctx, p) }}
	packed, err := packer.Pack(ctx, w, items, without, task.Progress{
		Kind: task.Export, Task: ref.Task,
		Files: choice.Total(), Attempted: len(choice.Missing), Failed: len(choice.Missing), Bytes: choice.Bytes,
	})
	if err != nil {
		return err
	}
	missing := append(choice.Missing[:len(choice.Missing):len(choice.Missing)], packed.Missing...)
	if packed.Files == 0 {
		return fault.New(fault.NotFound, fault.CodeNothingToExport, "none of the files could be read")
	}
	stored, err := w.Commit(ctx)
	if err != nil {
		return fmt.Errorf("store the archive of export %s: %w", ref.Task, err)
	}
	until := time.Now().UTC().Add(x.Retention).Truncate(time.Millisecond)
	return x.Records.Complete(ctx, ref, asset.New{
		Origin: asset.Archived, Hash: stored.Ref, Size: stored.Size, ContentType: "application/zip", Deadline: &until,
		About: asset.About{Name: state.Requested.Name},
	}, export.Completion(state.Requested.Name, stored.Size, packed, missing))
}
