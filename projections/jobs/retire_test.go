package jobs_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// retention is a log of jobs with the sweep over it.
type retention struct {
	*log
	jobs  *jobstore.Store
	blobs *mem.Store
	sweep *upkeep.Retention
}

func newRetention(t *testing.T) *retention {
	t.Helper()
	r := &retention{log: newLog(t), blobs: mem.New()}
	r.jobs = jobstore.New(r.pool, r.store)
	r.sweep = &upkeep.Retention{
		Jobs: r.jobs, Archives: r.blobs, Log: slog.New(slog.DiscardHandler),
		Policy: upkeep.JobPolicy{Retention: 30 * 24 * time.Hour, Views: []string{jobs.Name}},
	}
	return r
}

func (r *retention) submit(t *testing.T, doc job.Document, slots int) job.ID {
	t.Helper()
	id := job.NewID()
	_, err := r.jobs.Submit(t.Context(), job.NewJob{
		ID: id, Account: "acme", Bounds: job.Bounds{Slots: slots, QueueDepth: 10},
		Submitted: job.SubmittedV1{Targets: []string{"9"}, NodesTotal: 1, Document: doc},
	})
	require.NoError(t, err)
	return id
}

func (r *retention) end(t *testing.T, id job.ID) {
	t.Helper()
	_, err := r.jobs.End(t.Context(), job.Ending{ID: id, Account: "acme", Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}})
	require.NoError(t, err)
}

// fold brings the view to the end of the log.
func (r *retention) fold(t *testing.T) {
	t.Helper()
	head, err := r.store.Head(t.Context())
	require.NoError(t, err)
	r.foldTo(t, head)
}

// after sweeps as if that much time had passed.
func (r *retention) after(t *testing.T, d time.Duration) upkeep.JobSweep {
	t.Helper()
	r.sweep.Policy.Now = func() time.Time { return time.Now().Add(d) }
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute) // three seconds otherwise
	env.RegisterActivity(r.sweep)
	value, err := env.ExecuteActivity(r.sweep.ExpireJobs)
	require.NoError(t, err)
	var done upkeep.JobSweep
	require.NoError(t, value.Get(&done))
	return done
}

const month = 31 * 24 * time.Hour

func TestEndedJobIsRetiredAndReadableFromTheArchive(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	document, err := blob.PutBytes(t.Context(), r.blobs, []byte(`{"prompt":{}}`))
	require.NoError(t, err)
	id := r.submit(t, job.Document{Blob: document.String()}, 2)
	r.end(t, id)
	kept := r.submit(t, job.Document{Inline: `{"prompt":{}}`}, 2)
	before, err := jobstore.Events(t.Context(), r.pool, nil, id)
	require.NoError(t, err)
	r.fold(t)

	require.Equal(t, upkeep.JobSweep{}, r.after(t, 29*24*time.Hour), "not before its deadline")
	require.Equal(t, upkeep.JobSweep{Retired: 1}, r.after(t, month))
	_, err = r.reader.Job(t.Context(), "acme", id)
	require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(err), "at once, before the view has seen it")
	require.Equal(t, upkeep.JobSweep{}, r.after(t, month), "events stay until the view has seen it")
	r.fold(t)
	require.Equal(t, upkeep.JobSweep{Pruned: 1}, r.after(t, month))
	_, err = r.reader.Job(t.Context(), "acme", id)
	require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(err))
	_, err = r.reader.Job(t.Context(), "acme", kept)
	require.NoError(t, err, "a job that runs is left alone")
	projectiontest.RebuildsSame(t, r.pool, r.view)

	inLog, err := r.store.ReadStream(t.Context(), id.Stream(), 0, 10)
	require.NoError(t, err)
	require.Len(t, inLog, 1)
	after, err := jobstore.Events(t.Context(), r.pool, r.blobs, id)
	require.NoError(t, err)
	require.Len(t, after, len(before)+1)
	for i, event := range before {
		require.Equal(t, event.Data, after[i].Data)
		require.Equal(t, event.ID, after[i].ID)
		require.True(t, event.RecordedAt.Equal(after[i].RecordedAt))
	}
	var retired []byte
	require.NoError(t, r.pool.QueryRow(t.Context(), `select archive from job_archives where job_id = $1`, id).Scan(&retired))
	needed, err := assetstore.New(r.pool, r.store).Referenced(t.Context(), []blob.Ref{document, blob.Ref(retired)})
	require.NoError(t, err)
	require.Equal(t, map[blob.Ref]bool{document: true, blob.Ref(retired): true}, needed, "the collector leaves them")
}

// An archive has a retention of its own, from when it was made: then its blobs are the collector's, the job
// reads as one whose events were erased, and nothing else of the log or the views changes.
func TestAnArchiveEndsAtItsOwnDeadline(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	document, err := blob.PutBytes(t.Context(), r.blobs, []byte(`{"prompt":{}}`))
	require.NoError(t, err)
	id := r.submit(t, job.Document{Blob: document.String()}, 1)
	r.end(t, id)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Retired)
	r.fold(t)
	var archive []byte
	require.NoError(t, r.pool.QueryRow(t.Context(), `select archive from job_archives where job_id = $1`, id).Scan(&archive))
	referenced := func() map[blob.Ref]bool {
		needed, err := assetstore.New(r.pool, r.store).Referenced(t.Context(), []blob.Ref{document, blob.Ref(archive)})
		require.NoError(t, err)
		return needed
	}

	const year = 365 * 24 * time.Hour
	require.Equal(t, upkeep.JobSweep{Pruned: 1}, r.after(t, 10*year), "for ever, unless it is set")
	r.sweep.Policy.Archives = year
	require.Equal(t, upkeep.JobSweep{}, r.after(t, year-time.Hour))
	require.Len(t, referenced(), 2)
	require.Equal(t, upkeep.JobSweep{Forgotten: 1}, r.after(t, year+time.Hour))
	require.Equal(t, upkeep.JobSweep{}, r.after(t, year+time.Hour), "once")
	require.Empty(t, referenced(), "the collector takes them")
	left, err := jobstore.Events(t.Context(), r.pool, r.blobs, id)
	require.NoError(t, err)
	require.Len(t, left, 1, "the event that it was retired stays")
	require.Equal(t, job.TypeRetired, left[0].Type)
	projectiontest.RebuildsSame(t, r.pool, r.view)
}

