package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// register is the records of assets with calls that may fail. It notes each question and each record.
type register struct {
	*faulttest.Calls
	all  map[asset.ID]asset.Asset
	did  []string
	many []asset.Ingested
}

func (r *register) Get(_ context.Context, account string, id asset.ID) (asset.Asset, bool, error) {
	a, err := faulttest.Try(r.Calls, "get", func() (asset.Asset, error) { return r.all[id], nil })
	r.did = append(r.did, fmt.Sprint("get ", account, "/", id))
	return a, a.ID != "", err
}

func (r *register) GetAll(_ context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	r.did = append(r.did, fmt.Sprint("get ", account, "/", ids))
	return faulttest.Try(r.Calls, "get all", func() (map[asset.ID]asset.Asset, error) { return r.all, nil })
}

func (r *register) RecordVerified(_ context.Context, account string, id asset.ID, e asset.VerifiedV1) error {
	return r.Do("record verified", func() error {
		r.did = append(r.did, fmt.Sprintf("verified %s/%s: %t, %d bytes, scan %t", account, id, e.OK, e.Size, e.Scan != nil))
		return nil
	})
}

func (r *register) RecordScan(_ context.Context, account string, id asset.ID, found asset.Scan) error {
	return r.Do("record scan", func() error {
		r.did = append(r.did, fmt.Sprintf("scanned %s/%s: %s", account, id, found.Verdict))
		return nil
	})
}

func (r *register) RecordAll(_ context.Context, account string, all []asset.Ingested) error {
	return r.Do("record all", func() error {
		r.did, r.many = append(r.did, "recorded for "+account), append(r.many, all...)
		return nil
	})
}

// lender is a store of blobs that counts the readers that are open, and that cannot be read for as long as it is away.
type lender struct {
	*mem.Store
	open atomic.Int64
	away error
}

func (l *lender) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	if l.away != nil {
		return nil, l.away
	}
	r, err := l.Store.Open(ctx, ref)
	if err == nil {
		l.open.Add(1)
	}
	return lent{r, l}, err
}

type lent struct {
	blob.Reader
	of *lender
}

func (r lent) Close() error {
	r.of.open.Add(-1)
	return r.Reader.Close()
}

// The findings about an upload are recorded for that upload, and each call that fails is an error. Bytes that are lost are damaged.
func TestWhatIsFoundOutIsRecordedForItsUpload(t *testing.T) {
	t.Parallel()
	there, lost := []byte("x"), blob.Sum([]byte("lost"))
	one := asset.IngestRef{Account: "a", Asset: "1"}
	verify := func(i *upkeep.Ingest) (bool, error) {
		got, err := i.VerifyAsset(context.Background(), one)
		return got.Complete, err
	}
	scan := func(i *upkeep.Ingest) (bool, error) { return false, i.ScanAsset(context.Background(), one) }
	giveUp := func(i *upkeep.Ingest) (bool, error) { return false, i.GiveUpScan(context.Background(), one) }
	for name, c := range map[string]struct {
		do       func(*upkeep.Ingest) (bool, error)
		lost     bool
		slow     bool // scanner
		complete bool
		did      []string
	}{
		"verified and scanned": {verify, false, false, true, []string{"get a/1", "verified a/1: true, 1 bytes, scan true"}},
		"verified":             {verify, false, true, false, []string{"get a/1", "verified a/1: true, 1 bytes, scan false"}},
		"lost":                 {verify, true, false, true, []string{"get a/1", "verified a/1: false, 0 bytes, scan false"}},
		"scanned":              {scan, false, true, false, []string{"get a/1", "scanned a/1: clean"}},
		"not scanned":          {giveUp, false, true, false, []string{"scanned a/1: unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for f := range faulttest.Each {
				blobs := &lender{Store: mem.New()}
				ref, err := blob.PutBytes(t.Context(), blobs.Store, there)
				require.NoError(t, err)
				if c.lost {
					ref = lost
				}
				r := &register{Calls: f, all: map[asset.ID]asset.Asset{"1": {ID: "1", Account: "a", Hash: ref}}}
				complete, err := c.do(&upkeep.Ingest{Records: r, Blobs: blobs, Quick: !c.slow, Scanner: scanner{}, Log: quiet})
				require.Zero(t, blobs.open.Load(), "readers that are open")
				if f.Failed() {
					require.ErrorIs(t, err, faulttest.ErrAway, "call %d", f.Fail)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, c.complete, complete)
				require.Equal(t, c.did, r.did)
			}
		})
	}
}

