package upkeep_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// accounts are jobs past their retention, and what a sweep does to them.
type accounts struct {
	queued, ended    []job.Job
	prunable, stored int // jobs whose events, or whose archives, can be deleted
	fails            map[string]error
	calls            []string
	expired, retired []job.ID
	pages            int
}

func (a *accounts) call(name string, args ...any) error {
	a.calls = append(a.calls, strings.TrimSpace(name+" "+fmt.Sprintln(args...)))
	return a.fails[name]
}

func (a *accounts) Overdue(
	_ context.Context, states []job.State, before time.Time, after job.Overdue, limit int,
) (page []job.Overdue, err error) {
	if a.pages++; slices.Equal(states, job.FinalStates()) {
		err = a.fails["ended"]
	} else {
		err = a.fails["queued"]
	}
	all := a.queued
	if !slices.Equal(states, []job.State{job.Queued}) {
		all = a.ended
	}
	at := slices.IndexFunc(all, func(j job.Job) bool { return j.ID == after.Job.ID })
	for _, j := range all[at+1:] {
		if len(page) < limit && j.SubmittedAt.Before(before) {
			page = append(page, job.Overdue{Job: j})
		}
	}
	return page, err
}

func (a *accounts) ExpireWaiting(_ context.Context, account string, ids []job.ID) (int, error) {
	if err := a.fails["expire "+account]; err != nil {
		return 0, err
	}
	a.expired = append(a.expired, ids...)
	return len(ids), nil
}

func (a *accounts) Events(_ context.Context, id job.ID) ([]eventlog.Recorded, error) {
	switch {
	case strings.HasPrefix(string(id), "gone"):
		return nil, nil
	case strings.HasPrefix(string(id), "retired"):
		return []eventlog.Recorded{{Version: 1, Type: job.TypeSubmitted}, {Version: 2, Type: job.TypeRetired}}, nil
	}
	return []eventlog.Recorded{
		{Version: 1, Type: job.TypeSubmitted, Data: []byte(`{"document":{"inline":"{}"}}`)},
		{Version: 2, Type: job.TypeSucceeded, Data: []byte(`{}`)},
	}, a.fails["events "+string(id)]
}

func (a *accounts) Retire(_ context.Context, r job.Retirement) error {
	if err := a.fails["retire "+string(r.ID)]; err != nil {
		return err
	}
	a.retired = append(a.retired, r.ID)
	return nil
}

func (a *accounts) Prune(_ context.Context, views []string, limit int) (int, error) {
	n := min(limit, a.prunable)
	a.prunable -= n
	return n, a.call("prune", views, limit)
}

func (a *accounts) ForgetArchives(_ context.Context, before time.Time, limit int) (int, error) {
	n := min(limit, a.stored)
	a.stored -= n
	return n, a.call("forget", before.Format(time.DateOnly), limit)
}

// some returns jobs of an account that were submitted on a day and ended at once.
func some(n int, name, account string, day time.Time) (all []job.Job) {
	for i := range n {
		all = append(all, job.Job{
			ID: job.ID(fmt.Sprintf("%s-%03d", name, i)), Account: account, State: job.Succeeded, SubmittedAt: day, EndedAt: &day,
		})
	}
	return all
}