// A blob that is missing although nobody gave the archive up is a loss, and reported.
func TestMissingArchiveIsAnError(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	id := r.submit(t, job.Document{Inline: "{}"}, 1)
	r.end(t, id)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Retired)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Pruned)
	_, err := jobstore.Events(t.Context(), r.pool, mem.New(), id)
	require.ErrorContains(t, err, "archive")
}

func TestEventsOfRetiredJobsAreErasedIfConfigured(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	r.sweep.Policy.Erase = true
	document, err := blob.PutBytes(t.Context(), r.blobs, []byte(`{"prompt":{}}`))
	require.NoError(t, err)
	id := r.submit(t, job.Document{Blob: document.String()}, 1)
	r.end(t, id)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Retired)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Pruned)
	left, err := jobstore.Events(t.Context(), r.pool, r.blobs, id)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.JSONEq(t, `{"events":3}`, string(left[0].Data))
	needed, err := assetstore.New(r.pool, r.store).Referenced(t.Context(), []blob.Ref{document})
	require.NoError(t, err)
	require.Empty(t, needed)
	projectiontest.RebuildsSame(t, r.pool, r.view)
}

func TestAJobThatWaitedPastItsRetentionExpires(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	running, waiting := r.submit(t, job.Document{Inline: "{}"}, 1), r.submit(t, job.Document{Inline: "{}"}, 1)
	r.fold(t)
	require.Equal(t, upkeep.JobSweep{Expired: 1}, r.after(t, month))
	j, err := r.reader.Job(t.Context(), "acme", waiting)
	require.NoError(t, err)
	require.Equal(t, job.Expired, j.State)
	j, err = r.reader.Job(t.Context(), "acme", running)
	require.NoError(t, err)
	require.Equal(t, job.Running, j.State, "what runs is never ended by retention")
	queued, err := r.jobs.Waiting(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, queued)
	r.fold(t)
	require.Zero(t, r.after(t, time.Hour), "it can be read for a day after its end")
}

// A job that ended in the view but not in the commands, as by a repair that went wrong, must not keep others.
func TestJobThatCannotBeRetiredDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	odd, good := r.submit(t, job.Document{Inline: "{}"}, 2), r.submit(t, job.Document{Inline: "{}"}, 2)
	r.end(t, odd)
	r.end(t, good)
	_, err := r.pool.Exec(t.Context(), `insert into job_slots (job_id, account, run) values ($1, 'acme', 2)`, odd)
	require.NoError(t, err)
	r.fold(t)
	require.Equal(t, upkeep.JobSweep{Retired: 1, Failed: 1}, r.after(t, month))
	_, err = r.reader.Job(t.Context(), "acme", good)
	require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(err))
	_, err = r.reader.Job(t.Context(), "acme", odd)
	require.NoError(t, err)
}

func TestOutputsWithoutADeadlineEndWithTheirJob(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	id := r.submit(t, job.Document{Inline: "{}"}, 1)
	output := asset.OutputID(string(id), 1, "9", 0)
	hash := blob.Sum([]byte("x"))
	_, err := r.pool.Exec(t.Context(), `insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named,
		job_id, run, node, idx)
		values ($1, 'acme', $2, 1, 'image/png', 'output', '', 'a.png', true, $3, 1, '9', 0)`, string(output), hash[:], id)
	require.NoError(t, err)
	r.end(t, id)
	r.fold(t)
	require.Equal(t, 1, r.after(t, month).Retired)
	var over bool
	require.NoError(t, r.pool.QueryRow(t.Context(), `select expires_at <= now() from files where asset_id = $1`, string(output)).Scan(&over))
	require.True(t, over)
}

func TestEventsLeaveTheLogOnlyByRetention(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	id := r.submit(t, job.Document{Inline: "{}"}, 1)
	r.end(t, id)
	_, err := r.pool.Exec(t.Context(), `delete from events where stream = $1`, id.Stream())
	require.ErrorContains(t, err, "append-only")
	var gone int
	require.NoError(t, r.pool.QueryRow(t.Context(), `select prune_events($1, 3)`, id.Stream()).Scan(&gone))
	require.Zero(t, gone, "of a job that was not retired")
}

func TestADamagedArchiveIsReportedAndNeverReadInPart(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	id := r.submit(t, job.Document{Inline: "{}"}, 1)
	events, err := jobstore.Events(t.Context(), r.pool, nil, id)
	require.NoError(t, err)
	var packed strings.Builder
	require.NoError(t, job.WriteArchive(&packed, events))
	for cut := range packed.Len() {
		_, err := job.ReadArchive(strings.NewReader(packed.String()[:cut]))
		require.Error(t, err, "cut at %d", cut)
	}
	require.Error(t, job.WriteArchive(&packed, events[1:]), "not from the first")
	whole, err := job.ReadArchive(strings.NewReader(packed.String()))
	require.NoError(t, err)
	require.Len(t, whole, len(events))
}