// Of several uploads, those that are recorded already are left as they are, and those that need more than a read and a scan are left to
// workflows of their own. The others are recorded at once.
func TestSeveralUploadsAreRecordedAtOnce(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for f := range faulttest.Each {
		blobs := &lender{Store: mem.New()}
		put := func(text string) blob.Ref {
			ref, err := blob.PutBytes(t.Context(), blobs.Store, []byte(text))
			require.NoError(t, err)
			return ref
		}
		there := put("xy")
		r := &register{Calls: f, all: map[asset.ID]asset.Asset{
			"damaged": {ID: "damaged", Hash: there, Damaged: true}, "scanned": {ID: "scanned", Hash: there, Scan: &clean},
			"verified": {ID: "verified", Hash: there, VerifiedAt: &at}, "new": {ID: "new", Hash: there},
			"lost": {ID: "lost", Hash: blob.Sum([]byte("lost"))}, "large": {ID: "large", Hash: put(strings.Repeat("x", 1<<20+1))},
		}}
		params := upkeep.VerifyAssetsParams{Workflow: "w"}
		for _, id := range []asset.ID{"damaged", "scanned", "verified", "new", "gone", "lost", "large"} {
			params.Assets = append(params.Assets, asset.IngestRef{Account: "a", Asset: id})
		}
		i := &upkeep.Ingest{Records: r, Blobs: blobs, Quick: true, Scanner: scanner{}, Log: quiet}
		got, err := i.VerifyAssets(t.Context(), params)
		require.Zero(t, blobs.open.Load(), "readers that are open")
		if f.Failed() {
			require.ErrorIs(t, err, faulttest.ErrAway)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []asset.IngestRef{{Account: "a", Asset: "verified"}, {Account: "a", Asset: "large"}}, got.Left)
		require.Equal(t, []string{"get a/[damaged scanned verified new gone lost large]", "recorded for a"}, r.did)
		require.Equal(t, []asset.Ingested{
			{Asset: "new", Verified: asset.VerifiedV1{OK: true, Size: 2, Workflow: "w", Scan: &clean}},
			{Asset: "lost", Verified: asset.VerifiedV1{Workflow: "w"}},
		}, r.many)

		f.Reset(0)
		params.Assets = params.Assets[3:4]
		for name, change := range map[string]func(){
			"a slow scanner":       func() { i.Quick = false },
			"blobs that are away":  func() { i.Quick, blobs.away = true, errAway },
			"no blobs and no scan": func() { i.Quick, blobs.away = false, errAway },
		} {
			change()
			r.did, r.many = nil, nil
			got, err = i.VerifyAssets(t.Context(), params)
			require.NoError(t, err, name)
			require.Equal(t, params.Assets, got.Left, name)
			require.Equal(t, []string{"get a/[new]"}, r.did, "%s: nothing is recorded", name)
			blobs.away = nil
		}
	}
}

// tardy is a scanner that takes five seconds.
type tardy struct{}

func (tardy) Scan(context.Context, asset.Asset, io.ReadSeeker) (asset.Scan, error) {
	<-time.After(5 * time.Second)
	return clean, nil
}

// One attempt at several uploads reads and scans for ten seconds. The uploads that remain are left.
func TestABatchOfUploadsEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blobs := mem.New()
		ref, err := blob.PutBytes(t.Context(), blobs, []byte("x"))
		require.NoError(t, err)
		r := &register{Calls: &faulttest.Calls{}, all: map[asset.ID]asset.Asset{}}
		var refs []asset.IngestRef
		for _, id := range []asset.ID{"1", "2", "3", "4"} {
			r.all[id] = asset.Asset{ID: id, Hash: ref}
			refs = append(refs, asset.IngestRef{Account: "a", Asset: id})
		}
		i := &upkeep.Ingest{Records: r, Blobs: blobs, Quick: true, Scanner: tardy{}, Log: quiet}
		got, err := i.VerifyAssets(t.Context(), upkeep.VerifyAssetsParams{Assets: refs})
		require.NoError(t, err)
		require.Equal(t, refs[2:], got.Left)
		require.Len(t, r.many, 2)
	})
}