// A sweep expires what waits, retires what has ended, deletes events that no view needs and old archives: all of it, page by page. What
// cannot be done for one job or account is left to the next sweep, and what fails for all of them ends this one.
func TestASweepOfJobsLeavesNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	day := func(ago int) time.Time { return now.AddDate(0, 0, -ago) }
	broken := errors.New("broken")
	policy := upkeep.JobPolicy{
		Retention: 10 * 24 * time.Hour, Archives: 20 * 24 * time.Hour, Views: []string{"jobs"}, Now: func() time.Time { return now },
	}
	forever := policy
	forever.Archives = 0
	prune, forget := "prune [jobs] 100", "forget 2026-03-11 100"
	for name, c := range map[string]struct {
		policy upkeep.JobPolicy
		jobs   accounts
		want   upkeep.JobSweep
		err    error
		calls  []string
		pages  int
	}{
		"nothing": {policy: policy, calls: []string{prune, forget}, pages: 2},
		"for ever": {
			jobs: accounts{queued: some(3, "w", "a", day(90)), ended: some(3, "e", "a", day(90)), prunable: 9, stored: 9},
		},
		"archives for ever": {policy: forever, jobs: accounts{stored: 9}, calls: []string{prune}, pages: 2},
		"pages": {
			policy: policy, jobs: accounts{
				queued: slices.Concat(some(150, "w", "a", day(11)), some(60, "v", "b", day(12)), some(5, "y", "a", day(9))),
				ended:  slices.Concat(some(120, "e", "a", day(11)), some(5, "f", "a", day(9))), prunable: 250, stored: 100,
			},
			want:  upkeep.JobSweep{Expired: 210, Retired: 120, Pruned: 250, Forgotten: 100},
			calls: []string{prune, prune, prune, forget, forget}, pages: 7,
		},
		"gone or retired before": {
			policy: policy, jobs: accounts{
				ended: slices.Concat(some(2, "gone", "a", day(11)), some(2, "retired", "a", day(11)), some(1, "e", "a", day(11))),
			},
			want: upkeep.JobSweep{Retired: 1}, calls: []string{prune, forget}, pages: 3,
		},
		"some fail": {
			policy: policy, jobs: accounts{
				queued: slices.Concat(some(2, "w", "a", day(11)), some(3, "v", "b", day(11))), ended: some(3, "e", "a", day(11)),
				fails: map[string]error{"expire a": broken, "retire e-001": broken, "events e-002": broken},
			},
			want: upkeep.JobSweep{Expired: 3, Retired: 1, Failed: 3}, calls: []string{prune, forget}, pages: 4,
		},
		"the database is away for an account": {
			policy: policy, jobs: accounts{queued: some(2, "w", "a", day(11)), fails: map[string]error{"expire a": errAway}}, err: errAway, pages: 1,
		},
		"the database is away for a job": {
			policy: policy, jobs: accounts{ended: some(2, "e", "a", day(11)), fails: map[string]error{"retire e-000": errAway}},
			err: errAway, pages: 2,
		},
		"waiting jobs cannot be read": {policy: policy, jobs: accounts{fails: map[string]error{"queued": broken}}, err: broken, pages: 1},
		"ended jobs cannot be read":   {policy: policy, jobs: accounts{fails: map[string]error{"ended": broken}}, err: broken, pages: 2},
		"no pruning": {
			policy: policy, jobs: accounts{prunable: 100, fails: map[string]error{"prune": broken}}, err: broken, calls: []string{prune}, pages: 2,
		},
		"no forgetting": {
			policy: policy, jobs: accounts{stored: 100, fails: map[string]error{"forget": broken}}, err: broken,
			calls: []string{prune, forget}, pages: 2,
		},
		"more than one sweep may do": {
			policy: policy, jobs: accounts{
				queued: some(5200, "w", "a", day(11)), ended: some(5200, "e", "a", day(11)), prunable: 5200, stored: 5200,
			},
			want:  upkeep.JobSweep{Expired: 5000, Retired: 5000, Pruned: 5000, Forgotten: 5000},
			calls: slices.Concat(slices.Repeat([]string{prune}, 50), slices.Repeat([]string{forget}, 50)), pages: 100,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &upkeep.Retention{Jobs: &c.jobs, Archives: mem.New(), Log: quiet, Policy: c.policy}
			value, err := execute(r.ExpireJobs)
			require.Equal(t, c.calls, c.jobs.calls)
			require.Equal(t, c.pages, c.jobs.pages)
			if c.err != nil {
				require.ErrorContains(t, err, c.err.Error())
				return
			}
			require.NoError(t, err)
			var done upkeep.JobSweep
			require.NoError(t, value.Get(&done))
			require.Equal(t, c.want, done)
			require.Len(t, c.jobs.expired, done.Expired)
			require.Len(t, c.jobs.retired, done.Retired)
		})
	}
}

