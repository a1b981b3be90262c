package workflows_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/workflows"
)

// exportFixture keeps one export of the account "a", its files, and what was recorded of it.
type exportFixture struct {
	mu      sync.Mutex
	blobs   *mem.Store
	files   map[asset.PublicID]files.Entry
	over    bool
	made    []asset.New
	done    []export.CompletedV1
	failed  []export.FailedV1
	frames  []stream.Frame
	refuse  func(attempt int) error // what Complete meets
	attempt int
}

func (s *exportFixture) Begin(context.Context, task.Ref) (export.Export, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.files))
	requested := export.RequestedV1{Name: "x.zip", Request: export.Request{Assets: ids, Naming: export.Preserve}, Files: len(ids)}
	return export.Export{Requested: requested}, !s.over, nil
}

func (s *exportFixture) Complete(_ context.Context, _ task.Ref, archive asset.New, done export.CompletedV1) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt++
	if s.refuse != nil {
		if err := s.refuse(s.attempt); err != nil {
			return err
		}
	}
	s.made, s.done, s.over = append(s.made, archive), append(s.done, done), true
	return nil
}

func (s *exportFixture) Fail(_ context.Context, _ task.Ref, failure export.FailedV1) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.over = append(s.failed, failure), true
	return nil
}

func (s *exportFixture) Known(_ context.Context, account string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	if account != "a" {
		return nil, errors.New("another account")
	}
	return s.files, nil
}

func (s *exportFixture) Several(context.Context, string, []asset.ID) (map[asset.ID]asset.Asset, error) {
	return nil, nil
}

func (s *exportFixture) ByPublicID(context.Context, string, job.PublicID) (job.Job, error) {
	return job.Job{}, fault.New(fault.NotFound, "", "no job")
}

func (s *exportFixture) Publish(_ context.Context, f stream.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, f)
	return f.Validate()
}

// run packs the files of those names, each of which holds its name.
func (s *exportFixture) run(t *testing.T, names ...string) {
	t.Helper()
	s.blobs, s.files = mem.New(), map[asset.PublicID]files.Entry{}
	for i, name := range names {
		ref, err := blob.PutBytes(t.Context(), s.blobs, []byte(name))
		require.NoError(t, err)
		id := asset.PublicID(fmt.Sprintf("%036d", i))
		s.files[id] = files.Entry{
			Asset: asset.ID(id), Public: id, Account: "a", Hash: ref, Size: int64(len(name)), ContentType: "image/png",
			Place: asset.Place{Folder: "output", Filename: name},
		}
		if name == "damaged" {
			require.True(t, s.blobs.Damage(ref))
		}
	}
	env := environment()
	env.RegisterWorkflow(workflows.ExportAssets)
	env.RegisterActivity(&upkeep.Exports{
		Records: s, Chooser: export.Chooser{Jobs: s, Files: s, Shelf: s}, Blobs: s.blobs, Bus: s, Retention: time.Hour,
		Log: slog.New(slog.DiscardHandler),
	})
	env.ExecuteWorkflow(workflows.ExportAssets, workflows.TaskParams{Ref: task.Ref{Task: task.NewID(), Account: "a"}})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
}

// archive reads the one archive that was made.
func (s *exportFixture) archive(t *testing.T) map[string]string {
	t.Helper()
	require.Len(t, s.made, 1)
	r, err := s.blobs.Open(t.Context(), s.made[0].Hash)
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Len(t, raw, int(s.made[0].Size))
	z, err := zip.NewReader(bytes.NewReader(raw), s.made[0].Size)
	require.NoError(t, err)
	found := map[string]string{}
	for _, f := range z.File {
		content, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(content)
		require.NoError(t, err)
		found[f.Name] = string(data)
	}
	return found
}

func TestAnExportBecomesAnAsset(t *testing.T) {
	t.Parallel()
	s := &exportFixture{}
	s.run(t, "one.png", "two.png")
	require.Equal(t, map[string]string{"one.png": "one.png", "two.png": "two.png"}, s.archive(t))
	require.Equal(t, asset.Archived, s.made[0].Origin)
	require.Equal(t, "x.zip", s.made[0].Name)
	require.WithinDuration(t, time.Now().Add(time.Hour), *s.made[0].Deadline, 10*time.Minute)
	require.Equal(t, 2, s.done[0].Packed)
	require.Equal(t, s.made[0].Size, s.done[0].Size)
	require.NotEmpty(t, s.frames)
	require.Empty(t, s.failed)
}