// commanded notes the commands of a pool.
type commanded struct {
	upkeep.MachineKeeper
	did []string
}

func (c *commanded) Start(_ context.Context, name, machine string) error {
	c.did = append(c.did, "start "+machine+" of "+name)
	return nil
}

func (c *commanded) Stop(_ context.Context, name, machine string) error {
	c.did = append(c.did, "stop "+machine+" of "+name)
	return nil
}

// A command reaches the machine that it names.
func TestACommandReachesItsMachine(t *testing.T) {
	t.Parallel()
	keeper := &commanded{}
	m := &upkeep.Machines{Keeper: keeper}
	require.NoError(t, m.StartMachine(t.Context(), upkeep.MachineParams{Pool: "p", Machine: "1"}))
	require.NoError(t, m.StopMachine(t.Context(), upkeep.MachineParams{Pool: "p", Machine: "2"}))
	require.Equal(t, []string{"start 1 of p", "stop 2 of p"}, keeper.did)
}

// closing is a source that notes whether it was closed.
type closing struct {
	io.Reader
	open *int
}

func (c closing) Close() error {
	*c.open--
	return nil
}

// fetching returns downloads of a content, which leave no source open.
func fetching(t *testing.T, records upkeep.DownloadRecords, assets asset.Store, content func() (io.Reader, error),
) (*upkeep.Downloads, *bus) {
	t.Helper()
	open, frames := 0, &bus{}
	t.Cleanup(func() { require.Zero(t, open, "sources that are open") })
	return &upkeep.Downloads{
		Records: records, Bus: frames, Log: quiet, Assets: asset.NewService(assets, mem.New(), asset.Options{}),
		Find: func(context.Context, string, asset.PublicID) (asset.Asset, error) {
			return asset.Asset{}, fault.New(fault.NotFound, "", "not yet")
		},
		Fetch: func(context.Context, string) (io.ReadCloser, string, int64, error) {
			source, err := content()
			if err != nil {
				return nil, "", -1, err
			}
			open++
			return closing{source, &open}, "", -1, nil
		},
		Fits: func(context.Context, string, int64) error { return nil },
	}, frames
}

// A refusal ends a download with its reason. An outage, and what nobody has classified, do not: the download is tried again.
func TestOnlyARefusalEndsADownload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		ends bool
	}{
		{fault.New(fault.Invalid, "", "no"), true},
		{fault.New(fault.NotFound, "", "no"), true},
		{fault.New(fault.Conflict, "", "no"), true},
		{fault.New(fault.Denied, "", "no"), true},
		{fault.New(fault.Exhausted, "", "no"), true},
		{fault.New(fault.Exhausted, fault.CodeDiskFull, "no"), false},
		{fault.New(fault.Unavailable, "", "no"), false},
		{fault.New(fault.Canceled, "", "no"), false},
		{fault.New(fault.Internal, "", "no"), false},
		{errors.New("no"), false},
	} {
		records := &wanted{}
		x, _ := fetching(t, records, &stored{}, func() (io.Reader, error) { return nil, c.err })
		_, err := execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
		require.Equal(t, c.ends, err == nil, "%v", c.err)
		require.Equal(t, c.ends, len(records.failed) == 1, "%v", c.err)
		require.Empty(t, records.ended)
	}
	x, _ := fetching(t, &source{}, &stored{}, func() (io.Reader, error) { return nil, fault.New(fault.Denied, "", "no") })
	_, err := execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
	require.ErrorContains(t, err, errUnrecorded.Error(), "a failure that is not recorded ends nothing")
	records := &wanted{}
	require.NoError(t, (&upkeep.Downloads{Records: records}).GiveUpDownload(t.Context(), task.Ref{}))
	require.Equal(t, []download.FailedV1{{Code: "internal_error", Message: "The file could not be fetched."}}, records.failed)
}