// stubborn are assets of which some cannot be ended.
type stubborn struct {
	expiring
	failing []asset.ID
	away    error
	passed  [][]asset.ID
}

func (s *stubborn) Expire(ctx context.Context, limit int, pass []asset.ID) (int, []asset.ID, error) {
	s.passed = append(s.passed, slices.Clone(pass))
	failed := s.failing[:min(len(s.failing), limit)]
	s.failing = s.failing[len(failed):]
	n, _, err := s.expiring.Expire(ctx, limit-len(failed), pass)
	return n, failed, errors.Join(err, s.away)
}

// Assets that cannot be ended do not keep others from their end, and are not looked at again in the same sweep.
func TestAssetsThatCannotBeEndedAreLeftOut(t *testing.T) {
	t.Parallel()
	s := &stubborn{expiring: expiring{left: 250}, failing: []asset.ID{"1", "2"}}
	var ended int
	run(t, (&upkeep.Retention{Assets: s, Log: quiet}).ExpireAssets, nil, &ended)
	require.Equal(t, 250, ended)
	require.Equal(t, [][]asset.ID{nil, {"1", "2"}}, s.passed)
	s = &stubborn{expiring: expiring{left: 250}, away: errAway}
	_, err := execute((&upkeep.Retention{Assets: s, Log: quiet}).ExpireAssets)
	require.ErrorContains(t, err, "expire assets: ")
	require.Zero(t, s.forgotten)
}

// absent is a store of blobs that is away.
type absent struct{ *mem.Store }

func (absent) Open(context.Context, blob.Ref) (blob.Reader, error) { return nil, errAway }

// What an earlier workflow recorded of an upload is not recorded again, and an upload that cannot be read now is tried again.
func TestAnUploadIsTakenUpWhereItWasLeft(t *testing.T) {
	t.Parallel()
	blobs, at := mem.New(), time.Now()
	ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
	require.NoError(t, err)
	one := asset.IngestRef{Account: "a", Asset: "1"}
	records := &shelf{all: map[asset.ID]asset.Asset{"1": {ID: "1", Hash: ref, VerifiedAt: &at}}}
	i := &upkeep.Ingest{Records: records, Blobs: blobs, Quick: true, Scanner: scanner{}, Log: quiet}
	done, err := i.VerifyAsset(t.Context(), one)
	require.NoError(t, err)
	require.True(t, done.Complete)
	require.Empty(t, records.verified)
	require.Equal(t, []asset.Scan{clean}, records.scans)
	records.full = errAway
	_, err = i.VerifyAsset(t.Context(), one)
	require.ErrorIs(t, err, errAway)

	records = &shelf{all: map[asset.ID]asset.Asset{"1": {ID: "1", Hash: ref}, "2": {ID: "2", Hash: ref, Damaged: true}}}
	i.Records, i.Blobs = records, absent{blobs}
	done, err = i.VerifyAsset(t.Context(), one)
	require.ErrorIs(t, err, errAway)
	require.ErrorContains(t, err, "verify asset 1: ")
	require.False(t, done.Complete)
	require.ErrorContains(t, i.ScanAsset(t.Context(), one), "open asset 1: ")
	require.NoError(t, i.ScanAsset(t.Context(), asset.IngestRef{Account: "a", Asset: "2"}), "a damaged one is not scanned")
	require.NoError(t, i.ScanAsset(t.Context(), asset.IngestRef{Account: "a", Asset: "3"}), "nor one that is gone")
	require.Empty(t, records.verified)
	require.Empty(t, records.scans)
	require.NoError(t, i.GiveUpScan(t.Context(), one))
	require.Equal(t, []asset.Scan{{Verdict: asset.NotKnown, Reason: "the scan did not finish"}}, records.scans)
	records.away = errAway
	require.ErrorIs(t, i.ScanAsset(t.Context(), one), errAway)
}

// ordering is a keeper of machines with orders.
type ordering struct {
	keeper
	err error
}

