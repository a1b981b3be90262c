package workflows_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/workflows"
)

// records keep one asset and what was recorded of it.
type records struct {
	mu       sync.Mutex
	asset    asset.Asset
	gone     bool
	verified []asset.VerifiedV1
	scans    []asset.Scan
	batches  int   // calls of RecordAll
	failure  error // of RecordAll
}

func (r *records) Get(context.Context, string, asset.ID) (asset.Asset, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asset, !r.gone, nil
}

func (r *records) RecordVerified(_ context.Context, _ string, _ asset.ID, event asset.VerifiedV1) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verified, r.asset.Damaged = append(r.verified, event), !event.OK
	if event.Scan != nil {
		r.scans = append(r.scans, *event.Scan)
	}
	return nil
}

func (r *records) RecordScan(_ context.Context, _ string, _ asset.ID, scan asset.Scan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scans = append(r.scans, scan)
	return nil
}

func (r *records) GetAll(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	a, there, err := r.Get(ctx, account, ids[0])
	if !there || err != nil {
		return nil, err
	}
	all := map[asset.ID]asset.Asset{}
	for _, id := range ids {
		a.ID, all[id] = id, a
	}
	return all, nil
}

func (r *records) RecordAll(ctx context.Context, account string, all []asset.Ingested) error {
	r.batches++
	for _, found := range all {
		if err := r.RecordVerified(ctx, account, found.Asset, found.Verified); err != nil {
			return err
		}
	}
	return r.failure
}

// scanner is a function as a Scanner.
type scanner func(ctx context.Context) (asset.Scan, error)

func (s scanner) Scan(ctx context.Context, _ asset.Asset, content io.ReadSeeker) (asset.Scan, error) {
	if _, err := io.Copy(io.Discard, content); err != nil {
		return asset.Scan{}, err
	}
	return s(ctx)
}

func ingest(t *testing.T, look scanner, change func(*records, *mem.Store)) *records {
	t.Helper()
	r, _ := ingestWith(t, upkeep.Ingest{Scanner: look}, change)
	return r
}

// ingestWith also returns the activities that were more than local ones.
func ingestWith(t *testing.T, activities upkeep.Ingest, change func(*records, *mem.Store)) (r *records, scheduled []string) {
	t.Helper()
	blobs := mem.New()
	data := bytes.Repeat([]byte("x"), 5000)
	ref, err := blob.PutBytes(t.Context(), blobs, data)
	require.NoError(t, err)
	r = &records{asset: asset.Asset{ID: asset.NewID(), Account: "a", State: asset.Live, Hash: ref, Size: int64(len(data))}}
	if change != nil {
		change(r, blobs)
	}
	one := asset.IngestRef{Asset: r.asset.ID, Account: "a", Size: r.asset.Size}
	scheduled = runIngest(t, activities, r, blobs, workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: one})
	return r, scheduled
}

// ingestMany is ingestWith for a batch of five assets, which are known by one content.
func ingestMany(t *testing.T, activities upkeep.Ingest, change func(*records, *mem.Store)) (r *records, scheduled []string) {
	t.Helper()
	blobs := mem.New()
	ref, err := blob.PutBytes(t.Context(), blobs, []byte("small"))
	require.NoError(t, err)
	r = &records{asset: asset.Asset{Account: "a", State: asset.Live, Hash: ref, Size: 5}}
	if change != nil {
		change(r, blobs)
	}
	var refs []asset.IngestRef
	for range 5 {
		refs = append(refs, asset.IngestRef{Asset: asset.NewID(), Account: "a", Size: 5})
	}
	scheduled = runIngest(t, activities, r, blobs, workflows.IngestAssets, workflows.IngestAssetsParams{Assets: refs})
	return r, scheduled
}

// runIngest runs a workflow over records and returns the activities that were more than local ones.
func runIngest(t *testing.T, activities upkeep.Ingest, r *records, blobs *mem.Store, run, params any) (scheduled []string) {
	t.Helper()
	env := environment()
	env.RegisterWorkflow(run)
	activities.Records, activities.Blobs, activities.Log = r, blobs, slog.New(slog.DiscardHandler)
	env.RegisterActivity(&activities)
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		scheduled = append(scheduled, info.ActivityType.Name)
	})
	env.ExecuteWorkflow(run, params)
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	return scheduled
}

func TestSmallFilesAreIngestedTogether(t *testing.T) {
	t.Parallel()
	quick := upkeep.Ingest{Quick: true, Scanner: scanner(clean)}
	r, scheduled := ingestMany(t, quick, nil)
	require.Empty(t, scheduled)
	require.Equal(t, 1, r.batches, "one transaction")
	require.Len(t, r.verified, 5)
	require.Len(t, r.scans, 5)
	require.Equal(t, "default-test-workflow-id", r.verified[0].Workflow)

	r, _ = ingestMany(t, quick, func(r *records, blobs *mem.Store) { require.True(t, blobs.Damage(r.asset.Hash)) })
	require.Len(t, r.verified, 5)
	require.False(t, r.verified[0].OK)
	require.Empty(t, r.scans)

	r, _ = ingestMany(t, quick, func(r *records, _ *mem.Store) { r.gone = true })
	require.Zero(t, r.batches)
}