// unbegun is a download that cannot begin.
type unbegun struct{ wanted }

func (*unbegun) Begin(context.Context, task.Ref) (download.Download, bool, error) {
	return download.Download{}, true, errAway
}

// unsure is an account whose bytes are not known.
type unsure struct{ stored }

func (unsure) HasBytes(context.Context, string, blob.Ref) (bool, error) { return false, errAway }

// A download that cannot begin fetches nothing, and one whose asset cannot be looked for has not ended.
func TestAnOutageEndsNoDownload(t *testing.T) {
	t.Parallel()
	fetches := 0
	content := func() (io.Reader, error) { fetches++; return strings.NewReader("x"), nil }
	begin := &unbegun{}
	x, _ := fetching(t, begin, &stored{}, content)
	_, err := execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
	require.ErrorContains(t, err, errAway.Error())
	require.Zero(t, fetches)
	records := &wanted{}
	x, _ = fetching(t, records, &unsure{}, content)
	_, err = execute(x.FetchDownload, task.Ref{Account: "a", Task: "t"})
	require.ErrorContains(t, err, errAway.Error())
	require.Equal(t, 1, fetches)
	require.Empty(t, slices.Concat(records.failed, begin.failed))
	require.Empty(t, records.ended)
}

// A source that may recover is asked four times. Then the download ends with its reason.
func TestASourceThatMayRecoverIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	asked, records := 0, &wanted{}
	x, _ := fetching(t, records, &stored{}, func() (io.Reader, error) {
		asked++
		return nil, fault.New(fault.Conflict, fault.CodeSourceRateLimited, "the source is busy")
	})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)                                             // three seconds otherwise
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // one second otherwise
	env.RegisterActivity(x.FetchDownload)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 9},
		})
		return workflow.ExecuteActivity(ctx, x.FetchDownload, task.Ref{Account: "a", Task: "t"}).Get(ctx, nil)
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 4, asked)
	require.Equal(t, []download.FailedV1{{Code: string(fault.CodeSourceRateLimited), Message: "the source is busy"}}, records.failed)
}

// trickle is a source that takes an eighth of a second for each byte.
type trickle struct{ left int }

func (s *trickle) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	<-time.After(125 * time.Millisecond)
	s.left--
	return copy(p, "x"), nil
}

// The progress of a download is published four times in a second at most, and recorded once.
func TestProgressIsPublishedAtABoundedRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := &wanted{request: download.Request{Name: "x"}}
		x, frames := fetching(t, records, &stored{}, func() (io.Reader, error) { return &trickle{10}, nil })
		run(t, x.FetchDownload, task.Ref{Account: "a", Task: "t"}, nil)
		synctest.Wait()
		var done []int64
		for _, f := range frames.frames {
			require.Equal(t, "a", f.Account)
			require.Zero(t, f.Task.Bytes, "the size is not known")
			done = append(done, f.Task.Done)
		}
		require.Equal(t, []int64{1, 3, 5, 7, 9}, done)
		require.Len(t, records.past, 2)
		require.EqualValues(t, 9, records.past[1].Done)
	})
}

// shelves is an account with several files, the export that packs them, and its end.
type shelves struct {
	archive
	known map[asset.PublicID]files.Entry
	done  []export.CompletedV1
}

func (s *shelves) Known(context.Context, string, []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	return s.known, nil
}

func (s *shelves) Begin(context.Context, task.Ref) (state export.Export, open bool, err error) {
	state.Requested = export.RequestedV1{
		Name: "e.zip", Request: export.Request{Assets: []asset.PublicID{"1", "2", "3"}, Naming: export.Preserve}, Files: 3,
	}
	return state, true, nil
}

func (s *shelves) Complete(ctx context.Context, ref task.Ref, made asset.New, done export.CompletedV1) error {
	s.done = append(s.done, done)
	return s.archive.Complete(ctx, ref, made, done)
}

// roomy are blobs whose writers may fail to begin or to commit, and are counted.
type roomy struct {
	*lender
	*faulttest.Calls
	writers int
}

func (r *roomy) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	w, err := faulttest.Try(r.Calls, "create", func() (blob.Writer, error) { return r.lender.Create(ctx, d) })
	if err != nil {
		return nil, err
	}
	r.writers++
	return room{w, r}, nil
}