func (o ordering) Next(_ context.Context, name string, inFlight []string) (pool.Orders, bool, error) {
	return pool.Orders{Start: []string{name + "-1"}, Stop: inFlight}, true, o.err
}

// The orders of a pool reach its workflow.
func TestTheOrdersOfAPool(t *testing.T) {
	t.Parallel()
	var orders upkeep.MachineOrders
	run(t, (&upkeep.Machines{Keeper: ordering{}}).AwaitOrders, upkeep.NextParams{Pool: "p", InFlight: []string{"p-2"}}, &orders)
	require.Equal(t, upkeep.MachineOrders{Start: []string{"p-1"}, Stop: []string{"p-2"}, Over: true}, orders)
	_, err := execute((&upkeep.Machines{Keeper: ordering{err: errAway}}).AwaitOrders, upkeep.NextParams{Pool: "p"})
	require.ErrorContains(t, err, errAway.Error())
}

// wanted is a download and its end.
type wanted struct {
	request download.Request
	over    bool
	ended   []download.CompletedV1
	failed  []download.FailedV1
	past    []task.Progress
}

func (w *wanted) Get(context.Context, string, task.ID) (state download.Download, err error) {
	if len(w.past) > 0 {
		state.Progress = w.past[len(w.past)-1]
	}
	return state, nil
}

func (w *wanted) RecordProgress(_ context.Context, p task.Progress) error {
	w.past = append(w.past, p)
	return nil
}

func (w *wanted) Begin(context.Context, task.Ref) (state download.Download, open bool, err error) {
	state.Requested.Request, state.RequestID = w.request, "r"
	return state, !w.over, nil
}

func (w *wanted) Fail(_ context.Context, _ task.Ref, failure download.FailedV1) error {
	w.failed = append(w.failed, failure)
	return nil
}

func (w *wanted) Complete(_ context.Context, _ task.Ref, done download.CompletedV1) error {
	w.ended = append(w.ended, done)
	return nil
}

// stored records the assets of downloads, of an account that may have the bytes.
type stored struct {
	asset.Store
	has  bool
	made []asset.New
}

func (s *stored) HasBytes(context.Context, string, blob.Ref) (bool, error) { return s.has, nil }

func (s *stored) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	s.made = append(s.made, n)
	return asset.Stored{Asset: asset.Asset{ID: "made", Size: n.Size}}, nil
}

func (s *stored) Reference(_ context.Context, n asset.New) (asset.Stored, bool, error) {
	return asset.Stored{Asset: asset.Asset{ID: "same", Size: 7}}, true, nil
}

