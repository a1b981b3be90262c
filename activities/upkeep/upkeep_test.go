package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/stream"
)

var (
	errAway = fault.New(fault.Unavailable, "", "the database is away")
	quiet   = slog.New(slog.DiscardHandler)

	errUnrecorded = errors.New("it failed")
)

// shelf holds assets, and what was recorded about them.
type shelf struct {
	all      map[asset.ID]asset.Asset
	away     error
	full     error // at scans
	verified []asset.VerifiedV1
	scans    []asset.Scan
}

func (s *shelf) Get(_ context.Context, _ string, id asset.ID) (asset.Asset, bool, error) {
	a, ok := s.all[id]
	return a, ok, s.away
}

func (s *shelf) GetAll(context.Context, string, []asset.ID) (map[asset.ID]asset.Asset, error) {
	return s.all, s.away
}

func (s *shelf) RecordVerified(_ context.Context, _ string, _ asset.ID, e asset.VerifiedV1) error {
	s.verified = append(s.verified, e)
	return nil
}

func (s *shelf) RecordScan(_ context.Context, _ string, _ asset.ID, found asset.Scan) error {
	s.scans = append(s.scans, found)
	return s.full
}

func (s *shelf) RecordAll(_ context.Context, _ string, all []asset.Ingested) error {
	for _, one := range all {
		s.verified = append(s.verified, one.Verified)
	}
	return nil
}

// scanner finds everything clean, or fails.
type scanner struct{ err error }

var clean = asset.Scan{Verdict: asset.Clean}

func (s scanner) Scan(_ context.Context, _ asset.Asset, content io.ReadSeeker) (asset.Scan, error) {
	if _, err := io.Copy(io.Discard, content); err != nil {
		return asset.Scan{}, err
	}
	return clean, s.err
}

// An upload is read again and scanned at once if it is small; what its bytes are, and what the scanner says, is recorded once. The same
// holds for several uploads together.
func TestAnUploadIsVerifiedAndScanned(t *testing.T) {
	t.Parallel()
	const small = 1 << 20
	ok := func(size int64, found *asset.Scan) []asset.VerifiedV1 {
		return []asset.VerifiedV1{{OK: true, Size: size, Scan: found}}
	}
	broken := []asset.VerifiedV1{{}}
	for name, c := range map[string]struct {
		size     int
		gone     bool
		damaged  bool
		away     error
		scan     error
		complete bool
		verified []asset.VerifiedV1
		together []asset.VerifiedV1 // as one of several
	}{
		"small":              {size: 4, complete: true, verified: ok(4, &clean), together: ok(4, &clean)},
		"just small":         {size: small, complete: true, verified: ok(small, &clean), together: ok(small, &clean)},
		"too large":          {size: small + 1, verified: ok(small+1, nil)},
		"gone meanwhile":     {size: 4, gone: true, complete: true},
		"damaged":            {size: 4, damaged: true, complete: true, verified: broken, together: broken},
		"the database away":  {size: 4, away: errAway, complete: true},
		"the scanner failed": {size: 4, scan: errors.New("broken"), verified: ok(4, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobs, records := mem.New(), &shelf{all: map[asset.ID]asset.Asset{}, away: c.away}
			ref, err := blob.PutBytes(t.Context(), blobs, bytes.Repeat([]byte("x"), c.size))
			require.NoError(t, err)
			if c.damaged {
				require.True(t, blobs.Damage(ref))
			}
			if !c.gone {
				records.all["1"] = asset.Asset{ID: "1", Account: "a", Hash: ref}
			}
			i := &upkeep.Ingest{Records: records, Blobs: blobs, Quick: true, Scanner: scanner{c.scan}, Log: quiet}
			one := asset.IngestRef{Account: "a", Asset: "1"}
			got, err := i.VerifyAsset(t.Context(), one)
			require.ErrorIs(t, err, c.away)
			require.Equal(t, c.complete, got.Complete)
			require.Equal(t, c.verified, records.verified)

			records.verified = nil
			several, err := i.VerifyAssets(t.Context(), upkeep.VerifyAssetsParams{Workflow: "w", Assets: []asset.IngestRef{one}})
			require.ErrorIs(t, err, c.away)
			for n := range records.verified {
				require.Equal(t, "w", records.verified[n].Workflow)
				records.verified[n].Workflow = ""
			}
			require.Equal(t, c.together, records.verified)
			require.Equal(t, !c.gone && c.away == nil && c.together == nil, len(several.Left) == 1, "it needs a workflow of its own")
		})
	}
}