type room struct {
	blob.Writer
	of *roomy
}

func (w room) Commit(ctx context.Context) (blob.Stored, error) {
	return faulttest.Try(w.of.Calls, "commit", func() (blob.Stored, error) { return w.Writer.Commit(ctx) })
}

func (w room) Abort() error {
	w.of.writers--
	return w.Writer.Abort()
}

// An archive has the files that can be read, and its export says which are missing. An archive that cannot be stored is tried again.
func TestAnExportSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for f := range faulttest.Each {
		synctest.Test(t, func(t *testing.T) {
			blobs := &roomy{lender: &lender{Store: mem.New()}, Calls: f}
			s := &shelves{known: map[asset.PublicID]files.Entry{}}
			for n, id := range []asset.PublicID{"1", "2"} {
				ref, err := blob.PutBytes(t.Context(), blobs.Store, []byte("file "+string(id)))
				require.NoError(t, err)
				s.known[id] = files.Entry{
					Asset: asset.ID(id), Public: id, Account: "a", Hash: ref, Size: 6, Place: asset.Place{Filename: string(id) + ".png"},
				}
				require.Equal(t, n == 1, n == 1 && blobs.Damage(ref))
			}
			frames := &bus{}
			x := &upkeep.Exports{
				Records: s, Chooser: export.Chooser{Jobs: s, Files: s, Shelf: s}, Blobs: blobs, Bus: frames, Log: quiet, Retention: time.Hour,
			}
			now := time.Now()
			_, err := execute(x.PackExport, task.Ref{Account: "a", Task: "t"})
			synctest.Wait()
			require.Zero(t, blobs.writers, "writers that are open")
			require.Empty(t, s.failed)
			if f.Failed() {
				require.ErrorContains(t, err, faulttest.ErrAway.Error())
				require.ErrorContains(t, err, " the archive of export t")
				require.Empty(t, s.packed)
				return
			}
			require.NoError(t, err)
			until := now.UTC().Add(time.Hour)
			stored := s.packed[0]
			require.Equal(t, []asset.New{{
				Origin: asset.Archived, Hash: stored.Hash, Size: stored.Size, ContentType: "application/zip", Deadline: &until,
				About: asset.About{Name: "e.zip"},
			}}, s.packed)
			size, err := blobs.Stat(t.Context(), stored.Hash)
			require.NoError(t, err)
			require.Equal(t, size, stored.Size)
			require.Equal(t, []export.CompletedV1{{
				Name: "e.zip", Size: size, Files: 3, Packed: 1, Bytes: 6, Missing: []export.Missing{
					{Asset: "3", Error: "not_found"}, {Asset: "2", Name: "2.png", Error: "fetch_failed"},
				},
			}}, s.done)
			require.NotEmpty(t, frames.frames)
			first := frames.frames[0]
			require.Equal(t, "a", first.Account)
			require.Equal(t, []any{task.Export, task.ID("t")}, []any{first.Task.Kind, first.Task.Task})
			require.Equal(t, []any{3, int64(12)}, []any{first.Task.Files, first.Task.Bytes})
		})
	}
	s := &archive{}
	require.NoError(t, (&upkeep.Exports{Records: s}).GiveUpExport(t.Context(), task.Ref{}))
	require.Equal(t, []export.FailedV1{{Code: "internal_error", Message: "The files could not be packed."}}, s.failed)
}

// forgetful are assets whose keys cannot be forgotten.
type forgetful struct{ expiring }

func (*forgetful) Forget(context.Context) error { return errAway }

// A sweep of assets or blobs that could not end is tried again.
func TestASweepThatCouldNotEndIsTriedAgain(t *testing.T) {
	t.Parallel()
	_, err := execute((&upkeep.Retention{Assets: &forgetful{}, Log: quiet}).ExpireAssets)
	require.ErrorContains(t, err, errAway.Error())
	unknown := asset.Collector{Blobs: unlisted{mem.New()}, References: asset.Unreferenced{}}
	_, err = execute((&upkeep.Retention{Collectors: []asset.Collector{unknown}, Log: quiet}).CollectBlobs)
	require.ErrorContains(t, err, errAway.Error())
}