func TestADamagedFileIsLeftOutOfAnExport(t *testing.T) {
	t.Parallel()
	s := &exportFixture{}
	s.run(t, "one.png", "damaged", "two.png")
	require.Equal(t, map[string]string{"one.png": "one.png", "two.png": "two.png"}, s.archive(t))
	require.Equal(t, 3, s.done[0].Files)
	require.Equal(t, 2, s.done[0].Packed)
	require.Len(t, s.done[0].Missing, 1)
	require.Equal(t, "fetch_failed", s.done[0].Missing[0].Error)
}

func TestAnExportOfNothingThatCanBeReadFails(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{"damaged": {"damaged"}, "gone": nil} {
		s := &exportFixture{}
		s.run(t, names...)
		require.Len(t, s.failed, 1, name)
		require.Equal(t, "nothing_to_export", s.failed[0].Code, name)
		require.Empty(t, s.made, name)
	}
}

func TestAnExportOutlivesOutages(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]error{
		"the database is away": fault.New(fault.Unavailable, "", "the database is not available"),
		"the disk is full":     fault.New(fault.Exhausted, fault.CodeDiskFull, "no space left to store files"),
	} {
		s := &exportFixture{refuse: func(attempt int) error {
			if attempt < 6 {
				return outage
			}
			return nil
		}}
		s.run(t, "one.png")
		require.Equal(t, map[string]string{"one.png": "one.png"}, s.archive(t), name)
		require.Equal(t, 6, s.attempt, name)
		require.Empty(t, s.failed, name)
	}
}

func TestAnExportThatIsRefusedSaysWhy(t *testing.T) {
	t.Parallel()
	s := &exportFixture{refuse: func(int) error { return fault.New(fault.Denied, fault.CodeStorageQuotaExceeded, "delete some") }}
	s.run(t, "one.png")
	require.Equal(t, []export.FailedV1{{Code: "storage_quota_exceeded", Message: "delete some", Files: 1}}, s.failed)
	require.Equal(t, 1, s.attempt)
}

func TestExportThatAlwaysFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	s := &exportFixture{refuse: func(int) error { return errors.New("a bug") }}
	s.run(t, "one.png")
	require.Len(t, s.failed, 1)
	require.Equal(t, "internal_error", s.failed[0].Code)
	require.NotContains(t, s.failed[0].Message, "bug")
}

func TestAnExportThatIsOverIsNotPackedAgain(t *testing.T) {
	t.Parallel()
	s := &exportFixture{over: true}
	s.run(t, "one.png")
	require.Zero(t, s.attempt)
	require.Empty(t, s.failed)
}

// The time for an attempt at an export grows with the files.
func TestALargeExportMayTakeLonger(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]time.Duration{0: 5 * time.Minute, 600 << 20: 15 * time.Minute} {
		env := environment()
		env.RegisterWorkflow(workflows.ExportAssets)
		env.RegisterActivityWithOptions(func(ctx context.Context, _ task.Ref) error {
			require.Equal(t, want, activity.GetInfo(ctx).StartToCloseTimeout)
			return nil
		}, activity.RegisterOptions{Name: "PackExport"})
		env.ExecuteWorkflow(workflows.ExportAssets, workflows.TaskParams{Ref: task.Ref{Task: task.NewID(), Account: "a", Bytes: bytes}})
		require.NoError(t, env.GetWorkflowError())
	}
}

// A task ends as failed with a reason if no attempt can carry it out, but not because its workflow was canceled.
func TestATaskIsGivenUpUnlessItIsCanceled(t *testing.T) {
	t.Parallel()
	for _, canceled := range []bool{false, true} {
		env := environment()
		env.RegisterWorkflow(workflows.DownloadAsset)
		givenUp := 0
		env.RegisterActivityWithOptions(func(context.Context, task.Ref) error {
			if canceled {
				env.CancelWorkflow()
			}
			return temporal.NewNonRetryableApplicationError("a bug", attempt.ErrFinal, nil)
		}, activity.RegisterOptions{Name: "FetchDownload"})
		env.RegisterActivityWithOptions(func(context.Context, task.Ref) error {
			givenUp++
			return nil
		}, activity.RegisterOptions{Name: "GiveUpDownload"})
		env.ExecuteWorkflow(workflows.DownloadAsset, workflows.TaskParams{Ref: task.Ref{Task: task.NewID(), Account: "a"}})
		require.Equal(t, canceled, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
		require.Equal(t, !canceled, givenUp == 1)
	}
}