// A scan that takes long has an activity of its own, which is tried again until the scanner says something.
func TestALateScanIsRecorded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		scan  error
		scans []asset.Scan
	}{
		"a verdict": {nil, []asset.Scan{clean}}, "no verdict yet": {broken, nil},
	} {
		blobs := mem.New()
		ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
		require.NoError(t, err)
		records := &shelf{all: map[asset.ID]asset.Asset{"1": {ID: "1", Hash: ref}}}
		i := &upkeep.Ingest{Records: records, Blobs: blobs, Scanner: scanner{c.scan}, Log: quiet}
		require.ErrorIs(t, i.ScanAsset(t.Context(), asset.IngestRef{Account: "a", Asset: "1"}), c.scan, name)
		require.Equal(t, c.scans, records.scans, name)
		records.full = errAway
		i.Scanner = scanner{}
		require.ErrorIs(t, i.ScanAsset(t.Context(), asset.IngestRef{Account: "a", Asset: "1"}), errAway, "it is not recorded")
	}
}

// expiring has assets past their deadline.
type expiring struct {
	left      int
	forgotten int
}

func (e *expiring) Expire(_ context.Context, limit int, _ []asset.ID) (int, []asset.ID, error) {
	n := min(limit, e.left)
	e.left -= n
	return n, nil, nil
}

func (e *expiring) Forget(context.Context) error {
	e.forgotten++
	return nil
}

// All assets past their deadline are ended, in batches.
func TestAllAssetsPastTheirDeadlineAreEnded(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 200, 450} {
		assets := &expiring{left: count}
		var ended int
		run(t, (&upkeep.Retention{Assets: assets, Log: quiet}).ExpireAssets, nil, &ended)
		require.Equal(t, count, ended)
		require.Zero(t, assets.left)
		require.Equal(t, 1, assets.forgotten)
	}
}

// ended is an account with one ended job past its retention.
type ended struct {
	upkeep.JobExpiry
	job     job.Job
	events  []eventlog.Recorded
	retired []job.Retirement
	away    error // as archives are deleted
}

func (e *ended) Overdue(_ context.Context, states []job.State, _ time.Time, after job.Overdue, _ int) ([]job.Overdue, error) {
	if after.Job.ID != "" || !slices.Contains(states, job.Succeeded) {
		return nil, nil
	}
	return []job.Overdue{{Job: e.job}}, nil
}

func (e *ended) Events(context.Context, job.ID) ([]eventlog.Recorded, error) { return e.events, nil }

func (e *ended) Retire(_ context.Context, r job.Retirement) error {
	e.retired = append(e.retired, r)
	return nil
}

func (*ended) Prune(context.Context, []string, int) (int, error) { return 0, nil }

func (e *ended) ForgetArchives(context.Context, time.Time, int) (int, error) { return 0, e.away }

// full is a store of blobs without space.
type full struct{ *mem.Store }

func (full) Create(context.Context, blob.Durability) (blob.Writer, error) {
	return nil, errors.New("no space")
}

// The events of a job leave the log only if they are archived, unless they are to be erased.
func TestAJobIsRetiredWithItsArchive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		archives blob.Store
		erase    bool
		want     upkeep.JobSweep
	}{
		"archived":         {mem.New(), false, upkeep.JobSweep{Retired: 1}},
		"no space":         {full{mem.New()}, false, upkeep.JobSweep{Failed: 1}},
		"erased, no space": {full{mem.New()}, true, upkeep.JobSweep{Retired: 1}},
	} {
		past := time.Now().Add(-48 * time.Hour)
		jobs := &ended{
			job: job.Job{ID: job.NewID(), State: job.Succeeded, SubmittedAt: past, EndedAt: &past},
			events: []eventlog.Recorded{
				{Version: 1, Type: job.TypeSubmitted, Data: []byte(`{"document":{"inline":"{}"}}`)},
				{Version: 2, Type: job.TypeSucceeded, Data: []byte(`{}`)},
			},
		}
		var done upkeep.JobSweep
		run(t, (&upkeep.Retention{Jobs: jobs, Archives: c.archives, Log: quiet, Policy: upkeep.JobPolicy{
			Retention: 24 * time.Hour, Erase: c.erase,
		}}).ExpireJobs, nil, &done)
		require.Equal(t, c.want, done, name)
		require.Len(t, jobs.retired, done.Retired, name)
		for _, r := range jobs.retired {
			require.EqualValues(t, 2, r.Version)
			require.Equal(t, !c.erase, !r.Archive.IsZero())
		}
	}
}

// A sweep that could not delete archives is tried again.
func TestASweepDeletesArchives(t *testing.T) {
	t.Parallel()
	for _, away := range []error{nil, errAway} {
		_, err := execute((&upkeep.Retention{Jobs: &ended{away: away}, Archives: mem.New(), Log: quiet, Policy: upkeep.JobPolicy{
			Retention: 24 * time.Hour, Archives: 24 * time.Hour,
		}}).ExpireJobs)
		require.Equal(t, away == nil, err == nil, "%v", err)
	}
}

