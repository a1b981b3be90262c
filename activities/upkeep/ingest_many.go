package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// VerifyAssetsParams names small assets of one account.
type VerifyAssetsParams struct {
	Workflow string            // that looks into them
	Assets   []asset.IngestRef // one at least
}

// VerifiedAssets is the result of VerifyAssets.
type VerifiedAssets struct {
	Left []asset.IngestRef `json:",omitempty"` // assets that need a workflow of their own
}

// batchTime bounds how long one attempt reads and scans; the assets that remain then are returned in Left. Small files take
// far less from a disk, and an attempt has far more time.
const batchTime = 10 * time.Second

// VerifyAssets reads and hashes the stored bytes of several assets, scans them if the scanner is fast, and records all
// results in one transaction. Left lists the assets that need a workflow of their own.
func (i *Ingest) VerifyAssets(ctx context.Context, p VerifyAssetsParams) (VerifiedAssets, error) {
	left, err := i.verifyBatch(ctx, p)
	return VerifiedAssets{left}, attempt.Error(err)
}

func (i *Ingest) verifyBatch(ctx context.Context, p VerifyAssetsParams) (left []asset.IngestRef, err error) {
	ids := make([]asset.ID, len(p.Assets))
	for n, ref := range p.Assets {
		ids[n] = ref.Asset
	}
	account := p.Assets[0].Account
	there, err := i.Records.GetAll(ctx, account, ids)
	if err != nil {
		return nil, err
	}
	var all []asset.Ingested
	for began, n := time.Now(), 0; n < len(p.Assets); n++ {
		a, ok := there[p.Assets[n].Asset]
		if !ok || a.Damaged || a.Scan != nil { // it is gone, or an attempt before this one has recorded it
			continue
		}
		found, done := asset.Ingested{}, false
		if a.VerifiedAt == nil && time.Since(began) < batchTime {
			found, done = i.ingestSmall(ctx, a)
		}
		if !done {
			left = append(left, p.Assets[n])
			continue
		}
		found.Verified.Workflow = p.Workflow
		all = append(all, found)
	}
	if len(all) == 0 {
		return left, nil
	}
	return left, i.Records.RecordAll(ctx, account, all)
}

// ingestSmall verifies and scans a small file. done is false where that takes another attempt, or a scanner with more time.
func (i *Ingest) ingestSmall(ctx context.Context, a asset.Asset) (found asset.Ingested, done bool) {
	size, err := blob.Verify(ctx, i.Blobs, a.Hash)
	found = asset.Ingested{Asset: a.ID, Verified: asset.VerifiedV1{OK: err == nil, Size: size}}
	switch {
	case errors.Is(err, blob.ErrCorrupt), fault.Is(err, fault.NotFound):
		i.Log.Error("stored asset is damaged", "asset", a.ID, "blob", a.Hash.String(), "error", err)
		return found, true
	case err != nil || !i.Quick || size > smallFile:
		return found, false
	}
	scan, err := i.inspect(ctx, a)
	if err != nil {
		i.Log.Warn("scan of a small file failed; it is tried again", "asset", a.ID, "error", err)
		return found, false
	}
	found.Verified.Scan = &scan
	return found, true
}
