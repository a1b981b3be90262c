// Package upkeep holds the activities that look after what is stored: verifying and scanning uploads, packing exports,
// and retention of jobs, assets and blobs. They keep one promise: one thing that cannot be looked after keeps nothing
// else from being looked after.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// AssetRecords keeps what ingestion finds out.
type AssetRecords interface {
	// Get returns a live asset of the account; false when it is not there, or no longer.
	Get(ctx context.Context, account string, id asset.ID) (asset.Asset, bool, error)
	RecordVerified(ctx context.Context, account string, id asset.ID, event asset.VerifiedV1) error
	RecordScan(ctx context.Context, account string, id asset.ID, scan asset.Scan) error
}

// Scanner looks into content. It may be slow and it may hang: it has its own timeout and its own
// place in the queue. An error is no verdict; the content stays usable.
type Scanner interface {
	Scan(ctx context.Context, a asset.Asset, content io.ReadSeeker) (asset.Scan, error)
}

// Ingest holds the activities of IngestAsset.
type Ingest struct {
	Records AssetRecords
	Blobs   blob.Store
	Scanner Scanner
	Log     *slog.Logger
}

// VerifyAsset reads the stored bytes of a new asset again, hashes them and records the result.
func (i *Ingest) VerifyAsset(ctx context.Context, ref asset.IngestRef) error {
	return attempt.Error(i.verify(ctx, ref))
}

func (i *Ingest) verify(ctx context.Context, ref asset.IngestRef) error {
	a, there, err := i.Records.Get(ctx, ref.Account, ref.Asset)
	if err != nil || !there {
		return err
	}
	size, err := blob.Verify(ctx, i.Blobs, a.Hash)
	switch {
	case err == nil:
		return i.Records.RecordVerified(ctx, ref.Account, ref.Asset, asset.VerifiedV1{OK: true, Size: size})
	case errors.Is(err, blob.ErrCorrupt), fault.Is(err, fault.NotFound):
		i.Log.Error("stored asset is damaged", "asset", ref.Asset, "blob", a.Hash.String(), "error", err)
		return i.Records.RecordVerified(ctx, ref.Account, ref.Asset, asset.VerifiedV1{Size: size})
	default:
		return fmt.Errorf("verify asset %s: %w", ref.Asset, err)
	}
}

// ScanAsset looks into the content of a new asset and records the verdict.
func (i *Ingest) ScanAsset(ctx context.Context, ref asset.IngestRef) error {
	return attempt.Error(i.scan(ctx, ref))
}

func (i *Ingest) scan(ctx context.Context, ref asset.IngestRef) error {
	a, there, err := i.Records.Get(ctx, ref.Account, ref.Asset)
	if err != nil || !there || a.Damaged {
		return err
	}
	r, err := i.Blobs.Open(ctx, a.Hash)
	if err != nil {
		return fmt.Errorf("open asset %s: %w", ref.Asset, err)
	}
	defer r.Close()
	found, err := i.Scanner.Scan(ctx, a, r)
	if err != nil {
		return fmt.Errorf("scan asset %s: %w", ref.Asset, err)
	}
	return i.Records.RecordScan(ctx, ref.Account, ref.Asset, found)
}

// GiveUpScan records that the scanner came to no verdict.
func (i *Ingest) GiveUpScan(ctx context.Context, ref asset.IngestRef) error {
	err := i.Records.RecordScan(ctx, ref.Account, ref.Asset, asset.Scan{
		Verdict: asset.NotKnown, Reason: "the scan did not finish",
	})
	return attempt.Error(err)
}