// A download ends with its asset, which may exist, or with the reason that its owner reads. A source that may recover, and an outage
// of this service, are tried again.
func TestADownloadEndsWithItsAssetOrTheReason(t *testing.T) {
	t.Parallel()
	const text = "content"
	sum := sha256.Sum256([]byte(text))
	right, ref := hex.EncodeToString(sum[:]), blob.Sum([]byte(text))
	other := blob.Sum([]byte("other"))
	limited := fault.New(fault.Conflict, fault.CodeSourceRateLimited, "the source is busy")
	weight := func(hash *blob.Ref, sha string) *download.Weight { return &download.Weight{Hash: hash, SHA256: sha} }
	file, made := []string{"file"}, []download.CompletedV1{{Name: "x", Asset: "made", Size: 7}}
	for name, c := range map[string]struct {
		weight      *download.Weight
		over        bool
		found       bool  // an earlier attempt made the asset
		lookup      error // of that asset
		has         bool
		kind        string
		fetch, fits error
		want        []download.CompletedV1
		failed      []download.FailedV1
		again       string // the error
		made        string // content type of the asset
		fetches     []string
	}{
		"over":                    {over: true},
		"made by an earlier one":  {found: true, want: []download.CompletedV1{{Name: "x", Asset: "earlier", Size: 3}}},
		"the database is away":    {lookup: errAway, again: errAway.Error()},
		"fetched":                 {kind: "text/plain; charset=utf-8", made: "text/plain", want: made, fetches: file},
		"of no kind":              {kind: "application/octet-stream", made: "image/guess", want: made, fetches: file},
		"of a kind without sense": {kind: "a b;", made: "image/guess", want: made, fetches: file},
		"stored already":          {has: true, want: []download.CompletedV1{{Name: "x", Asset: "same", Size: 7, Found: true}}, fetches: file},
		"a weight": {
			weight: weight(nil, ""), kind: "text/plain", made: "text/plain", want: made,
			fetches: []string{"weight"},
		},
		"a weight with its digests": {
			weight: weight(&ref, right), kind: "text/plain", made: "text/plain", want: made,
			fetches: []string{"weight"},
		},
		"a weight with another SHA-256": {
			weight: weight(nil, strings.Repeat("0", 64)), fetches: []string{"weight"}, failed: []download.FailedV1{{
				Name: "x", Code: string(fault.CodeHashMismatch), Message: "the file has the SHA-256 " + right + ", and not " + strings.Repeat("0", 64),
			}},
		},
		"a weight with another hash": {
			weight: weight(&other, ""), fetches: []string{"weight"}, failed: []download.FailedV1{{
				Name: "x", Code: string(fault.CodeHashMismatch), Message: "the bytes have the hash " + ref.String(),
			}},
		},
		"refused": {
			fetch: fault.New(fault.Denied, fault.CodeForbidden, "not yours"), fetches: file,
			failed: []download.FailedV1{{Name: "x", Code: string(fault.CodeForbidden), Message: "not yours"}},
		},
		"a source that may recover": {fetch: limited, again: "the source may recover", fetches: file},
		"no space":                  {fits: errAway, again: errAway.Error(), fetches: file},
		"a bug":                     {fetch: errors.New("a bug"), again: "a bug", fetches: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records, assets := &wanted{over: c.over}, &stored{has: c.has}
			records.request = download.Request{Source: "https://example.com/x", Asset: "1", Name: "x", Guess: "image/guess", Weight: c.weight}
			blobs := mem.New()
			_, err := blob.PutBytes(t.Context(), blobs, []byte(text))
			require.NoError(t, err)
			var fetches []string
			fetch := func(what string) func(context.Context, string) (io.ReadCloser, string, int64, error) {
				return func(_ context.Context, address string) (io.ReadCloser, string, int64, error) {
					require.Equal(t, "https://example.com/x", address)
					fetches = append(fetches, what)
					return io.NopCloser(strings.NewReader(text)), c.kind, -1, c.fetch
				}
			}
			x := &upkeep.Downloads{
				Records: records, Bus: &bus{}, Log: quiet, Assets: asset.NewService(assets, blobs, asset.Options{}),
				Find: func(_ context.Context, account string, id asset.PublicID) (asset.Asset, error) {
					require.Equal(t, []string{"a", "1"}, []string{account, string(id)})
					switch {
					case c.lookup != nil:
						return asset.Asset{}, c.lookup
					case c.found:
						return asset.Asset{ID: "earlier", Size: 3}, nil
					}
					return asset.Asset{}, fault.New(fault.NotFound, "", "not yet")
				},
				Fetch: fetch("file"), FetchWeight: fetch("weight"),
				Fits: func(context.Context, string, int64) error { return c.fits },
			}
			_, err = execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
			require.Equal(t, c.want, records.ended)
			require.Equal(t, c.failed, records.failed)
			require.Equal(t, c.fetches, fetches)
			if c.again != "" {
				require.ErrorContains(t, err, c.again)
				var app *temporal.ApplicationError
				require.ErrorAs(t, err, &app)
				require.False(t, app.NonRetryable())
				return
			}
			require.NoError(t, err)
			if c.made == "" {
				require.Empty(t, assets.made)
				return
			}
			require.Len(t, assets.made, 1)
			require.Equal(t, c.made, assets.made[0].ContentType)
			require.Equal(t, "r", assets.made[0].RequestID)
		})
	}
}
