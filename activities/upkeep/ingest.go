// Package upkeep contains the activities that maintain stored data: verifying and scanning uploads, fetching
// downloads, packing exports, and retention of jobs, assets and blobs. It promises that a failure for one job, asset
// or blob does not prevent the work on others.
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

// AssetRecords stores the results of ingestion.
type AssetRecords interface {
	// Get returns a live asset of the account, or false if there is none with this id.
	Get(ctx context.Context, account string, id asset.ID) (asset.Asset, bool, error)
	// RecordVerified also records the scan, if the event has one.
	RecordVerified(ctx context.Context, account string, id asset.ID, event asset.VerifiedV1) error
	RecordScan(ctx context.Context, account string, id asset.ID, scan asset.Scan) error
	// GetAll is Get for several assets; those that are not there are left out.
	GetAll(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error)
	// RecordAll records what was found out about several assets of the account, in one transaction where it can be.
	RecordAll(ctx context.Context, account string, all []asset.Ingested) error
}

// Scanner inspects content. It may be slow and it may hang: it has its own timeout and task slots. An error is not a
// verdict; the content stays usable.
type Scanner interface {
	Scan(ctx context.Context, a asset.Asset, content io.ReadSeeker) (asset.Scan, error)
}

// Ingest holds the activities of IngestAsset.
type Ingest struct {
	Records AssetRecords
	Blobs   blob.Store
	// Quick means that the scanner reads small files in milliseconds: they are scanned in the activity that verifies
	// them.
	Quick   bool
	Scanner Scanner
	Log     *slog.Logger
}

// smallFile is the maximum size of a small file, in bytes.
const smallFile = 1 << 20

// Verified is the result of VerifyAsset.
type Verified struct {
	// Complete means that no scan remains.
	Complete bool `json:",omitempty"`
}

// VerifyAsset reads the stored bytes of a new asset again, hashes them and records the result. It also scans a small
// file if the scanner is quick.
func (i *Ingest) VerifyAsset(ctx context.Context, ref asset.IngestRef) (Verified, error) {
	complete, err := i.verify(ctx, ref)
	return Verified{complete}, attempt.Error(err)
}

func (i *Ingest) verify(ctx context.Context, ref asset.IngestRef) (complete bool, err error) {
	a, there, err := i.Records.Get(ctx, ref.Account, ref.Asset)
	if err != nil || !there {
		return true, err
	}
	size, err := blob.Verify(ctx, i.Blobs, a.Hash)
	switch {
	case err == nil:
		return i.verified(ctx, a, ref, size)
	case errors.Is(err, blob.ErrCorrupt), fault.Is(err, fault.NotFound):
		i.Log.Error("stored asset is damaged", "asset", ref.Asset, "blob", a.Hash.String(), "error", err)
		return true, i.Records.RecordVerified(ctx, ref.Account, ref.Asset, asset.VerifiedV1{Size: size})
	default:
		return false, fmt.Errorf("verify asset %s: %w", ref.Asset, err)
	}
}

// verified records that the bytes have their hash, together with a scan of a small file if that succeeds at once. If
// the scan fails, ScanAsset repeats it with more time.
func (i *Ingest) verified(ctx context.Context, a asset.Asset, ref asset.IngestRef, size int64) (complete bool, err error) {
	event := asset.VerifiedV1{OK: true, Size: size}
	if i.Quick && size <= smallFile {
		found, err := i.inspect(ctx, a)
		switch {
		case err == nil && a.VerifiedAt != nil: // an earlier workflow verified the asset, and ended before the scan
			return true, i.Records.RecordScan(ctx, ref.Account, ref.Asset, found)
		case err == nil:
			event.Scan = &found
			return true, i.Records.RecordVerified(ctx, ref.Account, ref.Asset, event)
		}
		i.Log.Warn("scan of a small file failed; trying again", "asset", ref.Asset, "error", err)
	}
	return false, i.Records.RecordVerified(ctx, ref.Account, ref.Asset, event)
}

// ScanAsset scans the content of a new asset and records the verdict.
func (i *Ingest) ScanAsset(ctx context.Context, ref asset.IngestRef) error {
	return attempt.Error(i.scan(ctx, ref))
}

func (i *Ingest) scan(ctx context.Context, ref asset.IngestRef) error {
	a, there, err := i.Records.Get(ctx, ref.Account, ref.Asset)
	if err != nil || !there || a.Damaged {
		return err
	}
	found, err := i.inspect(ctx, a)
	if err != nil {
		return err
	}
	return i.Records.RecordScan(ctx, ref.Account, ref.Asset, found)
}

func (i *Ingest) inspect(ctx context.Context, a asset.Asset) (asset.Scan, error) {
	r, err := i.Blobs.Open(ctx, a.Hash)
	if err != nil {
		return asset.Scan{}, fmt.Errorf("open asset %s: %w", a.ID, err)
	}
	defer r.Close()
	found, err := i.Scanner.Scan(ctx, a, r)
	if err != nil {
		return asset.Scan{}, fmt.Errorf("scan asset %s: %w", a.ID, err)
	}
	return found, nil
}

// GiveUpScan records that the scanner returned no verdict.
func (i *Ingest) GiveUpScan(ctx context.Context, ref asset.IngestRef) error {
	err := i.Records.RecordScan(ctx, ref.Account, ref.Asset, asset.Scan{
		Verdict: asset.NotKnown, Reason: "the scan did not finish",
	})
	return attempt.Error(err)
}