// Blobs without references are deleted in each store.
func TestBlobsOfAllStoresAreCollected(t *testing.T) {
	t.Parallel()
	var r upkeep.Retention
	r.Log = quiet
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	for range 2 {
		blobs := mem.New()
		for _, text := range []string{"one", "three"} {
			_, err := blob.PutBytes(t.Context(), blobs, []byte(text))
			require.NoError(t, err)
		}
		r.Collectors = append(r.Collectors, asset.Collector{Blobs: blobs, References: asset.Unreferenced{}, Now: later})
	}
	var all asset.Collection
	run(t, r.CollectBlobs, nil, &all)
	require.Equal(t, asset.Collection{Examined: 4, Removed: 4, Bytes: 16}, all)
}

// keeper is a keeper of machines that fails.
type keeper struct{ upkeep.MachineKeeper }

func (keeper) Start(context.Context, string, string) error { return errAway }
func (keeper) Stop(context.Context, string, string) error  { return errAway }

// A command to a machine that fails is tried again.
func TestAFailedCommandIsAnError(t *testing.T) {
	t.Parallel()
	m := &upkeep.Machines{Keeper: keeper{}}
	require.ErrorIs(t, m.StartMachine(t.Context(), upkeep.MachineParams{}), errAway)
	require.ErrorIs(t, m.StopMachine(t.Context(), upkeep.MachineParams{}), errAway)
}

// run runs an activity.
func run(t *testing.T, activity, param, result any) {
	t.Helper()
	var params []any
	if param != nil {
		params = append(params, param)
	}
	value, err := execute(activity, params...)
	require.NoError(t, err)
	if result != nil {
		require.NoError(t, value.Get(result))
	}
}

// execute is run of an activity that may fail.
func execute(activity any, params ...any) (converter.EncodedValue, error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute) // an activity has three seconds otherwise
	env.RegisterActivity(activity)
	return env.ExecuteActivity(activity, params...)
}

// archive is an account with one file, the export that packs it, and its end.
type archive struct {
	export.Jobs
	file   files.Entry
	packed []asset.New
	failed []export.FailedV1
}

func (a *archive) Known(_ context.Context, _ string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	known := map[asset.PublicID]files.Entry{}
	if slices.Contains(ids, a.file.Public) {
		known[a.file.Public] = a.file
	}
	return known, nil
}

func (a *archive) Several(context.Context, string, []asset.ID) (map[asset.ID]asset.Asset, error) {
	return nil, nil
}

func (a *archive) Begin(context.Context, task.Ref) (state export.Export, open bool, err error) {
	state.Requested = export.RequestedV1{Name: "e.zip", Request: export.Request{Assets: []asset.PublicID{"1"}}, Files: 1}
	return state, len(a.packed)+len(a.failed) == 0, nil
}

func (a *archive) Fail(_ context.Context, _ task.Ref, failure export.FailedV1) error {
	a.failed = append(a.failed, failure)
	return nil
}

func (a *archive) Complete(_ context.Context, _ task.Ref, made asset.New, _ export.CompletedV1) error {
	a.packed = append(a.packed, made)
	return nil
}

// bus keeps frames.
type bus struct{ frames []stream.Frame }

func (b *bus) Publish(_ context.Context, f stream.Frame) error {
	b.frames = append(b.frames, f)
	return nil
}

// An export ends once, with an archive of its files or with the reason why there is none.
func TestAnExportEndsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known bool
		code  string
	}{
		"packed": {true, ""}, "no file is left": {false, string(fault.CodeNothingToExport)},
	} {
		blobs := mem.New()
		ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
		require.NoError(t, err)
		a := &archive{}
		if c.known {
			a.file = files.Entry{Asset: "1", Public: "1", Hash: ref, Size: 1, Place: asset.Place{Filename: "x.png"}}
		}
		x := &upkeep.Exports{
			Records: a, Chooser: export.Chooser{Jobs: a, Files: a, Shelf: a}, Blobs: blobs, Bus: &bus{}, Log: quiet,
		}
		for range 2 {
			run(t, x.PackExport, task.Ref{Account: "a", Task: "t"}, nil)
		}
		if c.code != "" {
			require.Empty(t, a.packed, name)
			require.Len(t, a.failed, 1, name)
			require.Equal(t, c.code, a.failed[0].Code)
			continue
		}
		require.Empty(t, a.failed, name)
		require.Len(t, a.packed, 1, name)
		require.Equal(t, "e.zip", a.packed[0].Name)
		_, err = blobs.Stat(t.Context(), a.packed[0].Hash)
		require.NoError(t, err)
	}
}