// unlisted are blobs that cannot be listed.
type unlisted struct{ *mem.Store }

func (unlisted) Walk(context.Context, func(blob.Entry) error) error { return errAway }

// Each step of a sweep that may take long tells Temporal that it goes on.
func TestALongSweepSendsHeartbeats(t *testing.T) {
	t.Parallel()
	day := time.Now().AddDate(0, 0, -40)
	policy := upkeep.JobPolicy{Retention: 24 * time.Hour, Archives: 24 * time.Hour}
	blobs := mem.New()
	jobs := func(all *accounts) any {
		return (&upkeep.Retention{Jobs: all, Archives: blobs, Log: quiet, Policy: policy}).ExpireJobs
	}
	for name, c := range map[string]struct {
		activity any
		beats    bool
	}{
		"no assets":       {(&upkeep.Retention{Assets: &expiring{left: 199}, Log: quiet}).ExpireAssets, false},
		"assets":          {(&upkeep.Retention{Assets: &expiring{left: 200}, Log: quiet}).ExpireAssets, true},
		"blobs":           {(&upkeep.Retention{Collectors: []asset.Collector{{Blobs: blobs}}, Log: quiet}).CollectBlobs, true},
		"no jobs":         {jobs(&accounts{}), false},
		"waiting jobs":    {jobs(&accounts{queued: some(1, "w", "a", day)}), true},
		"prunable jobs":   {jobs(&accounts{prunable: 100}), true},
		"stored archives": {jobs(&accounts{stored: 100}), true},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(time.Minute) // an activity has three seconds otherwise
		var beats atomic.Int64
		env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats.Add(1) })
		env.RegisterActivity(c.activity)
		_, err := env.ExecuteActivity(c.activity)
		require.NoError(t, err, name)
		require.Equal(t, c.beats, beats.Load() > 0, name)
	}
}

// A job that ended late keeps its events for a while after its end. The archive of one that is retired has all of them, and names the
// blob of its submission.
func TestARetiredJobIsArchivedWhole(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	submitted := now.AddDate(0, 0, -40)
	document := blob.Sum([]byte("a large submission"))
	events := func(document string) []eventlog.Recorded {
		return []eventlog.Recorded{
			{Version: 1, Type: job.TypeSubmitted, Data: []byte(document)}, {Version: 2, Type: job.TypeSucceeded, Data: []byte(`{}`)},
		}
	}
	inBlob := `{"document":{"blob":"` + document.String() + `"}}`
	for name, c := range map[string]struct {
		ended    time.Time
		document string
		want     upkeep.JobSweep
	}{
		"long ago":         {submitted, inBlob, upkeep.JobSweep{Retired: 1}},
		"late":             {now.Add(-time.Minute), inBlob, upkeep.JobSweep{}},
		"a bad submission": {submitted, `{"document":{"blob":"x"}}`, upkeep.JobSweep{Failed: 1}},
		"no submission":    {submitted, `[]`, upkeep.JobSweep{Failed: 1}},
	} {
		archives := mem.New()
		jobs := &ended{
			job:    job.Job{ID: "j", Account: "a", State: job.Succeeded, SubmittedAt: submitted, EndedAt: &c.ended},
			events: events(c.document),
		}
		var done upkeep.JobSweep
		run(t, (&upkeep.Retention{Jobs: jobs, Archives: archives, Log: quiet, Policy: upkeep.JobPolicy{
			Retention: 24 * time.Hour, Now: func() time.Time { return now },
		}}).ExpireJobs, nil, &done)
		require.Equal(t, c.want, done, name)
		if c.want.Retired == 0 {
			require.Empty(t, jobs.retired, name)
			continue
		}
		var packed bytes.Buffer
		require.NoError(t, job.WriteArchive(&packed, jobs.events))
		require.Equal(t, []job.Retirement{{
			ID: "j", Account: "a", Version: 2, Archive: blob.Sum(packed.Bytes()), Document: document,
		}}, jobs.retired, name)
		_, err := archives.Stat(t.Context(), blob.Sum(packed.Bytes()))
		require.NoError(t, err)
	}
}
