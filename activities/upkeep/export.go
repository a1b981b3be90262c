package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/stream"
)

// ExportRecords stores the progress and the end of exports.
type ExportRecords interface {
	// Begin records that an export is being packed and returns it. open is false if the export has ended.
	Begin(ctx context.Context, ref export.Ref) (state export.Export, open bool, err error)
	// Complete makes the archive an asset and ends the export. A second call changes nothing.
	Complete(ctx context.Context, ref export.Ref, archive asset.New, done export.CompletedV1) error
	// Fail ends the export without an archive. It does not change an export that has ended.
	Fail(ctx context.Context, ref export.Ref, failure export.FailedV1) error
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
func (x *Exports) PackExport(ctx context.Context, ref export.Ref) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go attempt.Heartbeat(ctx)
	state, open, err := x.Records.Begin(ctx, ref)
	if err == nil && open {
		err = x.pack(ctx, ref, state)
	}
	if refused(err) {
		x.Log.Info("export failed", "export", ref.Export, "account", ref.Account, "error", err)
		err = x.Records.Fail(ctx, ref, export.FailedV1{
			Code: string(fault.CodeOf(err)), Message: publicly(err, "The files could not be packed."),
			Files: state.Files,
		})
	}
	return attempt.Error(err)
}

// GiveUpExport ends an export that could not be packed within its time limit.
func (x *Exports) GiveUpExport(ctx context.Context, ref export.Ref) error {
	err := x.Records.Fail(ctx, ref, export.FailedV1{Code: string(fault.CodeInternalError), Message: "The files could not be packed."})
	return attempt.Error(err)
}

// refused reports whether another attempt would fail with the same error, whose text is for the owner of the export.
func refused(err error) bool {
	if attempt.IsOutage(err) {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Exhausted:
		return true
	case fault.Internal, fault.Unavailable, fault.Unauthenticated, fault.Canceled:
	}
	return false
}

// publicly returns the public text of an error, or otherwise if it has none.
func publicly(err error, otherwise string) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return otherwise
}

// pack writes the archive. If a file is damaged, pack starts over without it.
func (x *Exports) pack(ctx context.Context, ref export.Ref, state export.Export) error {
	choice, err := x.Chooser.Choose(ctx, ref.Account, state.Request)
	if err != nil {
		return err
	}
	items := export.Named(choice.Entries, state.Request.Naming)
	for without := map[asset.ID]bool{}; ; {
		var damaged *export.DamagedError
		err := x.packOnce(ctx, ref, state, choice, items, without)
		if !errors.As(err, &damaged) {
			return err
		}
		x.Log.Error("damaged asset left out of an export", "export", ref.Export, "asset", damaged.Asset, "error", err)
		without[damaged.Asset] = true
	}
}

// packOnce writes an archive without the files in without, and makes it an asset.
func (x *Exports) packOnce(ctx context.Context, ref export.Ref, state export.Export, choice export.Choice, items []export.Item,
	without map[asset.ID]bool,
) error {
	w, err := x.Blobs.Create(ctx, blob.Durable)
	if err != nil {
		return fmt.Errorf("begin the archive of export %s: %w", ref.Export, err)
	}
	defer w.Abort() // after Commit it has no effect
	progress := x.reporter(ctx, ref.Account)
	packed, err := export.Packer{Blobs: x.Blobs, Report: progress.report}.Pack(ctx, w, items, without, export.Progress{
		Export: ref.Export, Files: choice.Total(), Attempted: len(choice.Missing), Failed: len(choice.Missing), Bytes: choice.Bytes,
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
		return fmt.Errorf("store the archive of export %s: %w", ref.Export, err)
	}
	until := time.Now().UTC().Add(x.Retention).Truncate(time.Millisecond)
	return x.Records.Complete(ctx, ref, asset.New{
		Origin: asset.Archived, Hash: stored.Ref, Size: stored.Size, ContentType: "application/zip", Deadline: &until,
		About: asset.About{Name: state.Name},
	}, export.Completion(state.Name, stored.Size, packed, missing))
}

// reportEvery is how often progress is published.
const reportEvery = 250 * time.Millisecond

// reporter publishes progress at a bounded rate. A lost report is harmless, so errors are ignored.
type reporter[P any] struct {
	publish func(P)

	mu   sync.Mutex // guards last
	last time.Time
}

func (x *Exports) reporter(ctx context.Context, account string) *reporter[export.Progress] {
	return &reporter[export.Progress]{publish: func(p export.Progress) {
		if err := x.Bus.Publish(ctx, stream.Frame{Account: account, Kind: stream.FrameExport, Export: &p}); err != nil {
			x.Log.Debug("frame dropped", "export", p.Export, "error", err)
		}
	}}
}

func (t *reporter[P]) report(p P) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.last) >= reportEvery {
		t.last = now
		t.publish(p)
	}
}