// source is a download, its progress and its end.
type source struct {
	wanted
}

func (*source) Begin(context.Context, task.Ref) (state download.Download, open bool, err error) {
	state.Requested.Request = download.Request{Source: "https://example.com/x", Asset: "1", Name: "x"}
	return state, true, nil
}

func (*source) Fail(context.Context, task.Ref, download.FailedV1) error {
	return errUnrecorded
}

// fetched records the assets of downloads.
type fetched struct{ asset.Store }

func (fetched) HasBytes(context.Context, string, blob.Ref) (bool, error) { return false, nil }

func (fetched) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	return asset.Stored{Asset: asset.Asset{ID: "1", Size: n.Size}}, nil
}

// unfailing are tasks whose ends cannot be recorded.
type unfailing struct{ upkeep.ExportRecords }

func (unfailing) Fail(context.Context, task.Ref, export.FailedV1) error { return errAway }

// A task that is given up has not ended before its failure is recorded.
func TestATaskEndsWhenItsFailureIsRecorded(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, (&upkeep.Exports{Records: unfailing{}}).GiveUpExport(t.Context(), task.Ref{}), errAway)
	require.ErrorIs(t, (&upkeep.Downloads{Records: &source{}}).GiveUpDownload(t.Context(), task.Ref{}), errUnrecorded)
}

// What a source sent before it broke off is no file.
func TestADownloadThatBreaksOffIsNoFile(t *testing.T) {
	t.Parallel()
	records := &source{}
	x := &upkeep.Downloads{
		Records: records, Bus: &bus{}, Log: quiet, Assets: asset.NewService(fetched{}, mem.New(), asset.Options{}),
		Find: func(context.Context, string, asset.PublicID) (asset.Asset, error) {
			return asset.Asset{}, fault.New(fault.NotFound, "", "not yet")
		},
		Fetch: func(context.Context, string) (io.ReadCloser, string, int64, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errAway))), "text/plain", -1, nil
		},
		Fits: func(context.Context, string, int64) error { return nil },
	}
	_, err := execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
	require.ErrorContains(t, err, errAway.Error())
	require.Empty(t, records.ended)
}

// Clients see how many bytes of a download have come. While there is no space for it, no byte is read, and it goes on later.
func TestADownloadNeedsSpaceAndReportsItsProgress(t *testing.T) {
	t.Parallel()
	const text = "the content of a file"
	records, frames, full := &source{}, &bus{}, true
	x := &upkeep.Downloads{
		Records: records, Bus: frames, Log: quiet, Assets: asset.NewService(fetched{}, mem.New(), asset.Options{}),
		Find: func(context.Context, string, asset.PublicID) (asset.Asset, error) {
			return asset.Asset{}, fault.New(fault.NotFound, "", "not yet")
		},
		Fetch: func(context.Context, string) (io.ReadCloser, string, int64, error) {
			if full {
				return io.NopCloser(iotest.ErrReader(errors.New("read"))), "", -1, nil
			}
			return io.NopCloser(strings.NewReader(text)), "text/plain", int64(len(text)), nil
		},
		Fits: func(_ context.Context, _ string, bytes int64) error {
			if full {
				return fault.New(fault.Unavailable, "", "no space for %d bytes", bytes)
			}
			require.Len(t, text, int(bytes))
			return nil
		},
	}
	ref := task.Ref{Account: "a", Task: "t"}
	_, err := execute(x.FetchDownload, ref)
	require.ErrorContains(t, err, "no space for 0 bytes")
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.NonRetryable())
	waits := task.Progress{Kind: task.Download, Task: "t", Name: "x", Problem: "no space for 0 bytes"}
	require.Equal(t, []task.Progress{waits}, records.past)
	given := &wanted{past: records.past}
	require.NoError(t, (&upkeep.Downloads{Records: given}).GiveUpDownload(t.Context(), ref))
	require.Equal(t, "The file could not be fetched in time: no space for 0 bytes", given.failed[0].Message)
	full = false
	run(t, x.FetchDownload, ref, nil)
	require.Equal(t, []download.CompletedV1{{Name: "x", Asset: "1", Size: int64(len(text))}}, records.ended)
	require.NotEmpty(t, frames.frames)
	all := task.Progress{Kind: task.Download, Task: "t", Name: "x", Bytes: int64(len(text)), Done: int64(len(text))}
	require.Equal(t, &all, frames.frames[0].Task)
	require.Equal(t, []task.Progress{waits, all}, records.past)
}