func TestFilesLeftByABatchAreIngestedSeparately(t *testing.T) {
	t.Parallel()
	scanned := 0
	r, scheduled := ingestMany(t, upkeep.Ingest{Quick: true, Scanner: scanner(func(context.Context) (asset.Scan, error) {
		if scanned++; scanned == 3 {
			return asset.Scan{}, io.ErrUnexpectedEOF
		}
		return asset.Scan{Verdict: asset.Clean}, nil
	})}, nil)
	require.Empty(t, scheduled)
	require.Equal(t, 6, scanned, "only the third is looked into again")
	require.Len(t, r.scans, 5)

	r, scheduled = ingestMany(t, upkeep.Ingest{Scanner: scanner(clean)}, nil) // of a worker whose scanner is slow
	require.Len(t, scheduled, 5)
	require.Zero(t, r.batches)
	require.Len(t, r.scans, 5)

	r, _ = ingestMany(t, upkeep.Ingest{Quick: true, Scanner: scanner(clean)}, func(r *records, _ *mem.Store) { r.failure = io.ErrClosedPipe })
	require.Equal(t, 3, r.batches)
	require.Len(t, r.scans, 3*5+5, "a batch that fails holds up none of its assets")
}

// A small file costs one step: the engine schedules nothing for it.
func TestSmallFilesAreScannedAsTheyAreVerified(t *testing.T) {
	t.Parallel()
	r, scheduled := ingestWith(t, upkeep.Ingest{Quick: true, Scanner: scanner(clean)}, nil)
	require.Empty(t, scheduled)
	require.Equal(t, []asset.VerifiedV1{{OK: true, Size: 5000, Scan: &asset.Scan{Verdict: asset.Clean}}}, r.verified)
	require.Equal(t, []asset.Scan{{Verdict: asset.Clean}}, r.scans)

	attempts := 0
	r, scheduled = ingestWith(t, upkeep.Ingest{Quick: true, Scanner: scanner(func(context.Context) (asset.Scan, error) {
		if attempts++; attempts == 1 {
			return asset.Scan{}, io.ErrUnexpectedEOF
		}
		return asset.Scan{Verdict: asset.Clean}, nil
	})}, nil)
	require.Equal(t, []string{"ScanAsset"}, scheduled, "what fails at once is tried with more time")
	require.Len(t, r.verified, 1)
	require.Len(t, r.scans, 1)
}

func clean(context.Context) (asset.Scan, error) { return asset.Scan{Verdict: asset.Clean}, nil }

func TestIngestVerifiesThenScans(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{5000, 1 << 30} { // verified within the workflow task, and by an activity
		r := ingest(t, clean, func(r *records, _ *mem.Store) { r.asset.Size = size })
		require.Equal(t, []asset.VerifiedV1{{OK: true, Size: 5000}}, r.verified)
		require.Equal(t, []asset.Scan{{Verdict: asset.Clean}}, r.scans)
	}
}

func TestIngestRecordsDamageAndScansNothing(t *testing.T) {
	t.Parallel()
	r := ingest(t, clean, func(r *records, blobs *mem.Store) { require.True(t, blobs.Damage(r.asset.Hash)) })
	require.Len(t, r.verified, 1)
	require.False(t, r.verified[0].OK)
	require.Empty(t, r.scans)
}

func TestIngestOfAnAssetThatIsGoneDoesNothing(t *testing.T) {
	t.Parallel()
	r := ingest(t, clean, func(r *records, _ *mem.Store) { r.gone = true })
	require.Empty(t, r.verified)
	require.Empty(t, r.scans)
}

func TestAScannerWithoutAVerdictLeavesTheAssetUsable(t *testing.T) {
	t.Parallel()
	attempts := 0
	r := ingest(t, func(context.Context) (asset.Scan, error) { attempts++; return asset.Scan{}, io.ErrUnexpectedEOF }, nil)
	require.Equal(t, 3, attempts)
	require.Len(t, r.scans, 1)
	require.Equal(t, asset.NotKnown, r.scans[0].Verdict)
}

func TestScannerVerdictRejectedIsRecorded(t *testing.T) {
	t.Parallel()
	r := ingest(t, func(context.Context) (asset.Scan, error) {
		return asset.Scan{Verdict: asset.Rejects, Reason: "no"}, nil
	}, nil)
	require.Equal(t, []asset.Scan{{Verdict: asset.Rejects, Reason: "no"}}, r.scans)
}

// An asset whose verification no attempt can finish is not scanned, and its workflow fails.
func TestAnAssetThatCannotBeVerifiedIsNotScanned(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{5000, 1 << 30} { // verified within the workflow task, and by an activity
		env := environment()
		env.RegisterWorkflow(workflows.IngestAsset)
		scanned := false
		env.RegisterActivityWithOptions(func(context.Context, asset.IngestRef) (upkeep.Verified, error) {
			return upkeep.Verified{}, temporal.NewNonRetryableApplicationError("refused", attempt.ErrFinal, nil)
		}, activity.RegisterOptions{Name: "VerifyAsset"})
		env.RegisterActivityWithOptions(func(context.Context, asset.IngestRef) error {
			scanned = true
			return nil
		}, activity.RegisterOptions{Name: "ScanAsset"})
		env.ExecuteWorkflow(workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: asset.IngestRef{Asset: "1", Account: "a", Size: size}})
		require.ErrorContains(t, env.GetWorkflowError(), "refused")
		require.False(t, scanned)
	}
}

// A batch of assets ends with its canceled workflow.
func TestACanceledBatchOfAssetsEnds(t *testing.T) {
	t.Parallel()
	env := environment()
	env.RegisterWorkflow(workflows.IngestAssets)
	env.RegisterActivityWithOptions(func(context.Context, upkeep.VerifyAssetsParams) (upkeep.VerifiedAssets, error) {
		env.CancelWorkflow()
		return upkeep.VerifiedAssets{}, temporal.NewCanceledError()
	}, activity.RegisterOptions{Name: "VerifyAssets"})
	env.ExecuteWorkflow(workflows.IngestAssets, workflows.IngestAssetsParams{Assets: []asset.IngestRef{{Asset: "1", Account: "a", Size: 5}}})
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
}
